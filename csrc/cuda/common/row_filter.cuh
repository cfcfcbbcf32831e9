// The filter of a whole row by one CTA: finds what may reach a bound, at about two instructions per
// 16-bit item, and does work per hit only where there are hits.
//
// A tile is kInFlight vectors per thread. Every item's comparison with the bound's key gives one
// bit of a mask per thread; a loop over its set bits hands the hits on. A tile that begins behind
// the bound's position has hits above the bound's key only, so groups of equal values are passed
// over as fast as anything else; within the tile that holds the position the caller compares
// exactly.
#pragma once

#include <cstdint>

#include "cuda/common/composite.h"
#include "cuda/common/key_map.cuh"
#include "cuda/common/key_threshold.cuh"
#include "cuda/common/row_slots.cuh"

namespace deepselect::cuda {

// The hits of one thread's vectors. Bit (kWordsPerVector * vector + word), and 16 more for the
// upper item of a word of two: the masks of a comparison already have their ones there.
template <ValueType kType>
class HitMask {
 public:
  static constexpr int kWordsPerVector = 4;
  static constexpr int kMaxVectors = 16 / kWordsPerVector;

  // The items of vector `vector`, a compile-time constant.
  __device__ __forceinline__ void add(const KeyMap<kType>& key_map,
                                      const KeyThreshold<kType>& threshold, uint4 bits,
                                      int vector) {
    const std::uint32_t words[kWordsPerVector] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int word = 0; word < kWordsPerVector; ++word) {
      bits_ |= threshold.compare(key_map.oriented(words[word])) &
               (kItems << (kWordsPerVector * vector + word));
    }
  }

  // As add(), without orienting the words first. kNegated is KeyMap::is_negated().
  template <bool kNegated>
  __device__ __forceinline__ void add_raw(const KeyThreshold<kType>& threshold, uint4 bits,
                                          int vector) {
    const std::uint32_t words[kWordsPerVector] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int word = 0; word < kWordsPerVector; ++word) {
      bits_ |= threshold.template compare_raw<kNegated>(words[word]) &
               (kItems << (kWordsPerVector * vector + word));
    }
  }

  // As add(), for a threshold that is this vector's alone; finish() is not called then.
  __device__ __forceinline__ void add_finished(const KeyMap<kType>& key_map,
                                               const KeyThreshold<kType>& threshold, uint4 bits,
                                               int vector) {
    add(key_map, threshold, bits, vector);
    bits_ ^= threshold.inverse() & vector_bits(vector);
  }

  // After the last add(), of the first `num_vectors` vectors.
  __device__ __forceinline__ void finish(const KeyThreshold<kType>& threshold,
                                         int num_vectors = kMaxVectors) {
    const std::uint32_t added =
        num_vectors == kMaxVectors ? kAll : kItems * ((1u << (kWordsPerVector * num_vectors)) - 1);
    bits_ ^= threshold.inverse() & added;
  }
  __device__ __forceinline__ void drop(int vector) { bits_ &= ~vector_bits(vector); }
  // Of two masks: the items of vector `vector` before `num_items` as in this one, the others as in
  // `behind`.
  __device__ __forceinline__ void replace_behind(int vector, std::uint32_t num_items,
                                                 const HitMask& behind) {
    std::uint32_t kept = ~vector_bits(vector);
#pragma unroll
    for (std::uint32_t i = 0; i < KeyMap<kType>::kItemsPerVector; ++i) {
      const std::uint32_t bit = KeyMap<kType>::kIsPacked ? i / 2 + i % 2 * 16 : i;
      if (i < num_items) kept |= 1u << (kWordsPerVector * vector + bit);
    }
    bits_ = (bits_ & kept) | (behind.bits_ & ~kept);
  }

  __device__ __forceinline__ bool any() const { return bits_ != 0; }
  __device__ __forceinline__ std::uint32_t count() const { return __popc(bits_); }

  // Removes a hit and tells its vector and its place in it.
  __device__ __forceinline__ void pop(std::uint32_t* vector, std::uint32_t* item) {
    const std::uint32_t bit = __ffs(static_cast<int>(bits_)) - 1;
    bits_ &= bits_ - 1;
    const std::uint32_t word = bit % 16;
    *vector = word / kWordsPerVector;
    *item = word % kWordsPerVector;
    if constexpr (KeyMap<kType>::kIsPacked) *item = *item * 2 + bit / 16;
  }

 private:
  static constexpr std::uint32_t kItems = KeyMap<kType>::kIsPacked ? 0x00010001u : 1u;
  static constexpr std::uint32_t kAll = kItems * 0xFFFFu;

  __device__ __forceinline__ static constexpr std::uint32_t vector_bits(int vector) {
    return kItems * ((1u << kWordsPerVector) - 1) << (kWordsPerVector * vector);
  }

  std::uint32_t bits_ = 0;
};

// One thread's part of a tile of a row's whole slots.
template <int kThreads, int kInFlight, ValueType kType>
class RowTile {
 public:
  static_assert(kInFlight <= HitMask<kType>::kMaxVectors, "a mask is one word");
  static constexpr std::uint32_t kSlots = kThreads * kInFlight;

  // The slots [first, first + kSlots) that lie before `end`.
  __device__ __forceinline__ void load(const RowSlots<kType>& slots, std::uint32_t first,
                                       std::uint32_t end) {
    const uint4* source = slots.whole_slots() + first + threadIdx.x;
    if (end - first >= kSlots) {
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) bits_[i] = source[i * kThreads];
    } else {
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) {
        if (first + i * kThreads + threadIdx.x < end) bits_[i] = source[i * kThreads];
      }
    }
  }

  __device__ __forceinline__ HitMask<kType> hits(const KeyMap<kType>& key_map,
                                                 const KeyThreshold<kType>& threshold,
                                                 std::uint32_t first, std::uint32_t end) const {
    HitMask<kType> hits;
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) hits.add(key_map, threshold, bits_[i], i);
    hits.finish(threshold);
    if (end - first < kSlots) {
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) {
        if (first + i * kThreads + threadIdx.x >= end) hits.drop(i);
      }
    }
    return hits;
  }

 private:
  uint4 bits_[kInFlight];
};

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

// Calls `hit(position)` for every element that reaches `bound`, and for some that do not. The calls
// of a warp diverge. No barrier; all threads of the CTA call it.
template <int kThreads, int kInFlight, ValueType kType, class Hit>
__device__ __forceinline__ void for_each_reaching(const RowSlots<kType>& slots,
                                                  const KeyMap<kType>& key_map, Composite bound,
                                                  Hit&& hit) {
  using Tile = RowTile<kThreads, kInFlight, kType>;
  constexpr std::uint32_t kItems = RowSlots<kType>::kItemsPerSlot;
  const KeyThreshold<kType> before(key_map, key_of(bound));
  const KeyThreshold<kType> behind(key_map, std::uint64_t{key_of(bound)} + 1);
  const std::uint32_t end = slots.end_whole();
  std::uint32_t first = slots.first_whole();

  for_each_edge_item(slots, hit);
  if (first >= end) return;

  Tile tile;
  tile.load(slots, first, end);
  for (;;) {
    const std::uint32_t first_position = slots.first_position(first);
    const KeyThreshold<kType> threshold =
        KeyThreshold<kType>::choose(first_position <= position_of(bound), before, behind);
    HitMask<kType> hits = tile.hits(key_map, threshold, first, end);
    // The next loads are on their way while the hits are dealt with: those need the mask alone.
    first += Tile::kSlots;
    const bool is_last = first >= end;
    if (!is_last) tile.load(slots, first, end);
    while (hits.any()) {
      std::uint32_t vector, item;
      hits.pop(&vector, &item);
      hit(first_position + (vector * kThreads + threadIdx.x) * kItems + item);
    }
    if (is_last) return;
  }
}

}  // namespace deepselect::cuda
