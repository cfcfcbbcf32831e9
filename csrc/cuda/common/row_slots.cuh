// A window of a row as 16-byte slots of global memory. Slots are aligned whatever the window's
// address; the first and the last may reach beyond the window, and then only the items inside are
// read, one by one. So nothing outside the window is ever touched, and a row of any alignment is
// read in whole vectors but for its edges.
#pragma once

#include <cstdint>

#include "cuda/common/key_map.cuh"
#include "cuda/ptx/arithmetic.cuh"
#include "deepselect/contract.h"
#include "deepselect/order_key.h"
#include "deepselect/row_view.h"

namespace deepselect::cuda {

template <ValueType kType>
class RowSlots {
 public:
  using Bits = BitsOf<kType>;
  static constexpr std::uint32_t kItemsPerSlot = KeyMap<kType>::kItemsPerVector;

  __device__ RowSlots(const TopkParams& params, const RowView& view, std::int64_t row)
      : items_(ptx::opaque_global(static_cast<const Bits*>(params.input) +
                                  row * params.input_row_stride_items + view.begin)),
        num_items_(static_cast<std::uint32_t>(view.size())) {
    const auto address = reinterpret_cast<std::uintptr_t>(items_);
    lead_ = static_cast<std::uint32_t>(address % 16) / sizeof(Bits);
    num_slots_ = static_cast<std::uint32_t>(
        (std::uint64_t{lead_} + num_items_ + kItemsPerSlot - 1) / kItemsPerSlot);
  }

  __device__ std::uint32_t num_items() const { return num_items_; }
  __device__ std::uint32_t num_slots() const { return num_slots_; }

  // Whole slots: those in [first_whole(), end_whole()); at most one more on either side.
  __device__ std::uint32_t first_whole() const { return lead_ != 0 ? 1 : 0; }
  __device__ std::uint32_t end_whole() const {
    return static_cast<std::uint32_t>((std::uint64_t{lead_} + num_items_) / kItemsPerSlot);
  }

  __device__ bool has_edges() const { return first_whole() != 0 || end_whole() != num_slots_; }

  // The first whole slot whose address is a multiple of `segment_slots` slots, a power of two.
  __device__ __forceinline__ std::uint32_t first_segment(std::uint32_t segment_slots) const {
    const auto address = reinterpret_cast<std::uintptr_t>(whole_slots() + first_whole());
    const auto behind = static_cast<std::uint32_t>(address / 16) & (segment_slots - 1);
    return first_whole() + (behind == 0 ? 0 : segment_slots - behind);
  }

  // The position of a slot's first item, modulo 2^32: before the window for a first slot that is
  // not whole.
  __device__ __forceinline__ std::uint32_t first_position(std::uint32_t slot) const {
    return slot * kItemsPerSlot - lead_;
  }

  __device__ __forceinline__ std::uint32_t slot_of(std::uint32_t position) const {
    return (position + lead_) / kItemsPerSlot;
  }

  // How many slots end at a position or before it; more than there are where `position` lies behind
  // the window.
  __device__ __forceinline__ std::uint32_t num_ending_by(std::uint32_t position) const {
    return static_cast<std::uint32_t>((std::uint64_t{position} + 1 + lead_) / kItemsPerSlot);
  }

  // Bit i: item i of the slot lies in the window.
  __device__ __forceinline__ std::uint32_t valid_items(std::uint32_t slot) const {
    constexpr std::uint32_t kAll = (1u << kItemsPerSlot) - 1;
    const std::uint32_t first = first_position(slot);
    std::uint32_t mask = kAll;
    if (slot == 0) mask = kAll & (kAll << lead_);
    const std::uint32_t left = num_items_ - first;  // modulo 2^32: lead_ + num_items_ for slot 0
    if (left < kItemsPerSlot) mask &= (1u << left) - 1;
    return mask;
  }

  __device__ __forceinline__ const uint4* whole_slots() const {
    return reinterpret_cast<const uint4*>(items_ - lead_);
  }

  // The bits of a slot, zero where an item lies outside the window.
  __device__ __forceinline__ uint4 load(std::uint32_t slot) const {
    const bool is_whole = slot >= first_whole() && slot < end_whole();
    return is_whole ? whole_slots()[slot] : load_edge(slot);
  }

  __device__ __forceinline__ Bits item(std::uint32_t position) const { return items_[position]; }

 private:
  __device__ __noinline__ uint4 load_edge(std::uint32_t slot) const {
    const std::uint32_t valid = valid_items(slot);
    const std::uint32_t first = first_position(slot);
    std::uint32_t words[4] = {0, 0, 0, 0};
#pragma unroll
    for (std::uint32_t i = 0; i < kItemsPerSlot; ++i) {
      if ((valid >> i & 1) == 0) continue;
      const std::uint32_t bits = items_[first + i];
      if constexpr (sizeof(Bits) == 2) {
        words[i / 2] |= bits << (i % 2 * 16);
      } else {
        words[i] = bits;
      }
    }
    return {words[0], words[1], words[2], words[3]};
  }

  const Bits* items_;  // the window's first item
  std::uint32_t num_items_;
  std::uint32_t lead_;  // items between the first slot's start and the window's
  std::uint32_t num_slots_;
};

// How many elements of a window are selected.
__device__ __forceinline__ std::uint32_t num_wanted_of(const TopkParams& params,
                                                       std::uint32_t num_items) {
  return static_cast<std::uint32_t>(params.k < num_items ? params.k : std::int64_t{num_items});
}

// Calls `body(slot, valid items, bits)` for the slots of [begin, end) that are this thread's, in no
// useful order, with up to kInFlight loads issued before the first body; behind `end` without valid
// items, so that a warp calls it as one. All threads of the CTA call it.
template <int kThreads, int kInFlight, ValueType kType, class Body>
__device__ __forceinline__ void for_each_slot(const RowSlots<kType>& slots, std::uint32_t begin,
                                              std::uint32_t end, Body&& body) {
  constexpr std::uint32_t kStep = kThreads * kInFlight;
  for (std::uint32_t base = begin; base < end; base += kStep) {
    uint4 bits[kInFlight];
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const std::uint32_t slot = base + i * kThreads + threadIdx.x;
      bits[i] = slot < end ? slots.load(slot) : uint4{0, 0, 0, 0};
    }
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const std::uint32_t slot = base + i * kThreads + threadIdx.x;
      body(slot, slot < end ? slots.valid_items(slot) : 0u, bits[i]);
    }
  }
}

}  // namespace deepselect::cuda
