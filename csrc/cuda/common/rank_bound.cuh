// A bound of given rank among composites in shared or global memory, by one CTA.
#pragma once

#include <cstdint>

#include "cuda/common/composite.h"
#include "cuda/common/finish.cuh"
#include "cuda/common/histogram.cuh"
#include "cuda/common/pivot_bin.cuh"
#include "cuda/common/radix_cursor.h"
#include "cuda/common/row_team.cuh"
#include "cuda/smem/finish_scratch.h"
#include "cuda/smem/pivot_bin.h"

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

// Few bins, so that one step of one warp finds a rank's.
struct RegisterRankBins {
  static constexpr int kLog2Bins = 9;
  static constexpr std::uint32_t kNumBins = 1u << kLog2Bins;

  // No barrier.
  template <int kThreads>
  __device__ __forceinline__ static void clear(Histogram& histogram) {
    static_assert(kNumBins <= RadixCursor::kNumBins && kNumBins / 4 <= kThreads);
    auto* quads = reinterpret_cast<uint4*>(histogram.bins);
    if (threadIdx.x < kNumBins / 4) quads[threadIdx.x] = {0, 0, 0, 0};
  }
};

struct RegisterRankBound {
  Composite bound;
  std::uint32_t best_key;  // of all composites
};

// Likewise, among composites in the CTA's registers, kItems for each thread, kNoComposite where it
// has fewer; they are of a row of `num_items`. RegisterRankBins are clear, no barrier needed since.
// kNoComposite is the bound where fewer than `rank` are other than that. Three barriers where one
// histogram is enough, and few instructions: they come from far, and this is run once. `*pivot` in
// shared memory. All threads of the CTA call it; ends with a barrier, behind which nobody reads
// anything but `*pivot`.
template <int kThreads, int kItems>
__device__ __forceinline__ RegisterRankBound rank_bound_of_registers(
    const Composite (&composites)[kItems], std::uint32_t num_items, std::uint32_t rank,
    std::uint32_t slack, Histogram& histogram, PivotBin* pivot) {
  using Bins = RegisterRankBins;
  constexpr std::uint32_t kWarps = kThreads / kWarpThreads;
  static_assert(2 * kWarps <= kWarpThreads, "both ends of all warps are read at once");
  const std::uint32_t lane = threadIdx.x % kWarpThreads;

  std::uint32_t best_key = 0;
  std::uint32_t worst_key = ~0u;
#pragma unroll
  for (int j = 0; j < kItems; ++j) {
    const std::uint32_t key = key_of(composites[j]);
    best_key = max(best_key, key);
    worst_key = min(worst_key, composites[j] != kNoComposite ? key : ~0u);
  }
  best_key = __reduce_max_sync(kAllLanes, best_key);
  worst_key = __reduce_min_sync(kAllLanes, worst_key);
  if (lane == 0) {
    histogram.warp_totals[threadIdx.x / kWarpThreads] = best_key;
    histogram.warp_totals[kWarps + threadIdx.x / kWarpThreads] = worst_key;
  }
  __syncthreads();
  const std::uint32_t end_key = lane < 2 * kWarps ? histogram.warp_totals[lane] : ~0u;
  best_key = __reduce_max_sync(kAllLanes, lane < kWarps ? end_key : 0u);
  worst_key = __reduce_min_sync(kAllLanes, lane < kWarps ? ~0u : end_key);

  Composite high = RadixCursor::best_of_key(best_key);
  Composite low = Composite{worst_key} << RadixCursor::kPositionBits;
  std::uint32_t num_above = 0;
  for (;;) {
    // Within one key the row's positions are the range.
    if (key_of(high) == key_of(low)) low = max(low, (high | ~0u) - (num_items - 1));
    const int shift = max(64 - Bins::kLog2Bins - __clzll(static_cast<long long>(high - low)), 0);
#pragma unroll
    for (int j = 0; j < kItems; ++j) {
      const Composite composite = composites[j];
      if (composite != kNoComposite && composite >= low && composite <= high) {
        count_shared(&histogram.bins[(high - composite) >> shift]);
      }
    }
    __syncthreads();
    const PivotBin found =
        team_pivot_bin<RowTeam<kThreads, 1>, Bins::kNumBins, Bins::kNumBins / kWarpThreads, false>(
            histogram.bins, rank - 1 - num_above, pivot);
    if (found.bin >= Bins::kNumBins) return {kNoComposite, best_key};
    high -= Composite{found.bin} << shift;
    num_above += found.above;
    const Composite span = (Composite{1} << shift) - 1;
    low = high - low > span ? high - span : low;
    if (num_above + found.count - rank <= slack || shift == 0) return {low, best_key};
    Bins::clear<kThreads>(histogram);
    __syncthreads();
  }
}

}  // namespace deepselect::cuda
