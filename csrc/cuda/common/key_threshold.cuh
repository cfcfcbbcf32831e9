// Which items of a word reach a key, by one comparison of raw values: for 16-bit types one
// instruction and an orientation (KeyMap) for two items, where making their keys takes four.
//
// In the order of y = oriented(word), "the key is at least K" is "not (y <= t)" with t the value
// just worse than K's, or, reversed, "y <= t" with t the value of K itself. An ordered comparison
// is false for NaN, which is what both forms need: NaN is the best y, and the worst key where
// reversed.
#pragma once

#include <cstdint>

#include "cuda/common/key_map.cuh"
#include "cuda/ptx/compare.cuh"
#include "deepselect/contract.h"

namespace deepselect::cuda {

template <ValueType kType>
class KeyThreshold {
 public:
  // Accepts what has a key of `key` or more; `key` may be one past kMaxKey: nothing.
  __device__ KeyThreshold(const KeyMap<kType>& key_map, std::uint64_t key) {
    constexpr std::uint32_t kMaxKey = KeyMap<kType>::kMaxKey;
    const bool is_reversed = key_map.is_reversed();
    inverse_ = is_reversed ? 0u : ~0u;
    if (key == 0 || key > kMaxKey) {
      if constexpr (is_floating(kType)) {
        limit_ = kMaxKey;  // NaN: every comparison is false
        inverse_ = key == 0 ? ~0u : 0u;
      } else {
        limit_ = kMaxKey >> 1;  // INT32_MAX: every comparison is true
        inverse_ = key == 0 ? 0u : ~0u;
      }
    } else {
      const auto exact = static_cast<std::uint32_t>(key);
      std::uint32_t raised = is_reversed ? kMaxKey - exact : exact - 1;
      if constexpr (is_floating(kType)) {
        // Between the keys of infinity and of NaN there are none.
        constexpr std::uint32_t kRaisedInfinity = ValueTraits<kType>::kInfinity | kSign;
        if (raised > kRaisedInfinity && raised < kMaxKey) raised = kRaisedInfinity;
        // No oriented value is -0.0, which would compare equal to +0.0.
        if (raised == kSign - 1) raised = kSign - 2;
        limit_ = (raised & kSign) ? raised ^ kSign : ~raised & kMaxKey;
      } else {
        limit_ = raised ^ kSign;
      }
    }
    if constexpr (KeyMap<kType>::kIsPacked) limit_ |= limit_ << 16;
  }

  // `a` or `b`, without a branch: a reference to one of them would put both in local memory.
  __device__ __forceinline__ static KeyThreshold choose(bool choose_a, const KeyThreshold& a,
                                                        const KeyThreshold& b) {
    KeyThreshold chosen(a);
    chosen.limit_ = choose_a ? a.limit_ : b.limit_;
    chosen.inverse_ = choose_a ? a.inverse_ : b.inverse_;
    return chosen;
  }

  // For each item of an oriented word all ones or zero; where inverse() is all ones, of those that
  // do not reach the key. Inverting is left to the caller, who may do it once for many words.
  __device__ __forceinline__ std::uint32_t compare(std::uint32_t oriented_word) const {
    if constexpr (kType == ValueType::kBFloat16) {
      return ptx::mask_le_bf16x2(oriented_word, limit_);
    } else if constexpr (kType == ValueType::kFloat16) {
      return ptx::mask_le_f16x2(oriented_word, limit_);
    } else if constexpr (kType == ValueType::kFloat32) {
      return ptx::mask_le_f32(oriented_word, limit_);
    } else {
      const bool is_le =
          static_cast<std::int32_t>(oriented_word) <= static_cast<std::int32_t>(limit_);
      return is_le ? ~0u : 0u;
    }
  }

  __device__ std::uint32_t inverse() const { return inverse_; }

 private:
  static constexpr std::uint32_t kSign = KeyMap<kType>::kMaxKey ^ (KeyMap<kType>::kMaxKey >> 1);

  template <ValueType, bool>
  friend class RawThreshold;

  std::uint32_t limit_;  // in every item
  std::uint32_t inverse_;
};

// The same for words as they are: what orienting negates changes sides instead. kNegated is
// KeyMap::is_negated().
template <ValueType kType, bool kNegated>
class RawThreshold {
 public:
  __device__ __forceinline__ explicit RawThreshold(const KeyThreshold<kType>& threshold)
      : limit_(kChangesSides ? threshold.limit_ ^ kSigns : threshold.limit_),
        inverse_(threshold.inverse_) {}

  // Flips those of `bits`, a compile-time constant of one bit per item of the word, whose items
  // compare() would tell by all ones.
  __device__ __forceinline__ void flip(std::uint32_t word, std::uint32_t bits,
                                       std::uint32_t* mask) const {
    if constexpr (kType == ValueType::kBFloat16) {
      const std::uint32_t told =
          kChangesSides ? ptx::mask_ge_bf16x2(word, limit_) : ptx::mask_le_bf16x2(word, limit_);
      *mask ^= told & bits;
    } else if constexpr (kType == ValueType::kFloat16) {
      const std::uint32_t told =
          kChangesSides ? ptx::mask_ge_f16x2(word, limit_) : ptx::mask_le_f16x2(word, limit_);
      *mask ^= told & bits;
    } else if constexpr (kType == ValueType::kInt32) {
      ptx::flip_where_le_s32(word, limit_, bits, mask);
    } else if constexpr (kChangesSides) {
      ptx::flip_where_ge_f32(word, limit_, bits, mask);
    } else {
      ptx::flip_where_le_f32(word, limit_, bits, mask);
    }
  }

  __device__ std::uint32_t inverse() const { return inverse_; }

 private:
  static constexpr bool kChangesSides = kNegated && kType != ValueType::kInt32;
  static constexpr std::uint32_t kSigns = KeyMap<kType>::kIsPacked ? 0x80008000u : 0x80000000u;

  std::uint32_t limit_;
  std::uint32_t inverse_;
};

}  // namespace deepselect::cuda
