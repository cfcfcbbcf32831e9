// The ways in which the CUDA backend can serve a call. Every variant returns the same bits; they
// differ in the shapes they are fast for. One stem each: kernels/<name>.cuh, launch/<name>.cu,
// docs/kernels/<name>.md.
#pragma once

#include <cstdint>

namespace deepselect::cuda {

enum class Variant : std::uint8_t {
  kRowRadix,      // one CTA per row; any shape, any k
  kRowRegisters,  // one CTA per row, in registers; short rows
  kRowStream,     // one CTA per row, read once; many long rows
  kSplitStream,   // a row divided over the grid, read once; one huge row, few long ones
  kSplitRadix,    // a row divided over the grid, read once or twice; large k
  kClusterRow,    // one cluster of CTAs per row, in registers; few long rows
  kGate,          // several rows per warp or a warp per row; a router's rows, weights included
};

constexpr Variant kAllVariants[] = {
    Variant::kRowRadix,   Variant::kRowRegisters, Variant::kRowStream, Variant::kSplitStream,
    Variant::kSplitRadix, Variant::kClusterRow,   Variant::kGate};

constexpr const char* variant_name(Variant variant) {
  switch (variant) {
    case Variant::kRowRadix:
      return "row_radix";
    case Variant::kRowRegisters:
      return "row_registers";
    case Variant::kRowStream:
      return "row_stream";
    case Variant::kSplitStream:
      return "split_stream";
    case Variant::kSplitRadix:
      return "split_radix";
    case Variant::kClusterRow:
      return "cluster_row";
    case Variant::kGate:
      return "gate";
  }
  return "unknown";
}

}  // namespace deepselect::cuda
