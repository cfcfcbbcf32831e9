// A bound of given rank among composites in shared or global memory, by one CTA.
#pragma once

#include <cstdint>

#include "cuda/common/composite.h"
#include "cuda/common/finish.cuh"
#include "cuda/common/histogram.cuh"
#include "cuda/common/radix_cursor.h"
#include "cuda/smem/finish_scratch.h"

namespace deepselect::cuda {

// A bound that at least `rank` of `data[0, num_items)` reach and at most `slack` more than that;
// 1 <= rank <= num_items. All threads of the CTA call it; begins and ends complete.
template <int kThreads>
__device__ Composite rank_bound(const Composite* data, std::uint32_t num_items, std::uint32_t rank,
                                std::uint32_t slack, FinishScratch& scratch) {
  Histogram& histogram = scratch.histogram;
  RadixCursor cursor = detail::survivor_range<kThreads>(data, num_items, scratch);
  for (;;) {
    detail::count_survivors<kThreads>(data, num_items, cursor, histogram);
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
