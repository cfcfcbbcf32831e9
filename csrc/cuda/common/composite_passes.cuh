// Passes of a CTA over composites in shared or global memory: a bound of given rank.
#pragma once

#include <cstdint>

#include "cuda/common/finish.cuh"

namespace deepselect::cuda {

// A bound that at least `rank` of `data[0, num_items)` reach and at most `slack` more than that;
// 1 <= rank <= num_items. All threads of the CTA call it; begins and ends complete.
template <int kThreads>
__device__ Composite rank_bound(const Composite* data, std::uint32_t num_items, std::uint32_t rank,
                                std::uint32_t slack, FinishScratch& scratch) {
  Histogram& histogram = scratch.histogram;
  RadixCursor cursor = detail::survivor_range<kThreads>(data, num_items, scratch);
  for (;;) {
    for (std::uint32_t i = threadIdx.x; i < num_items; i += kThreads) {
      const std::uint64_t bin = cursor.bin(data[i]);
      if (bin < RadixCursor::kNumBins) count_shared(&histogram.bins[bin]);
    }
    find_pivot_bin<kThreads>(histogram, rank - 1 - cursor.num_above());
    cursor.descend(histogram.pivot_bin, histogram.pivot_above);
    const std::uint32_t num_reaching = cursor.num_above() + histogram.pivot_count;
    __syncthreads();
    if (num_reaching - rank <= slack) return cursor.low();
    clear_bins<kThreads>(histogram);
    __syncthreads();
  }
}

}  // namespace deepselect::cuda
