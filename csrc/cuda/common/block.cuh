// Primitives of a warp and of a CTA.
#pragma once

#include <cstdint>

#include "cuda/ptx/arithmetic.cuh"

namespace deepselect::cuda {

constexpr int kWarpThreads = 32;
constexpr std::uint32_t kAllLanes = 0xFFFFFFFFu;

struct Prefix {
  std::uint32_t before;  // sum over the threads before this one
  std::uint32_t total;
};

// Exclusive prefix sum of counts below 2^kBits: one ballot per bit, all independent, instead of
// five dependent shuffles.
template <int kBits>
__device__ __forceinline__ Prefix warp_prefix_small(std::uint32_t count) {
  const std::uint32_t below = ptx::lanes_below();
  Prefix prefix{0, 0};
#pragma unroll
  for (int bit = 0; bit < kBits; ++bit) {
    const std::uint32_t plane = __ballot_sync(kAllLanes, (count >> bit) & 1);
    prefix.before += __popc(plane & below) << bit;
    prefix.total += __popc(plane) << bit;
  }
  return prefix;
}

__device__ __forceinline__ Prefix warp_prefix(std::uint32_t value) {
  const std::uint32_t lane = threadIdx.x % kWarpThreads;
  std::uint32_t sum = value;
#pragma unroll
  for (int distance = 1; distance < kWarpThreads; distance *= 2) {
    const std::uint32_t other = __shfl_up_sync(kAllLanes, sum, distance);
    if (lane >= distance) sum += other;
  }
  return {sum - value, __shfl_sync(kAllLanes, sum, kWarpThreads - 1)};
}

// Room for `count` (below 2^kBits) entries of this lane, in a buffer that all warps append to
// through `*end` in shared memory: the lane's first place. One atomic per warp that has any.
template <int kBits>
__device__ __forceinline__ std::uint32_t warp_reserve(std::uint32_t count, std::uint32_t* end) {
  const Prefix prefix = warp_prefix_small<kBits>(count);
  if (prefix.total == 0) return 0;
  std::uint32_t base = 0;
  if (threadIdx.x % kWarpThreads == 0) base = atomicAdd(end, prefix.total);
  return __shfl_sync(kAllLanes, base, 0) + prefix.before;
}

// Exclusive prefix sum over the CTA. `warp_totals` holds one word per warp; the CTA must not touch
// it between the call and its next barrier.
template <int kThreads>
__device__ __forceinline__ Prefix block_prefix(std::uint32_t value, std::uint32_t* warp_totals) {
  constexpr int kWarps = kThreads / kWarpThreads;
  const Prefix in_warp = warp_prefix(value);
  const std::uint32_t warp = threadIdx.x / kWarpThreads;
  const std::uint32_t lane = threadIdx.x % kWarpThreads;
  if (lane == 0) warp_totals[warp] = in_warp.total;
  __syncthreads();
  // Every warp sums all totals: cheaper than one warp doing it between two barriers.
  if constexpr (kWarps <= 8) {
    Prefix prefix{in_warp.before, 0};
#pragma unroll
    for (std::uint32_t w = 0; w < kWarps; ++w) {
      const std::uint32_t warp_total = warp_totals[w];
      prefix.before += w < warp ? warp_total : 0;
      prefix.total += warp_total;
    }
    return prefix;
  }
  const Prefix warps = warp_prefix(lane < kWarps ? warp_totals[lane] : 0);
  return {__shfl_sync(kAllLanes, warps.before, warp) + in_warp.before, warps.total};
}

// Adds one to a counter in shared memory whose old value nobody needs. Lanes of a warp that hit the
// same counter are merged by the hardware (measured on an H200: no slower on few bins than on
// many), so hot bins need no special care.
__device__ __forceinline__ void count_shared(std::uint32_t* counter) {
  atomicAdd(counter, 1u);
}

// Sorts `data[0, 2^log2_size)` in shared memory descending by a bitonic network. All threads of the
// CTA call it; the data is complete before and after.
template <int kThreads>
__device__ void block_sort_descending(std::uint64_t* data, int log2_size) {
  const std::uint32_t half = (1u << log2_size) / 2;
  for (int log2_run = 1; log2_run <= log2_size; ++log2_run) {
    for (int log2_distance = log2_run - 1; log2_distance >= 0; --log2_distance) {
      __syncthreads();
      const std::uint32_t distance = 1u << log2_distance;
      for (std::uint32_t pair = threadIdx.x; pair < half; pair += kThreads) {
        const std::uint32_t left = 2 * pair - (pair & (distance - 1));
        const std::uint32_t right = left + distance;
        const bool descending = ((left >> log2_run) & 1) == 0;
        const std::uint64_t a = data[left];
        const std::uint64_t b = data[right];
        if ((a < b) == descending) {
          data[left] = b;
          data[right] = a;
        }
      }
    }
  }
  __syncthreads();
}

}  // namespace deepselect::cuda
