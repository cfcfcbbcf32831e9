// Which items of a thread's vectors reach a threshold: a bit each, in one word.
#pragma once

#include <cstdint>

#include "cuda/common/key_map.cuh"
#include "cuda/common/key_threshold.cuh"
#include "deepselect/contract.h"

namespace deepselect::cuda {

// The hits of one thread's vectors. Bit (kWordsPerVector * vector + word), and 16 more for the
// upper item of a word of two: the masks of a comparison already have their ones there.
template <ValueType kType>
class HitMask {
 public:
  static constexpr int kWordsPerVector = 4;
  static constexpr int kMaxVectors = 16 / kWordsPerVector;

  HitMask() = default;

  // For kMaxVectors vectors, each added by add_raw() once; finish() is not called then.
  template <bool kNegated>
  __device__ __forceinline__ explicit HitMask(const RawThreshold<kType, kNegated>& threshold)
      : bits_(threshold.inverse() & kAll) {}

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

  // As add(), without orienting the words first.
  template <bool kNegated>
  __device__ __forceinline__ void add_raw(const RawThreshold<kType, kNegated>& threshold,
                                          uint4 bits, int vector) {
    const std::uint32_t words[kWordsPerVector] = {bits.x, bits.y, bits.z, bits.w};
#pragma unroll
    for (int word = 0; word < kWordsPerVector; ++word) {
      threshold.flip(words[word], kItems << (kWordsPerVector * vector + word), &bits_);
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
    constexpr bool kIsPacked = KeyMap<kType>::kIsPacked;
    std::uint32_t before = (1u << (kIsPacked ? (num_items + 1) / 2 : num_items)) - 1;
    if (kIsPacked) before |= ((1u << num_items / 2) - 1) << 16;
    const std::uint32_t replaced = vector_bits(vector) & ~(before << (kWordsPerVector * vector));
    bits_ = (bits_ & ~replaced) | (behind.bits_ & replaced);
  }

  __device__ __forceinline__ void drop(const HitMask& others) { bits_ &= ~others.bits_; }
  // Whether it is a hit, of any vector and item.
  __device__ __forceinline__ bool has(std::uint32_t vector, std::uint32_t item) const {
    constexpr int kPerWord = KeyMap<kType>::kItemsPerWord;
    return (bits_ >> (kWordsPerVector * vector + item / kPerWord + item % kPerWord * 16) & 1) != 0;
  }

  __device__ __forceinline__ bool any() const { return bits_ != 0; }
  // Of a vector.
  __device__ __forceinline__ bool any(std::uint32_t vector) const {
    return (bits_ & vector_bits(static_cast<int>(vector))) != 0;
  }
  __device__ __forceinline__ std::uint32_t count() const { return __popc(bits_); }
  __device__ __forceinline__ std::uint32_t count(int vector) const {
    return __popc(bits_ & vector_bits(vector));
  }

  // Bit i: item i of the vector, a compile-time constant, is a hit.
  __device__ __forceinline__ std::uint32_t items(int vector) const {
    const std::uint32_t words = bits_ >> (kWordsPerVector * vector) & 0x000F000Fu;
    if constexpr (!KeyMap<kType>::kIsPacked) return words;
    // Four lower and four upper items, each two bits apart.
    std::uint32_t spread = (words | words << 2) & 0x00330033u;
    spread = (spread | spread << 1) & 0x00550055u;
    return (spread | spread >> 15) & 0xFFu;
  }

  // Removes a hit and tells its vector and its place in it.
  __device__ __forceinline__ void pop(std::uint32_t* vector, std::uint32_t* item) {
    const std::uint32_t bit = __ffs(static_cast<int>(bits_)) - 1;
    bits_ &= bits_ - 1;
    const std::uint32_t word = bit % 16;
    *vector = word / kWordsPerVector;
    *item = word % kWordsPerVector;
    if constexpr (KeyMap<kType>::kIsPacked) *item = *item * 2 + bit / 16;
  }

  // Removes a hit and tells its distance, in items, from the thread's first, where the vectors of
  // kThreads threads alternate.
  template <int kThreads>
  __device__ __forceinline__ std::uint32_t pop_offset() {
    static_assert((kThreads & (kThreads - 1)) == 0, "bits of an offset are disjoint");
    const std::uint32_t bit = 31 - __clz(static_cast<int>(bits_));
    bits_ ^= 1u << bit;
    // Vector and word are neighbouring bits of `bit`: one product brings both to their places.
    constexpr std::uint32_t kWordStep = KeyMap<kType>::kItemsPerWord;
    constexpr std::uint32_t kVectorStep = kThreads * KeyMap<kType>::kItemsPerVector;
    const std::uint32_t offset = bit * (kWordStep + kVectorStep / kWordsPerVector) &
                                 (kWordStep | kVectorStep) * (kWordsPerVector - 1);
    return KeyMap<kType>::kIsPacked ? offset + bit / 16 : offset;
  }

 private:
  static constexpr std::uint32_t kItems = KeyMap<kType>::kIsPacked ? 0x00010001u : 1u;
  static constexpr std::uint32_t kAll = kItems * 0xFFFFu;

  __device__ __forceinline__ static constexpr std::uint32_t vector_bits(int vector) {
    return kItems * ((1u << kWordsPerVector) - 1) << (kWordsPerVector * vector);
  }

  std::uint32_t bits_ = 0;
};

}  // namespace deepselect::cuda
