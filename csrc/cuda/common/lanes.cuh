// Primitives of some lanes of a warp, and of one lane alone.
#pragma once

#include <cstdint>

#include "cuda/common/block.cuh"
#include "cuda/ptx/compare.cuh"

namespace deepselect::cuda {

// Lanes of a warp that work together. All of the warp's lanes call each function.
template <int kLanes>
struct LaneGroup {
  __device__ static std::uint32_t lane() { return threadIdx.x % kLanes; }

  // Bit per lane of this group.
  __device__ static std::uint32_t mask() {
    if constexpr (kLanes == kWarpThreads) {
      return kAllLanes;
    } else {
      return ((1u << kLanes) - 1) << (threadIdx.x % kWarpThreads / kLanes * kLanes);
    }
  }

  __device__ __forceinline__ static std::uint32_t max(std::uint32_t value) {
    if constexpr (kLanes == kWarpThreads) {
      return __reduce_max_sync(kAllLanes, value);
    } else {
#pragma unroll
      for (int distance = kLanes / 2; distance > 0; distance /= 2) {
        value = ::max(value, __shfl_xor_sync(kAllLanes, value, distance));
      }
      return value;
    }
  }

  // For a whole warp, as integers of the same order: NaN with its sign bit set comes last, other
  // NaN first.
  __device__ __forceinline__ static float max(float value) {
    if constexpr (kLanes == kWarpThreads) {
      constexpr std::uint32_t kSign = 0x80000000u;
      const std::uint32_t bits = __float_as_uint(value);
      const std::uint32_t ordered = (bits & kSign) != 0 ? ~bits : bits | kSign;
      const std::uint32_t best = __reduce_max_sync(kAllLanes, ordered);
      return __uint_as_float((best & kSign) != 0 ? best ^ kSign : ~best);
    } else {
#pragma unroll
      for (int distance = kLanes / 2; distance > 0; distance /= 2) {
        value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, distance));
      }
      return value;
    }
  }

  __device__ __forceinline__ static float sum(float value) {
#pragma unroll
    for (int distance = kLanes / 2; distance > 0; distance /= 2) {
      value += __shfl_xor_sync(kAllLanes, value, distance);
    }
    return value;
  }
};

// The greater of both to `a`.
template <class Item>
__device__ __forceinline__ void order_pair(Item& a, Item& b) {
  if constexpr (sizeof(Item) == 8) {
    ptx::order_u64(a, b);
  } else {
    const Item greater = ::max(a, b);
    b = ::min(a, b);
    a = greater;
  }
}

// Descending, by Batcher's odd-even merge network: sorted runs of kRun items become runs of twice
// as many, by comparing items at half the distance each time.
template <int kRun = 1, int kDistance = kRun, int kCount, class Item>
__device__ __forceinline__ void sort_descending(Item (&items)[kCount]) {
#pragma unroll
  for (int i = kDistance % kRun; i + kDistance < kCount; ++i) {
    const bool is_pair = (i - kDistance % kRun) / kDistance % 2 == 0 &&
                         i / (2 * kRun) == (i + kDistance) / (2 * kRun);
    if (is_pair) order_pair(items[i], items[i + kDistance]);
  }
  if constexpr (kDistance > 1) {
    sort_descending<kRun, kDistance / 2>(items);
  } else if constexpr (2 * kRun < kCount) {
    sort_descending<2 * kRun>(items);
  }
}

// Descending, of items that rise and then fall, or the other way, round the end of the list too.
template <int kDistance, int kCount, class Item>
__device__ __forceinline__ void sort_bitonic_descending(Item (&items)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (i / kDistance % 2 == 0) order_pair(items[i], items[i + kDistance]);
  }
  if constexpr (kDistance > 1) sort_bitonic_descending<kDistance / 2>(items);
}

// Of two descending lists the best kCount items, descending, to `best`. Against the other list
// turned round the greater of each pair are those; they fall and then rise.
template <int kCount, class Item>
__device__ __forceinline__ void keep_best(Item (&best)[kCount], const Item (&items)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const Item other = items[kCount - 1 - i];
    best[i] = best[i] > other ? best[i] : other;
  }
  sort_bitonic_descending<kCount / 2>(best);
}

}  // namespace deepselect::cuda
