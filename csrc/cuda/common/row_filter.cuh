// The slots of a row that are not whole, for filters that deal with whole ones apart.
#pragma once

#include <cstdint>

#include "cuda/common/composite.h"
#include "cuda/common/key_map.cuh"
#include "cuda/common/row_slots.cuh"

namespace deepselect::cuda {

constexpr std::uint32_t kNoPosition = ~std::uint32_t{0};

// The items of the slots that are not whole, at most one slot at either end, are dealt out to the
// CTA's first threads: the position of a thread's, or kNoPosition.
template <ValueType kType>
__device__ __forceinline__ std::uint32_t edge_position(const RowSlots<kType>& slots,
                                                       std::uint32_t thread) {
  constexpr std::uint32_t kItems = RowSlots<kType>::kItemsPerSlot;
  if (!slots.has_edges() || thread >= 2 * kItems) return kNoPosition;
  const std::uint32_t first = slots.first_whole();
  const std::uint32_t end = slots.end_whole();
  const std::uint32_t item = thread % kItems;
  const bool is_first = thread < kItems;
  const std::uint32_t slot = is_first ? 0 : end;
  const bool exists = is_first ? first == 1 : end >= first && end < slots.num_slots();
  const bool is_valid = exists && (slots.valid_items(slot) >> item & 1) != 0;
  return is_valid ? slots.first_position(slot) + item : kNoPosition;
}

// Calls `body(position)` for each of them. All threads of the CTA call it.
template <ValueType kType, class Body>
__device__ __forceinline__ void for_each_edge_item(const RowSlots<kType>& slots, Body&& body) {
  const std::uint32_t position = edge_position(slots, threadIdx.x);
  if (position != kNoPosition) body(position);
}

}  // namespace deepselect::cuda
