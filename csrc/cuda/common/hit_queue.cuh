// The hits of a warp's vectors as a list, in order of position: what is rare per lane becomes work
// for whole warps.
//
// The warp has kVectors * 32 neighbouring slots, vector v of lane l being slot 32 v + l of them. An
// entry is an item's distance from the first slot's first item.
#pragma once

#include <cstdint>

#include "cuda/common/block.cuh"
#include "cuda/common/composite.h"
#include "cuda/common/hit_mask.cuh"
#include "cuda/common/key_map.cuh"
#include "cuda/common/key_threshold.cuh"
#include "cuda/common/row_slots.cuh"

namespace deepselect::cuda {

template <ValueType kType>
struct HitQueue {
  static constexpr int kVectors = HitMask<kType>::kMaxVectors;
  static constexpr std::uint32_t kSlots = kVectors * kWarpThreads;
  static constexpr std::uint32_t kCapacity = kSlots * KeyMap<kType>::kItemsPerVector;
  static constexpr std::uint16_t kDistance = kCapacity - 1;  // the bits of an entry's distance

  std::uint16_t entries[kCapacity];

  static __device__ __forceinline__ std::uint32_t slot_of(std::uint32_t first_slot, int vector) {
    return first_slot + vector * kWarpThreads + threadIdx.x % kWarpThreads;
  }

  // The warp's vectors from `first_slot` on, zero from `end` on.
  static __device__ __forceinline__ void load(const RowSlots<kType>& slots,
                                              std::uint32_t first_slot, std::uint32_t end,
                                              uint4 (&bits)[kVectors]) {
    const bool is_whole =
        first_slot >= slots.first_whole() && first_slot + kSlots <= min(end, slots.end_whole());
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const std::uint32_t slot = slot_of(first_slot, v);
      if (is_whole) {
        bits[v] = slots.whole_slots()[slot];
      } else {
        bits[v] = slot < end ? slots.load(slot) : uint4{0, 0, 0, 0};
      }
    }
  }

  // Which items reach `low`, but for items outside the window and, where the warp's slots contain
  // the position of `low`, equals of its key behind it: may be more than do, never fewer.
  static __device__ __forceinline__ HitMask<kType> reaching(const RowSlots<kType>& slots,
                                                            const KeyMap<kType>& key_map,
                                                            Composite low, std::uint32_t first_slot,
                                                            std::uint32_t end,
                                                            const uint4 (&bits)[kVectors]) {
    const bool is_behind = first_slot != 0 && slots.first_position(first_slot) > position_of(low);
    const KeyThreshold<kType> threshold(key_map, std::uint64_t{key_of(low)} + (is_behind ? 1 : 0));
    HitMask<kType> hits;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) hits.add(key_map, threshold, bits[v], v);
    hits.finish(threshold, kVectors);
    if (first_slot + kSlots > end) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        if (slot_of(first_slot, v) >= end) hits.drop(v);
      }
    }
    return hits;
  }

  // Returns the number of entries. One warp calls it; complete for the warp after.
  __device__ __forceinline__ std::uint32_t fill(const HitMask<kType>& hits) {
    constexpr std::uint32_t kItems = KeyMap<kType>::kItemsPerVector;
    const std::uint32_t lane = threadIdx.x % kWarpThreads;
    std::uint32_t total = 0;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      std::uint32_t items = hits.items(v);
      const Prefix prefix = warp_prefix_small<4>(__popc(items));
      std::uint32_t place = total + prefix.before;
#pragma unroll 1
      while (items != 0) {
        const std::uint32_t item = __ffs(static_cast<int>(items)) - 1;
        items &= items - 1;
        entries[place++] = static_cast<std::uint16_t>((v * kWarpThreads + lane) * kItems + item);
      }
      total += prefix.total;
    }
    __syncwarp();
    return total;
  }
};

}  // namespace deepselect::cuda
