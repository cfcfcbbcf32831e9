// The bin of a histogram that holds the element of a given rank.
#pragma once

#include <cstdint>

#include "cuda/common/block.cuh"
#include "cuda/smem/pivot_bin.h"

namespace deepselect::cuda {

namespace detail {

struct FoundBin {
  PivotBin pivot;
  std::uint32_t owner;  // the lane of the warp whose pivot it is
};

// By the lanes of the team in one warp.
template <class Team, std::uint32_t kBins, int kBinsPerLane, bool kIsPadded>
__device__ __forceinline__ FoundBin search_bins(const std::uint32_t* bins, std::uint32_t rank) {
  constexpr std::uint32_t kStep = kBinsPerLane * Team::kLanes;
  static_assert(kBins % kStep == 0 && kBinGroup % kBinsPerLane == 0);
  std::uint32_t above = 0;
#pragma unroll 1
  for (std::uint32_t step = 0; step < kBins; step += kStep) {
    const std::uint32_t first = step + kBinsPerLane * Team::lane();
    // A lane's lie side by side, padded or not.
    const std::uint32_t* const lane_bins = bins + place_of_bin<kIsPadded>(first);
    std::uint32_t counts[kBinsPerLane];
#pragma unroll
    for (int i = 0; i < kBinsPerLane; i += 4) {
      if constexpr (kIsPadded) {
#pragma unroll
        for (int j = 0; j < 4; ++j) counts[i + j] = lane_bins[i + j];
      } else {
        const uint4 quad = *reinterpret_cast<const uint4*>(lane_bins + i);
        counts[i] = quad.x;
        counts[i + 1] = quad.y;
        counts[i + 2] = quad.z;
        counts[i + 3] = quad.w;
      }
    }
    std::uint32_t ends[kBinsPerLane];  // the sum of the lane's bins up to each
    std::uint32_t sum = 0;
#pragma unroll
    for (int i = 0; i < kBinsPerLane; i += 4) {
      ends[i] = sum + counts[i];
      ends[i + 1] = ends[i] + counts[i + 1];
      ends[i + 2] = ends[i + 1] + counts[i + 2];
      sum = ends[i + 3] = sum + (counts[i] + counts[i + 1]) + (counts[i + 2] + counts[i + 3]);
    }
    const std::uint32_t end = above + Team::sum_to_lane(sum);
    const std::uint32_t reaching = __ballot_sync(Team::lanes(), end > rank);
    if (reaching != 0) {
      const std::uint32_t lane_rank = rank - (end - sum);
      std::uint32_t bin = first;
      std::uint32_t bin_start = 0;
      std::uint32_t bin_end = ends[0];
#pragma unroll
      for (int i = 1; i < kBinsPerLane; ++i) {
        if (lane_rank >= ends[i - 1]) {
          bin = first + i;
          bin_start = ends[i - 1];
          bin_end = ends[i];
        }
      }
      return {{bin, end - sum + bin_start, bin_end - bin_start},
              static_cast<std::uint32_t>(__ffs(static_cast<int>(reaching)) - 1)};
    }
    above = __shfl_sync(Team::lanes(), end, Team::kLanes - 1, Team::kLanes);
  }
  return {{kBins, above, 0}, threadIdx.x % kWarpThreads - Team::lane()};
}

}  // namespace detail

// The bin of the element of rank `rank` (0 is the best) in complete bins, each at its
// place_of_bin(). The lanes of the team in one warp search, each kBinsPerLane bins at a time: more
// are fewer steps. The whole team calls it; ends with a barrier where that is more than a warp, for
// which `shared` is the way.
template <class Team, std::uint32_t kBins, int kBinsPerLane, bool kIsPadded>
__device__ __forceinline__ PivotBin team_pivot_bin(const std::uint32_t* bins, std::uint32_t rank,
                                                   PivotBin* shared) {
  if constexpr (Team::kWarps == 1) {
    const auto [pivot, owner] =
        detail::search_bins<Team, kBins, kBinsPerLane, kIsPadded>(bins, rank);
    return {__shfl_sync(Team::lanes(), pivot.bin, owner),
            __shfl_sync(Team::lanes(), pivot.above, owner),
            __shfl_sync(Team::lanes(), pivot.count, owner)};
  } else {
    if (threadIdx.x < kWarpThreads) {
      const auto [pivot, owner] =
          detail::search_bins<Team, kBins, kBinsPerLane, kIsPadded>(bins, rank);
      if (threadIdx.x == owner) *shared = pivot;
    }
    __syncthreads();
    return *shared;
  }
}

}  // namespace deepselect::cuda
