// The ways in which the CUDA backend can serve a call. Every variant returns the same bits; they
// differ in the shapes they are fast for. One stem each: kernels/<name>.cuh, launch/<name>.cu,
// docs/kernels/<name>.md.
#pragma once

#include <cstdint>

namespace deepselect::cuda {

enum class Variant : std::uint8_t {
  kRowRadix,  // one CTA per row; any shape, any k
};

constexpr Variant kAllVariants[] = {Variant::kRowRadix};

constexpr const char* variant_name(Variant variant) {
  switch (variant) {
    case Variant::kRowRadix:
      return "row_radix";
  }
  return "unknown";
}

}  // namespace deepselect::cuda
