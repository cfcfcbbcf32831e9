// The slots of a row that are not whole, for filters that deal with whole ones apart.
#pragma once

#include <cstdint>

#include "cuda/common/composite.h"
#include "cuda/common/key_map.cuh"
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

}  // namespace deepselect::cuda
