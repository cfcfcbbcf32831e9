// The items of one slot as composites.
#pragma once

#include <cstdint>

#include "cuda/common/composite.h"
#include "cuda/common/key_map.cuh"
#include "deepselect/contract.h"
#include "deepselect/order_key.h"

namespace deepselect::cuda {

template <ValueType kType>
struct SlotComposites {
  static constexpr int kItems = KeyMap<kType>::kItemsPerVector;

  __device__ __forceinline__ SlotComposites(const KeyMap<kType>& key_map, uint4 bits,
                                            std::uint32_t first_position)
      : words{bits.x, bits.y, bits.z, bits.w},
        keys{key_map.word_keys(bits.x), key_map.word_keys(bits.y), key_map.word_keys(bits.z),
             key_map.word_keys(bits.w)},
        first(first_position) {}

  __device__ __forceinline__ Composite at(int i) const {
    return composite_key(item_key<kType>(keys, i), first + i);
  }
  __device__ __forceinline__ BitsOf<kType> bits_at(int i) const {
    return static_cast<BitsOf<kType>>(item_key<kType>(words, i));
  }
  // Bit i: item i is valid and better than `bound`.
  __device__ __forceinline__ std::uint32_t better(std::uint32_t valid, Composite bound) const {
    std::uint32_t hits = 0;
#pragma unroll
    for (int i = 0; i < kItems; ++i) hits |= static_cast<std::uint32_t>(at(i) > bound) << i;
    return hits & valid;
  }
  // Bit i: item i is valid and lies in [low, high].
  __device__ __forceinline__ std::uint32_t in_range(std::uint32_t valid, Composite low,
                                                    Composite high) const {
    std::uint32_t hits = 0;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const Composite composite = at(i);
      hits |= static_cast<std::uint32_t>(composite >= low && composite <= high) << i;
    }
    return hits & valid;
  }

  std::uint32_t words[4];
  std::uint32_t keys[4];
  std::uint32_t first;
};

}  // namespace deepselect::cuda
