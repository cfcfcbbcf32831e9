// The filter of a whole row by one CTA: finds what reaches a bound, at about two instructions per
// 16-bit item, and does work per hit only where there are hits.
//
// Every item's comparison with the bound's key gives one bit of a mask per thread and tile; a loop
// over its set bits hands the hits on. A tile that begins behind the bound's position has hits
// above the bound's key only, so groups of equal values are passed over as fast as anything else;
// within the tile that holds the position composites are compared.
#pragma once

#include <cstdint>

#include "cuda/common/composite.h"
#include "cuda/common/hit_mask.cuh"
#include "cuda/common/key_map.cuh"
#include "cuda/common/key_threshold.cuh"
#include "cuda/common/row_slots.cuh"

namespace deepselect::cuda {

// Calls `body(position)` for the items of the slots that are not whole, at most one slot at either
// end, an item per thread. All threads of the CTA call it.
template <ValueType kType, class Body>
__device__ __forceinline__ void for_each_edge_item(const RowSlots<kType>& slots, Body&& body) {
  constexpr std::uint32_t kItems = RowSlots<kType>::kItemsPerSlot;
  if (!slots.has_edges() || threadIdx.x >= 2 * kItems) return;
  const std::uint32_t first = slots.first_whole();
  const std::uint32_t end = slots.end_whole();
  const std::uint32_t item = threadIdx.x % kItems;
  const bool is_first = threadIdx.x < kItems;
  const std::uint32_t slot = is_first ? 0 : end;
  const bool exists = is_first ? first == 1 : end >= first && end < slots.num_slots();
  if (exists && (slots.valid_items(slot) >> item & 1) != 0) {
    body(slots.first_position(slot) + item);
  }
}

// Hands every element of the slots that are not whole that reaches `bound` to `put(place,
// composite)`, with places that `reserve(count)` gave.
template <ValueType kType, class Reserve, class Put>
__device__ __forceinline__ void for_each_edge_reaching(const RowSlots<kType>& slots,
                                                       const KeyMap<kType>& key_map,
                                                       Composite bound, Reserve&& reserve,
                                                       Put&& put) {
  for_each_edge_item(slots, [&](std::uint32_t position) {
    const Composite composite = composite_key(key_map.key(slots.item(position)), position);
    if (composite >= bound) put(reserve(1), composite);
  });
}

// The same for the whole slots, by a ring that start() has set going. The calls of a warp diverge;
// no barrier.
template <bool kIsNegated, class Ring, ValueType kType, class Reserve, class Put>
__device__ __forceinline__ void for_each_whole_reaching(Ring& ring, const RowSlots<kType>& slots,
                                                        const KeyMap<kType>& key_map,
                                                        Composite bound, Reserve&& reserve,
                                                        Put&& put) {
  constexpr std::uint32_t kItems = RowSlots<kType>::kItemsPerSlot;
  constexpr std::int32_t kTileItems = Ring::kTileSlots * kItems;
  // Before the bound's position its key reaches it, behind it only better ones do.
  KeyThreshold<kType> threshold(key_map, key_of(bound));
  const KeyThreshold<kType> behind(key_map, std::uint64_t{key_of(bound)} + 1);
  std::uint32_t position = slots.first_position(slots.first_whole());
  constexpr std::uint32_t kBeyondRows = 0x7FFFFFFF;
  auto to_bound = static_cast<std::int32_t>(min(position_of(bound), kBeyondRows) - position);

  for (; !ring.is_done(); ring.advance(), position += kTileItems, to_bound -= kTileItems) {
    if (to_bound < 0) threshold = behind;
    HitMask<kType> hits = ring.template hits<kIsNegated>(key_map, threshold);
    const auto pop = [&](HitMask<kType>& from) {
      const std::uint32_t offset = from.template pop_offset<Ring::kThreads>();
      return composite_key(key_map.key(ring.item(offset)),
                           position + threadIdx.x * kItems + offset);
    };
    if (to_bound >= 0 && to_bound < kTileItems) {  // the tile with the bound's position
      HitMask<kType> reaching = hits;
      while (hits.any()) {
        const HitMask<kType> before = hits;
        if (pop(hits) < bound) reaching.drop_difference(before, hits);
      }
      hits = reaching;
    }
    if (!hits.any()) continue;
    std::uint32_t place = reserve(hits.count());
    do {
      put(place++, pop(hits));
    } while (hits.any());
  }
}

}  // namespace deepselect::cuda
