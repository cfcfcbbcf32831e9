// A bound that cannot fail: where `rank` groups of a CTA's elements have a best that reaches it, so
// do at least `rank` elements. The best of the rank asked for is found in a histogram of as few
// bins as one warp can search.
//
// Where far more groups reach the key found, because their bests are equal, the bound is that key
// up to a position: the elements that reach it are counted by segments of a warp's slots, in order
// of position, until there are `rank`.
#pragma once

#include <cstdint>

#include "cuda/common/block.cuh"
#include "cuda/common/cluster_slice.cuh"
#include "cuda/common/composite.h"
#include "cuda/smem/cluster_row.h"
#include "cuda/tuning/cluster_row.h"

namespace deepselect::cuda {

namespace detail {

// The bin of an element, as the lane sees it that `owner` names.
struct GroupPivot {
  std::uint32_t bin;
  std::uint32_t above;  // in better bins
  std::uint32_t end;    // up to and with the bin
  int owner;            // negative: no more than the rank were counted
};

// The bin of rank `rank` from 0. One warp calls it.
__device__ __forceinline__ GroupPivot search_group_bins(const std::uint32_t* bins,
                                                        std::uint32_t rank) {
  constexpr int kBinsPerLane = GroupBoundScratch::kBins / kWarpThreads;
  const std::uint32_t lane = threadIdx.x % kWarpThreads;
  std::uint32_t ends[kBinsPerLane];  // elements up to and with a bin
#pragma unroll
  for (int i = 0; i < kBinsPerLane; i += 4) {
    const uint4 quad = *reinterpret_cast<const uint4*>(bins + lane * kBinsPerLane + i);
    ends[i] = quad.x;
    ends[i + 1] = quad.y;
    ends[i + 2] = quad.z;
    ends[i + 3] = quad.w;
  }
#pragma unroll
  for (int i = 1; i < kBinsPerLane; ++i) ends[i] += ends[i - 1];
  const std::uint32_t before = warp_prefix(ends[kBinsPerLane - 1]).before;
  const std::uint32_t rank_here = rank - before;  // modulo 2^32: large where it lies before
  GroupPivot pivot{lane * kBinsPerLane, before, 0, 0};
#pragma unroll
  for (int i = kBinsPerLane - 1; i >= 0; --i) {
    if (rank_here < ends[i]) pivot.end = before + ends[i];
  }
#pragma unroll
  for (int i = 0; i < kBinsPerLane; ++i) {
    if (ends[i] <= rank_here) {
      ++pivot.bin;
      pivot.above = before + ends[i];
    }
  }
  pivot.owner =
      __ffs(static_cast<int>(__ballot_sync(kAllLanes, rank_here < ends[kBinsPerLane - 1]))) - 1;
  return pivot;
}

__device__ __forceinline__ void clear_group_bins(GroupBoundScratch& scratch, std::uint32_t thread,
                                                 std::uint32_t num_threads) {
  auto* quads = reinterpret_cast<uint4*>(scratch.bins);
  for (std::uint32_t i = thread; i < GroupBoundScratch::kBins / 4; i += num_threads) {
    quads[i] = {0, 0, 0, 0};
  }
}

// The shift that brings `span` into the bins.
__device__ __forceinline__ std::int32_t group_shift(std::uint32_t span) {
  return max(32 - GroupBoundScratch::kLog2Bins - __clz(static_cast<int>(span)), 0);
}

}  // namespace detail

// Warp 0 calls `found(bound, best key)` once. All threads of the CTA call it; the bins are empty.
// Ends with a barrier.
template <int kThreads, int kVectors, ValueType kType, class Found>
__device__ __forceinline__ void find_group_bound(
    const ClusterSlice<kThreads, kVectors, kType>& slice, const RowSlots<kType>& slots,
    const KeyMap<kType>& key_map, std::uint32_t num_groups, bool takes_all, std::uint32_t rank,
    GroupBoundScratch& scratch, Found&& found) {
  constexpr std::uint32_t kWarps = kThreads / kWarpThreads;
  constexpr int kMaxGroups = ClusterSlice<kThreads, kVectors, kType>::kMaxGroups;
  static_assert(kVectors * kWarps <= GroupBoundScratch::kBins, "a bin per segment");
  const std::uint32_t lane = threadIdx.x % kWarpThreads;
  const std::uint32_t warp = threadIdx.x / kWarpThreads;

  const GroupBests<kMaxGroups> bests = slice.group_bests(slots, key_map, num_groups, takes_all);
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
    scratch.warp_worst[warp] = min(worst, best);
  }
  __syncthreads();
  best = __reduce_max_sync(kAllLanes, lane < kWarps ? scratch.warp_best[lane] : 0u);
  // Of the warps' worst the best: a few groups in each warp are worse, so the rank is better.
  const std::uint32_t low =
      __reduce_max_sync(kAllLanes, lane < kWarps ? scratch.warp_worst[lane] : 0u);

  std::uint32_t high = best;
  std::int32_t shift = detail::group_shift(best - low);
  std::uint32_t num_left = rank;
  for (bool is_first = true;; is_first = false) {
#pragma unroll
    for (int g = 0; g < kMaxGroups; ++g) {
      if (g >= bests.num_valid || bests.keys[g] > high) continue;
      const std::uint32_t bin = (high - bests.keys[g]) >> shift;
      if (bin < GroupBoundScratch::kBins) count_shared(&scratch.bins[bin]);
    }
    __syncthreads();
    if (warp == 0) {
      const detail::GroupPivot pivot = detail::search_group_bins(scratch.bins, num_left - 1);
      const std::uint32_t bin_high = high - (pivot.bin << shift);
      const std::uint32_t span = (1u << shift) - 1;
      const std::uint32_t num_spare = pivot.end - num_left;
      const bool is_crowded = shift == 0 && num_spare > rank;
      const bool is_wide = shift != 0 && num_spare > rank / ClusterRowTuning::kRankSlackDivisor;
      const auto owner = static_cast<std::uint32_t>(pivot.owner);
      const std::uint32_t key =
          __shfl_sync(kAllLanes, bin_high < span ? 0 : bin_high - span, pivot.owner);
      if (__any_sync(kAllLanes, lane == owner && (is_crowded || is_wide))) {
        if (lane == owner) {
          scratch.next = is_crowded ? GroupBoundStep::kPosition : GroupBoundStep::kCount;
          scratch.high = bin_high;
          scratch.shift = max(shift - GroupBoundScratch::kLog2Bins, 0);
          scratch.num_left = num_left - pivot.above;
        }
        detail::clear_group_bins(scratch, lane, kWarpThreads);
      } else if (pivot.owner >= 0 || !is_first || low == 0) {
        // Without an owner there are too few groups.
        found(pivot.owner >= 0 ? Composite{key} << 32 : kNoComposite, best);
        if (lane == 0) scratch.next = GroupBoundStep::kDone;
      } else {
        // The range began too high.
        if (lane == 0) {
          scratch.next = GroupBoundStep::kCount;
          scratch.high = high;
          scratch.shift = detail::group_shift(best);
          scratch.num_left = num_left;
        }
        detail::clear_group_bins(scratch, lane, kWarpThreads);
      }
    }
    __syncthreads();
    if (scratch.next == GroupBoundStep::kDone) return;
    high = scratch.high;
    if (scratch.next == GroupBoundStep::kPosition) break;
    shift = scratch.shift;
    num_left = scratch.num_left;
  }

  slice.count_segments(key_map, high, scratch.bins);
  __syncthreads();
  if (warp == 0) {
    const detail::GroupPivot pivot = detail::search_group_bins(scratch.bins, rank - 1);
    // Where registers hold too few of them, at any position.
    Composite bound = Composite{high} << 32;
    if (pivot.owner >= 0) {
      const std::uint32_t segment = __shfl_sync(kAllLanes, pivot.bin, pivot.owner);
      bound = composite_key(high, slice.last_position(slots, segment / kWarps, segment % kWarps));
    }
    found(bound, best);
  }
  __syncthreads();
}

}  // namespace deepselect::cuda
