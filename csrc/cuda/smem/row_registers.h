// Shared memory of a team of the row_registers kernel: this, then its winners: positions of 16 bits,
// or composites for order "value".
#pragma once

#include <cstddef>
#include <cstdint>

namespace deepselect::cuda {

template <int kBins>
struct alignas(16) RowRegistersSmem {
  std::uint32_t bins[kBins + 4];  // by distance from the best key; then one for all beyond
  std::uint32_t warp_totals[32];
  std::uint32_t warp_best[32];
  std::uint32_t pivot_bin;
  std::uint32_t pivot_above;
  std::uint32_t pivot_count;
};

}  // namespace deepselect::cuda
