// Shared memory of a team of the row_registers kernel: this, then its winners: positions of 16
// bits, or composites for order "value".
#pragma once

#include <cstdint>

#include "cuda/smem/pivot_bin.h"

namespace deepselect::cuda {

template <int kBins, int kWarps>
struct alignas(16) RowRegistersSmem {
  std::uint32_t bins[kBins + 4];  // by distance from the best key; then one for all beyond
  PivotBin pivot;
  std::uint64_t stage_barriers[kWarps];
  std::uint64_t last_ranked;
  std::uint32_t num_ranked;
  std::uint32_t warp_totals[kWarps];
  std::uint32_t warp_maxima[2][kWarps];
};

template <class Policy>
using RowRegistersSmemOf = RowRegistersSmem<Policy::kBins, (Policy::kThreads + 31) / 32>;

}  // namespace deepselect::cuda
