// A bound of given rank among composites in shared or global memory, by one CTA.
#pragma once

#include <cstdint>

#include "cuda/common/composite.h"
#include "cuda/common/finish.cuh"
#include "cuda/common/histogram.cuh"
#include "cuda/common/radix_cursor.h"
#include "cuda/smem/finish_scratch.h"

namespace deepselect::cuda {

namespace detail {

// As count_survivors(), with kInFlight loads at a time: for data that is far away.
template <int kThreads, int kInFlight>
__device__ __forceinline__ void count_composites(const Composite* data, std::uint32_t num_items,
                                                 const RadixCursor& cursor, Histogram& histogram) {
  for (std::uint32_t base = threadIdx.x; base < num_items; base += kThreads * kInFlight) {
    Composite composites[kInFlight];
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      const std::uint32_t i = base + j * kThreads;
      composites[j] = i < num_items ? data[i] : kNoComposite;
    }
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      const std::uint64_t bin = cursor.bin(composites[j]);
      if (composites[j] != kNoComposite && bin < RadixCursor::kNumBins) {
        count_shared(&histogram.bins[bin]);
      }
    }
  }
}

}  // namespace detail

// A bound that at least `rank` of `data[0, num_items)` reach and at most `slack` more than that;
// 1 <= rank <= num_items. `cursor` covers them all; the bins are empty, a barrier before. All
// threads of the CTA call it; ends complete.
template <int kThreads, int kInFlight = 1>
__device__ Composite rank_bound(const Composite* data, std::uint32_t num_items, std::uint32_t rank,
                                std::uint32_t slack, RadixCursor cursor, Histogram& histogram) {
  for (;;) {
    if constexpr (kInFlight == 1) {
      detail::count_survivors<kThreads>(data, num_items, cursor, histogram);
    } else {
      detail::count_composites<kThreads, kInFlight>(data, num_items, cursor, histogram);
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

// Likewise, where nothing is known of them; begins complete.
template <int kThreads>
__device__ Composite rank_bound(const Composite* data, std::uint32_t num_items, std::uint32_t rank,
                                std::uint32_t slack, FinishScratch& scratch) {
  const RadixCursor cursor = detail::survivor_range<kThreads>(data, num_items, scratch);
  return rank_bound<kThreads>(data, num_items, rank, slack, cursor, scratch.histogram);
}

}  // namespace deepselect::cuda
