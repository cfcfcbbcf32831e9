// The filter of a part of a row against a fixed bound: what streaming variants spend their time in.
//
// Per thread and tile: kInFlight vectors are loaded, their keys reduced to one maximum, and that is
// compared with the bound's key. Only where a lane of the warp may have a hit are the composites
// compared one by one. A tile that begins behind the bound's position has hits only above the
// bound's key, so that rows full of one value are passed over as fast as any other.
//
// Survivors go to a short list in shared memory, and to the row's buffer in global memory once that
// is full.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/common/block.cuh"
#include "cuda/common/composite.h"
#include "cuda/common/key_map.cuh"
#include "cuda/common/row_passes.cuh"
#include "cuda/common/row_slots.cuh"

namespace deepselect::cuda {

// Where a CTA's survivors go. The counters of the list are in shared memory.
struct SurvivorSink {
  Composite* staged;
  std::uint32_t staged_capacity;
  std::uint32_t* num_staged;   // may run past staged_capacity
  std::uint32_t* first_place;  // scratch of flush()
  Composite* buffer;
  std::uint32_t buffer_capacity;
  std::uint32_t* num_buffered;  // may run past buffer_capacity: what came beyond is lost

  // Places for `count` survivors of this lane (below 2^kBits in all lanes together), which put()
  // takes. All lanes of the warp call it.
  template <int kBits>
  __device__ __forceinline__ std::uint64_t reserve(std::uint32_t count) const {
    const Prefix prefix = warp_prefix_small<kBits>(count);
    std::uint32_t place = 0;
    std::uint32_t beyond = 0;
    if (threadIdx.x % kWarpThreads == 0) {
      place = atomicAdd(num_staged, prefix.total);
      const std::uint32_t end = place + prefix.total;
      if (end > staged_capacity) {
        const std::uint32_t first_beyond = max(place, staged_capacity);
        beyond = atomicAdd(num_buffered, end - first_beyond) - first_beyond;
      }
    }
    place = __shfl_sync(kAllLanes, place, 0) + prefix.before;
    return std::uint64_t{__shfl_sync(kAllLanes, beyond, 0)} << 32 | place;
  }

  __device__ __forceinline__ void put(std::uint64_t reserved, std::uint32_t number,
                                      Composite composite) const {
    const std::uint32_t place = static_cast<std::uint32_t>(reserved) + number;
    if (place < staged_capacity) {
      staged[place] = composite;
    } else {
      const std::uint32_t beyond = place + static_cast<std::uint32_t>(reserved >> 32);
      if (beyond < buffer_capacity) buffer[beyond] = composite;
    }
  }

  // Moves the list to the buffer. All threads of the CTA call it, after a barrier.
  template <int kThreads>
  __device__ void flush() const {
    const std::uint32_t count = min(*num_staged, staged_capacity);
    if (count == 0) return;
    if (threadIdx.x == 0) *first_place = atomicAdd(num_buffered, count);
    __syncthreads();
    const std::uint32_t first = *first_place;
    for (std::uint32_t i = threadIdx.x; i < count; i += kThreads) {
      if (first + i < buffer_capacity) buffer[first + i] = staged[i];
    }
  }
};

// One tile of the row's whole slots: kThreads * kInFlight of them, strided by the CTA's threads.
template <int kThreads, int kInFlight, ValueType kType>
class FilterTile {
 public:
  static constexpr std::uint32_t kSlots = kThreads * kInFlight;

  __device__ __forceinline__ static std::uint32_t num_tiles(const RowSlots<kType>& slots) {
    const std::uint32_t first = slots.first_whole();
    const std::uint32_t end = slots.end_whole();
    return end > first ? (end - first + kSlots - 1) / kSlots : 0;
  }

  __device__ __forceinline__ void load(const RowSlots<kType>& slots, std::uint32_t tile) {
    first_slot_ = slots.first_whole() + tile * kSlots;
    const std::uint32_t end = slots.end_whole();
    const uint4* source = slots.whole_slots() + first_slot_ + threadIdx.x;
    if (end - first_slot_ >= kSlots) {
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) bits_[i] = source[i * kThreads];
    } else {
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) {
        const bool inside = first_slot_ + i * kThreads + threadIdx.x < end;
        bits_[i] = inside ? source[i * kThreads] : uint4{0, 0, 0, 0};
      }
    }
  }

  __device__ __forceinline__ void filter(const RowSlots<kType>& slots, const KeyMap<kType>& key_map,
                                         Composite bound, const SurvivorSink& sink) const {
    std::uint32_t max_word = 0;
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      max_word = max_of_words<kType>(max_word, key_map.word_keys(bits_[i].x));
      max_word = max_of_words<kType>(max_word, key_map.word_keys(bits_[i].y));
      max_word = max_of_words<kType>(max_word, key_map.word_keys(bits_[i].z));
      max_word = max_of_words<kType>(max_word, key_map.word_keys(bits_[i].w));
    }
    const std::uint32_t key = greatest_key<kType>(max_word);
    const bool takes_equal = slots.first_position(first_slot_) <= position_of(bound);
    const bool may_hit = key > key_of(bound) || (takes_equal && key == key_of(bound));
    if (__any_sync(kAllLanes, may_hit)) append(slots, key_map, bound, sink);
  }

 private:
  static constexpr int kItems = KeyMap<kType>::kItemsPerVector;
  using Hits = std::conditional_t<kInFlight * kItems <= 32, std::uint32_t, std::uint64_t>;
  static_assert(kInFlight * kItems <= 64, "hits of a thread are one mask");
  static constexpr int log2_above(int x) { return x == 0 ? 0 : 1 + log2_above(x / 2); }

  // Hits are rare, so their elements are read again instead of kept in registers.
  __device__ __forceinline__ void append(const RowSlots<kType>& slots, const KeyMap<kType>& key_map,
                                         Composite bound, const SurvivorSink& sink) const {
    const std::uint32_t end = slots.end_whole();
    Hits hits = 0;
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) {
      const std::uint32_t slot = first_slot_ + i * kThreads + threadIdx.x;
      const SlotComposites<kType> composites(key_map, bits_[i], slots.first_position(slot));
      const std::uint32_t valid = slot < end ? (1u << kItems) - 1 : 0u;
      hits |= Hits{composites.in_range(valid, bound, ~Composite{0})} << (i * kItems);
    }
    if (!__any_sync(kAllLanes, hits != 0)) return;
    const std::uint64_t reserved =
        sink.reserve<log2_above(kInFlight * kItems)>(static_cast<std::uint32_t>(__popcll(hits)));
    for (std::uint32_t number = 0; hits != 0; hits &= hits - 1, ++number) {
      const auto hit = static_cast<std::uint32_t>(__ffsll(static_cast<long long>(hits)) - 1);
      const std::uint32_t slot = first_slot_ + hit / kItems * kThreads + threadIdx.x;
      const std::uint32_t position = slots.first_position(slot) + hit % kItems;
      sink.put(reserved, number, composite_key(key_map.key(slots.item(position)), position));
    }
  }

  std::uint32_t first_slot_;
  uint4 bits_[kInFlight];
};

// The slots that are not whole, at most one at either end of the row. One warp calls it.
template <ValueType kType>
__device__ __forceinline__ void filter_edges(const RowSlots<kType>& slots,
                                             const KeyMap<kType>& key_map, Composite bound,
                                             const SurvivorSink& sink) {
  const std::uint32_t lane = threadIdx.x % kWarpThreads;
  const bool has_first = slots.first_whole() != 0;
  const bool has_last =
      slots.end_whole() < slots.num_slots() && !(has_first && slots.num_slots() == 1);
  if (!has_first && !has_last) return;
  const bool is_edge = (lane == 0 && has_first) || (lane == 1 && has_last);
  const std::uint32_t slot = lane == 0 ? 0 : slots.num_slots() - 1;
  const SlotComposites<kType> composites(key_map, is_edge ? slots.load(slot) : uint4{0, 0, 0, 0},
                                         slots.first_position(slot));
  const std::uint32_t hits =
      composites.in_range(is_edge ? slots.valid_items(slot) : 0u, bound, ~Composite{0});
  const std::uint64_t reserved = sink.reserve<4>(__popc(hits));
  std::uint32_t number = 0;
#pragma unroll
  for (int j = 0; j < SlotComposites<kType>::kItems; ++j) {
    if ((hits >> j & 1) != 0) sink.put(reserved, number++, composites.at(j));
  }
}

}  // namespace deepselect::cuda
