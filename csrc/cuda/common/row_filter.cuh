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

  // After the last add().
  __device__ __forceinline__ void finish(const KeyThreshold<kType>& threshold) {
    bits_ ^= threshold.inverse() & kAll;
  }
  __device__ __forceinline__ void drop(int vector) {
    bits_ &= ~(kItems * ((1u << kWordsPerVector) - 1) << (kWordsPerVector * vector));
  }

  __device__ __forceinline__ bool any() const { return bits_ != 0; }

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

  std::uint32_t bits_ = 0;
};

// Calls `hit(position)` for every element that reaches `bound`, and for some that do not. The calls
// of a warp diverge. No barrier; all threads of the CTA call it.
template <int kThreads, int kInFlight, ValueType kType, class Hit>
__device__ __forceinline__ void for_each_reaching(const RowSlots<kType>& slots,
                                                  const KeyMap<kType>& key_map, Composite bound,
                                                  Hit&& hit) {
  static_assert(kInFlight <= HitMask<kType>::kMaxVectors, "a mask is one word");
  constexpr std::uint32_t kTile = kThreads * kInFlight;
  const KeyThreshold<kType> before(key_map, key_of(bound));
  const KeyThreshold<kType> behind(key_map, std::uint64_t{key_of(bound)} + 1);
  const std::uint32_t first = slots.first_whole();
  const std::uint32_t end = slots.end_whole();

  // The slots that are not whole, at most one at either end.
  if (threadIdx.x < 2) {
    const std::uint32_t slot = threadIdx.x == 0 ? 0 : end;
    const bool exists = threadIdx.x == 0 ? first == 1 : end >= first && end < slots.num_slots();
    const std::uint32_t valid = exists ? slots.valid_items(slot) : 0u;
    for (std::uint32_t i = 0; i < RowSlots<kType>::kItemsPerSlot; ++i) {
      if ((valid >> i & 1) != 0) hit(slots.first_position(slot) + i);
    }
  }

  for (std::uint32_t tile = first; tile < end; tile += kTile) {
    const uint4* source = slots.whole_slots() + tile + threadIdx.x;
    const bool is_full = end - tile >= kTile;
    uint4 bits[kInFlight];
    if (is_full) {
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) bits[i] = source[i * kThreads];
    } else {
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) {
        const bool inside = tile + i * kThreads + threadIdx.x < end;
        bits[i] = inside ? source[i * kThreads] : uint4{0, 0, 0, 0};
      }
    }
    const KeyThreshold<kType>& threshold =
        slots.first_position(tile) <= position_of(bound) ? before : behind;
    HitMask<kType> hits;
#pragma unroll
    for (int i = 0; i < kInFlight; ++i) hits.add(key_map, threshold, bits[i], i);
    hits.finish(threshold);
    if (!is_full) {
#pragma unroll
      for (int i = 0; i < kInFlight; ++i) {
        if (tile + i * kThreads + threadIdx.x >= end) hits.drop(i);
      }
    }
    while (hits.any()) {
      std::uint32_t vector, item;
      hits.pop(&vector, &item);
      hit(slots.first_position(tile + vector * kThreads + threadIdx.x) + item);
    }
  }
}

}  // namespace deepselect::cuda
