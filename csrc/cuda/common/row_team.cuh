// The threads that share a row: a CTA, or, in a CTA that serves several rows, a warp or an aligned
// part of one. Collectives of a part of a warp name its lanes alone, so that the parts of a warp
// may go different ways.
#pragma once

#include <cstdint>

#include "cuda/common/block.cuh"
#include "cuda/common/lanes.cuh"
#include "cuda/ptx/shuffle.cuh"

namespace deepselect::cuda {

template <int kTeamThreads, int kTeams>
struct RowTeam {
  static constexpr int kThreads = kTeamThreads;
  static constexpr int kLanes = kThreads < kWarpThreads ? kThreads : kWarpThreads;
  static constexpr int kWarps = (kThreads + kWarpThreads - 1) / kWarpThreads;
  static_assert(kTeams == 1 || kWarps == 1, "teams of a CTA have no barrier but a warp's");
  static_assert(kWarpThreads % kLanes == 0 && kThreads % kLanes == 0);

  __device__ static std::uint32_t rank() {
    return kTeams == 1 ? threadIdx.x : threadIdx.x % kThreads;
  }
  // Of the team's part of its warp.
  __device__ static std::uint32_t lane() { return threadIdx.x % kLanes; }
  __device__ static std::uint32_t warp() { return kWarps == 1 ? 0 : threadIdx.x / kWarpThreads; }

  // The team's lanes of this warp.
  __device__ __forceinline__ static std::uint32_t lanes() { return LaneGroup<kLanes>::mask(); }

  __device__ __forceinline__ static void sync() {
    if constexpr (kWarps == 1) {
      __syncwarp(lanes());
    } else {
      __syncthreads();
    }
  }

  // `warp_maxima` holds a word per warp; nobody touches it between the call and the next sync().
  __device__ __forceinline__ static std::uint32_t max_of(std::uint32_t value,
                                                         std::uint32_t* warp_maxima) {
    if constexpr (kLanes < kWarpThreads) {
#pragma unroll
      for (int distance = kLanes / 2; distance > 0; distance /= 2) {
        value = max(value, __shfl_xor_sync(lanes(), value, distance));
      }
      return value;
    } else {
      value = __reduce_max_sync(kAllLanes, value);
      if constexpr (kWarps == 1) return value;
      if (lane() == 0) warp_maxima[warp()] = value;
      __syncthreads();
      return __reduce_max_sync(kAllLanes, lane() < kWarps ? warp_maxima[lane()] : 0u);
    }
  }

  // The sum over the lanes up to this one.
  __device__ __forceinline__ static std::uint32_t sum_to_lane(std::uint32_t value) {
#pragma unroll
    for (int distance = 1; distance < kLanes; distance *= 2) {
      value = ptx::add_from_below<kLanes>(value, distance, lanes());
    }
    return value;
  }

  // The sum over the threads before this one. `warp_totals` as `warp_maxima` above.
  __device__ __forceinline__ static std::uint32_t sum_before(std::uint32_t value,
                                                             std::uint32_t* warp_totals) {
    const std::uint32_t sum = sum_to_lane(value);
    if constexpr (kWarps == 1) return sum - value;
    if (lane() == kLanes - 1) warp_totals[warp()] = sum;
    __syncthreads();
    return sum - value + __reduce_add_sync(kAllLanes, lane() < warp() ? warp_totals[lane()] : 0u);
  }
};

}  // namespace deepselect::cuda
