// The CTA-wide histogram of a radix search and the step from it to the pivot's bin.
#pragma once

#include <cstdint>

#include "cuda/common/block.cuh"
#include "cuda/common/radix_cursor.h"
#include "cuda/smem/histogram.h"

namespace deepselect::cuda {

template <int kThreads>
__device__ __forceinline__ void clear_bins(Histogram& histogram) {
  auto* quads = reinterpret_cast<uint4*>(histogram.bins);
  for (std::uint32_t i = threadIdx.x; i < RadixCursor::kNumBins / 4; i += kThreads) {
    quads[i] = {0, 0, 0, 0};
  }
  if (threadIdx.x == 0) histogram.is_crowded = 0;
}

// Finds the bin that holds the element of rank `rank` (0 is the best) among those counted; requires
// rank < their number. Leaves it in `pivot_*` and turns each bin into the number of elements in
// better bins, which is where the bin's elements start in sorted order. Begins and ends with a
// barrier.
template <int kThreads>
__device__ __forceinline__ void find_pivot_bin(Histogram& histogram, std::uint32_t rank) {
  constexpr std::uint32_t kBinsPerThread =
      (RadixCursor::kNumBins + kThreads - 1) / kThreads < 4 ? 4 : RadixCursor::kNumBins / kThreads;
  static_assert(kBinsPerThread % 4 == 0, "bins are read in vectors");
  constexpr std::uint32_t kActive = RadixCursor::kNumBins / kBinsPerThread;

  __syncthreads();
  const bool active = threadIdx.x < kActive;
  auto* quads = reinterpret_cast<uint4*>(histogram.bins) + threadIdx.x * (kBinsPerThread / 4);
  std::uint32_t counts[kBinsPerThread];
  std::uint32_t sum = 0;
  if (active) {
#pragma unroll
    for (std::uint32_t q = 0; q < kBinsPerThread / 4; ++q) {
      const uint4 quad = quads[q];
      counts[4 * q] = quad.x;
      counts[4 * q + 1] = quad.y;
      counts[4 * q + 2] = quad.z;
      counts[4 * q + 3] = quad.w;
    }
#pragma unroll
    for (std::uint32_t i = 0; i < kBinsPerThread; ++i) sum += counts[i];
  }
  std::uint32_t above = block_prefix<kThreads>(sum, histogram.warp_totals).before;
  if (active) {
#pragma unroll
    for (std::uint32_t i = 0; i < kBinsPerThread; ++i) {
      if (above <= rank && rank < above + counts[i]) {
        histogram.pivot_bin = threadIdx.x * kBinsPerThread + i;
        histogram.pivot_above = above;
        histogram.pivot_count = counts[i];
      }
      if (above <= rank && counts[i] > Histogram::kCrowdedBin) histogram.is_crowded = 1;
      const std::uint32_t count = counts[i];
      counts[i] = above;
      above += count;
    }
#pragma unroll
    for (std::uint32_t q = 0; q < kBinsPerThread / 4; ++q) {
      quads[q] = {counts[4 * q], counts[4 * q + 1], counts[4 * q + 2], counts[4 * q + 3]};
    }
  }
  __syncthreads();
}

}  // namespace deepselect::cuda
