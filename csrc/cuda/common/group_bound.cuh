// A bound that cannot fail: where `rank` groups of a CTA's elements have a best that reaches it, so
// do at least `rank` elements. The best of the rank asked for is found in a histogram of as many
// bins as one warp can search.
#pragma once

#include <cstdint>

#include "cuda/common/block.cuh"
#include "cuda/common/cluster_slice.cuh"
#include "cuda/smem/cluster_row.h"

namespace deepselect::cuda {

namespace detail {

struct GroupPivot {
  std::uint32_t bin;
  std::uint32_t above;  // in better bins
  std::uint32_t count;  // in the bin; 0: fewer than the rank were counted
};

// The bin of rank `rank` from 0. One warp calls it.
__device__ __forceinline__ GroupPivot search_group_bins(const std::uint32_t* bins,
                                                        std::uint32_t rank) {
  constexpr int kBinsPerLane = GroupBoundScratch::kBins / kWarpThreads;
  const std::uint32_t lane = threadIdx.x % kWarpThreads;
  std::uint32_t counts[kBinsPerLane];
  std::uint32_t sum = 0;
#pragma unroll
  for (int i = 0; i < kBinsPerLane; i += 4) {
    const uint4 quad = *reinterpret_cast<const uint4*>(bins + lane * kBinsPerLane + i);
    counts[i] = quad.x;
    counts[i + 1] = quad.y;
    counts[i + 2] = quad.z;
    counts[i + 3] = quad.w;
    sum += quad.x + quad.y + quad.z + quad.w;
  }
  const Prefix in_warp = warp_prefix(sum);
  std::uint32_t above = in_warp.before;
  const bool is_mine = rank - above < sum;  // modulo 2^32: not where above > rank
  std::uint32_t bin = lane * kBinsPerLane;
  std::uint32_t count = counts[0];
#pragma unroll
  for (int i = 1; i < kBinsPerLane; ++i) {
    if (rank - above >= count) {
      above += count;
      bin = lane * kBinsPerLane + i;
      count = counts[i];
    }
  }
  const std::uint32_t owners = __ballot_sync(kAllLanes, is_mine);
  if (owners == 0) return {0, 0, 0};
  const int owner = __ffs(static_cast<int>(owners)) - 1;
  return {__shfl_sync(kAllLanes, bin, owner), __shfl_sync(kAllLanes, above, owner),
          __shfl_sync(kAllLanes, count, owner)};
}

}  // namespace detail

// Warp 0 calls `found(key, best key)` once: at least `rank` groups reach the key, and at most
// `slack` more unless their bests are equal. The key is 0 where there are fewer groups. All threads
// of the CTA call it; the bins are empty, a barrier before or not; ends with a barrier.
template <int kThreads, int kMaxGroups, class Found>
__device__ __forceinline__ void find_group_bound(const GroupBests<kMaxGroups>& bests,
                                                 std::uint32_t rank, std::uint32_t slack,
                                                 GroupBoundScratch& scratch, Found&& found) {
  constexpr std::uint32_t kWarps = kThreads / kWarpThreads;
  const std::uint32_t lane = threadIdx.x % kWarpThreads;
  const std::uint32_t warp = threadIdx.x / kWarpThreads;
  std::uint32_t best = 0;
  std::uint32_t worst = ~0u;
#pragma unroll
  for (int g = 0; g < kMaxGroups; ++g) {
    if (g >= bests.num_valid) continue;
    best = max(best, bests.keys[g]);
    worst = min(worst, bests.keys[g]);
  }
  best = __reduce_max_sync(kAllLanes, best);
  worst = __reduce_min_sync(kAllLanes, worst);
  if (lane == 0) {
    scratch.warp_best[warp] = best;
    scratch.warp_worst[warp] = worst;
  }
  __syncthreads();
  best = __reduce_max_sync(kAllLanes, lane < kWarps ? scratch.warp_best[lane] : 0u);
  worst = __reduce_min_sync(kAllLanes, lane < kWarps ? scratch.warp_worst[lane] : ~0u);

  std::uint32_t high = best;
  std::int32_t shift = max(32 - GroupBoundScratch::kLog2Bins - __clz(static_cast<int>(best - worst)), 0);
  std::uint32_t num_left = rank;
  for (;;) {
#pragma unroll
    for (int g = 0; g < kMaxGroups; ++g) {
      if (g >= bests.num_valid || bests.keys[g] > high) continue;
      const std::uint32_t bin = (high - bests.keys[g]) >> shift;
      if (bin < GroupBoundScratch::kBins) count_shared(&scratch.bins[bin]);
    }
    __syncthreads();
    if (warp == 0) {
      const detail::GroupPivot pivot = detail::search_group_bins(scratch.bins, num_left - 1);
      const bool is_last = pivot.count == 0 || shift == 0 ||
                           pivot.above + pivot.count - num_left <= slack;
      const std::uint32_t bin_high = high - (pivot.bin << shift);
      if (is_last) {
        const std::uint32_t span = (1u << shift) - 1;
        const std::uint32_t key = bin_high - worst < span ? worst : bin_high - span;
        found(pivot.count == 0 ? 0u : key, best);
        if (lane == 0) scratch.shift = -1;
      } else {
        if (lane == 0) {
          scratch.high = bin_high;
          scratch.shift = max(shift - GroupBoundScratch::kLog2Bins, 0);
          scratch.num_left = num_left - pivot.above;
        }
        auto* quads = reinterpret_cast<uint4*>(scratch.bins);
#pragma unroll
        for (std::uint32_t i = lane; i < GroupBoundScratch::kBins / 4; i += kWarpThreads) {
          quads[i] = {0, 0, 0, 0};
        }
      }
    }
    __syncthreads();
    if (scratch.shift < 0) return;
    high = scratch.high;
    shift = scratch.shift;
    num_left = scratch.num_left;
  }
}

}  // namespace deepselect::cuda
