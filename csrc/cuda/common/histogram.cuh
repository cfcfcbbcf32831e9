// The CTA-wide histogram of a radix search and the step from it to the pivot's bin.
#pragma once

#include <cstdint>

#include "cuda/common/block.cuh"
#include "cuda/common/radix_cursor.h"
#include "cuda/smem/histogram.h"

namespace deepselect::cuda {

template <int kThreads>
__device__ __forceinline__ void clear_bins(Histogram& histogram) {
  constexpr std::uint32_t kQuads = RadixCursor::kNumBins / 4;
  auto* quads = reinterpret_cast<uint4*>(histogram.bins) + threadIdx.x;
#pragma unroll
  for (std::uint32_t i = 0; i < kQuads; i += kThreads) {
    if (kQuads % kThreads == 0 || i + threadIdx.x < kQuads) quads[i] = {0, 0, 0, 0};
  }
  if (threadIdx.x == 0) histogram.is_crowded = 0;
}

// What find_pivot_bin() leaves in the bins.
enum class BinsAfter {
  kStarts,   // the number of elements in better bins: where a bin's elements start in sorted order
  kCleared,  // zero, as after clear_bins()
};

// Finds the bin that holds the element of rank `rank` (0 is the best) among those counted; requires
// rank < their number. Leaves it in `pivot_*`. Begins and ends with a barrier.
template <int kThreads>
__device__ __forceinline__ void find_pivot_bin(Histogram& histogram, std::uint32_t rank,
                                               BinsAfter after = BinsAfter::kStarts) {
  constexpr std::uint32_t kBinsPerThread =
      (RadixCursor::kNumBins + kThreads - 1) / kThreads < 4 ? 4 : RadixCursor::kNumBins / kThreads;
  static_assert(kBinsPerThread % 4 == 0, "bins are read in vectors");
  constexpr std::uint32_t kQuads = kBinsPerThread / 4;
  constexpr std::uint32_t kActive = RadixCursor::kNumBins / kBinsPerThread;

  __syncthreads();
  const bool active = kActive == kThreads || threadIdx.x < kActive;
  auto* quads = reinterpret_cast<uint4*>(histogram.bins) + threadIdx.x * kQuads;
  std::uint32_t counts[kBinsPerThread];
  std::uint32_t sum = 0;
#pragma unroll
  for (std::uint32_t q = 0; q < kQuads; ++q) {
    const uint4 quad = active ? quads[q] : uint4{0, 0, 0, 0};
    counts[4 * q] = quad.x;
    counts[4 * q + 1] = quad.y;
    counts[4 * q + 2] = quad.z;
    counts[4 * q + 3] = quad.w;
    sum += quad.x + quad.y + quad.z + quad.w;
    if (active && after == BinsAfter::kCleared) quads[q] = {0, 0, 0, 0};
  }
  const std::uint32_t before = block_prefix<kThreads>(sum, histogram.warp_totals).before;
  if (rank - before < sum) {  // modulo 2^32: not where before > rank
    std::uint32_t above = before;
    std::uint32_t bin = 0;
    std::uint32_t count = counts[0];
#pragma unroll
    for (std::uint32_t i = 1; i < kBinsPerThread; ++i) {
      if (rank - above >= count) {
        above += count;
        bin = i;
        count = counts[i];
      }
    }
    histogram.pivot_bin = threadIdx.x * kBinsPerThread + bin;
    histogram.pivot_above = above;
    histogram.pivot_count = count;
  }
  if (active && after == BinsAfter::kStarts) {
    std::uint32_t above = before;
    std::uint32_t largest = 0;  // of the bins up to the pivot's
#pragma unroll
    for (std::uint32_t i = 0; i < kBinsPerThread; ++i) {
      const std::uint32_t count = counts[i];
      largest = above <= rank ? max(largest, count) : largest;
      counts[i] = above;
      above += count;
    }
    if (largest > Histogram::kCrowdedBin) histogram.is_crowded = 1;
#pragma unroll
    for (std::uint32_t q = 0; q < kQuads; ++q) {
      quads[q] = {counts[4 * q], counts[4 * q + 1], counts[4 * q + 2], counts[4 * q + 3]};
    }
  }
  __syncthreads();
}

}  // namespace deepselect::cuda
