// Ordered keys on the device, two 16-bit values per 32-bit operation.
//
// One fused multiply-add by +1 or -1 and +0 does all of the floating-point special cases: -0.0
// becomes +0.0 and every NaN becomes the positive canonical NaN, which then ranks highest. Ranking
// NaN lowest is ranking it highest in the order of the negated values, turned round. So every NaN
// rule and direction is a sign and a flip:
//
//   key(x) = raise(x * sign + 0) ^ flip,   raise(y) = y ^ (y < 0 ? all ones : sign bit)
//
// The order is that of order_key() (the tests compare both over every 16-bit value); the key of
// zero differs from order_key's where sign is -1, so keys never leave the device.
#pragma once

#include <cstdint>

#include "cuda/ptx/arithmetic.cuh"
#include "deepselect/contract.h"
#include "deepselect/order_key.h"

namespace deepselect::cuda {

template <ValueType kType>
class KeyMap {
 public:
  using Bits = BitsOf<kType>;
  static constexpr bool kIsPacked = sizeof(Bits) == 2;
  static constexpr int kItemsPerWord = kIsPacked ? 2 : 1;
  static constexpr int kItemsPerVector = 16 / sizeof(Bits);
  static constexpr int kKeyBits = 8 * sizeof(Bits);
  static constexpr std::uint32_t kMaxKey = kIsPacked ? 0xFFFFu : 0xFFFFFFFFu;

  // Under the poison rule NaN is selected first, so that a row is poisoned exactly where its best
  // element has the key kMaxKey.
  __device__ explicit KeyMap(const TopkParams& params) {
    const bool nan_is_largest =
        params.nan_rule == NanRule::kPoison ? params.largest : params.nan_rule == NanRule::kLargest;
    if constexpr (kType == ValueType::kInt32) {
      sign_ = 0;
      flip_ = params.largest ? 0u : ~0u;
    } else {
      sign_ = kOne | (nan_is_largest ? 0u : kSignBits);
      flip_ = params.largest == nan_is_largest ? 0u : ~0u;
    }
  }

  // The y of a word: as a number of its type it has the order of the keys, turned round where
  // is_reversed(), and equal keys have equal bits.
  __device__ __forceinline__ std::uint32_t oriented(std::uint32_t word) const {
    if constexpr (kType == ValueType::kInt32) {
      return word;
    } else if constexpr (kType == ValueType::kFloat32) {
      return ptx::fma_f32(word, sign_, 0u);
    } else if constexpr (kType == ValueType::kBFloat16) {
      return ptx::fma_bf16x2(word, sign_, 0u);
    } else {
      return ptx::fma_f16x2(word, sign_, 0u);
    }
  }

  __device__ __forceinline__ bool is_reversed() const { return flip_ != 0; }
  // Whether oriented() negates. If not, comparing a word with what is no zero and no NaN is
  // comparing its y.
  __device__ __forceinline__ bool is_negated() const { return (sign_ & kSignBits) != 0; }

  // The keys of a word but for the direction, and that step: where order is all that is asked for,
  // is_reversed() does instead of it.
  __device__ __forceinline__ std::uint32_t word_raised(std::uint32_t word) const {
    const std::uint32_t y = oriented(word);
    if constexpr (kType == ValueType::kInt32) {
      return y ^ kSignBits;
    } else if constexpr (kType == ValueType::kFloat32) {
      return y ^ (static_cast<std::uint32_t>(static_cast<std::int32_t>(y) >> 31) | kSignBits);
    } else {
      return y ^ (ptx::replicate_signs_16x2(y) | kSignBits);
    }
  }
  __device__ __forceinline__ std::uint32_t keys_of_raised(std::uint32_t raised) const {
    return raised ^ flip_;
  }

  // The keys of one 32-bit word: one key, or two in its halves.
  __device__ __forceinline__ std::uint32_t word_keys(std::uint32_t word) const {
    const std::uint32_t y = oriented(word);
    if constexpr (kType == ValueType::kInt32) {
      return y ^ (kSignBits ^ flip_);
    } else if constexpr (kType == ValueType::kFloat32) {
      const auto negative = static_cast<std::uint32_t>(static_cast<std::int32_t>(y) >> 31);
      return y ^ (negative | kSignBits) ^ flip_;
    } else {
      return y ^ (ptx::replicate_signs_16x2(y) | kSignBits) ^ flip_;
    }
  }

  // The key of one value, in the low bits.
  __device__ __forceinline__ std::uint32_t key(Bits bits) const {
    return word_keys(bits) & kMaxKey;
  }
  // The same for a loop: of 16-bit types an instruction less, but half of flip_ is one more
  // register. The upper item of the word is +0.0 and stays that, so its key needs no cutting off.
  __device__ __forceinline__ std::uint32_t key_in_loop(Bits bits) const {
    if constexpr (!kIsPacked) return word_keys(bits);
    const std::uint32_t y = oriented(bits);
    return y ^ (ptx::replicate_signs_16x2(y) | (kSignBits & kMaxKey)) ^ (flip_ & kMaxKey);
  }

  // A word with these word_keys(): the one that they are of, but for zeros and NaNs.
  __device__ __forceinline__ std::uint32_t word_of_keys(std::uint32_t keys) const {
    const std::uint32_t raised = keys ^ flip_;
    std::uint32_t y;
    if constexpr (kType == ValueType::kInt32) {
      y = raised ^ kSignBits;
    } else if constexpr (kType == ValueType::kFloat32) {
      const auto positive = static_cast<std::uint32_t>(static_cast<std::int32_t>(raised) >> 31);
      y = raised ^ (~positive | kSignBits);
    } else {
      y = raised ^ (~ptx::replicate_signs_16x2(raised) | kSignBits);
    }
    return y ^ (sign_ & kSignBits);
  }

  // The value of a key into `bits`; false where several bit patterns share it (zeros, NaNs) and the
  // value must be read from the input.
  __device__ __forceinline__ bool value_of(std::uint32_t key, Bits* bits) const {
    constexpr std::uint32_t kSign = kSignBits & kMaxKey & ~(kMaxKey >> 1);
    if constexpr (kType == ValueType::kInt32) {
      *bits = key ^ (kSign ^ flip_);
      return true;
    } else {
      const std::uint32_t raised = (key ^ flip_) & kMaxKey;
      const std::uint32_t y = (raised & kSign) ? raised ^ kSign : ~raised & kMaxKey;
      *bits = static_cast<Bits>(y ^ (sign_ & kSign));
      return y != 0 && raised != kMaxKey;
    }
  }

 private:
  static constexpr std::uint32_t kSignBits = kIsPacked ? 0x80008000u : 0x80000000u;
  static constexpr std::uint32_t kOne = kType == ValueType::kBFloat16  ? 0x3F803F80u
                                        : kType == ValueType::kFloat16 ? 0x3C003C00u
                                                                       : 0x3F800000u;

  std::uint32_t sign_;  // +1 or -1, in every item of a word
  std::uint32_t flip_;  // 0 or all ones
};

// Item `i` of the keys of a vector, as word_keys() leaves them. `i` should be a compile-time
// constant after unrolling.
template <ValueType kType>
__device__ __forceinline__ std::uint32_t item_key(const std::uint32_t (&keys)[4], int i) {
  if constexpr (KeyMap<kType>::kIsPacked) {
    const std::uint32_t word = keys[i / 2];
    return i % 2 == 0 ? word & 0xFFFFu : word >> 16;
  } else {
    return keys[i];
  }
}

// The greater of each pair of keys in two words of them.
template <ValueType kType>
__device__ __forceinline__ std::uint32_t max_of_words(std::uint32_t a, std::uint32_t b) {
  if constexpr (KeyMap<kType>::kIsPacked) {
    return __vmaxu2(a, b);
  } else {
    return max(a, b);
  }
}

// The lesser of each pair.
template <ValueType kType>
__device__ __forceinline__ std::uint32_t min_of_words(std::uint32_t a, std::uint32_t b) {
  if constexpr (KeyMap<kType>::kIsPacked) {
    return __vminu2(a, b);
  } else {
    return min(a, b);
  }
}

// The greatest of the keys of a word, as an ordinary integer.
template <ValueType kType>
__device__ __forceinline__ std::uint32_t greatest_key(std::uint32_t keys) {
  if constexpr (KeyMap<kType>::kIsPacked) {
    return max(keys & 0xFFFFu, keys >> 16);
  } else {
    return keys;
  }
}

}  // namespace deepselect::cuda
