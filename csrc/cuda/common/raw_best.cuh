// The best of many values without making their keys: one instruction per word of raw bits.
//
// Raw values have the order of KeyMap's oriented ones, or the reverse where those are negated; so
// the best is a maximum or a minimum, and NaN wins or loses against everything. Which of the four
// it is depends on the call alone: with_raw_best() hands the right one to its body.
#pragma once

#include <cstdint>

#include "cuda/common/key_map.cuh"
#include "cuda/ptx/compare.cuh"
#include "deepselect/contract.h"
#include "deepselect/order_key.h"

namespace deepselect::cuda {

template <ValueType kType, bool kMin, bool kNanWins>
struct RawBest {
  // Worse than, or equal to, every item, in each item of a word.
  __device__ static constexpr std::uint32_t worst() {
    if constexpr (kType == ValueType::kInt32) {
      return kMin ? 0x7FFFFFFFu : 0x80000000u;
    } else {
      using Traits = ValueTraits<kType>;
      constexpr std::uint32_t kSign = KeyMap<kType>::kMaxKey ^ (KeyMap<kType>::kMaxKey >> 1);
      const std::uint32_t item =
          !kNanWins ? Traits::kQuietNan : Traits::kInfinity | (kMin ? 0u : kSign);
      return KeyMap<kType>::kIsPacked ? item * 0x00010001u : item;
    }
  }

  __device__ __forceinline__ static std::uint32_t of(std::uint32_t a, std::uint32_t b) {
    if constexpr (kType == ValueType::kBFloat16) {
      return ptx::best_bf16x2<kMin, kNanWins>(a, b);
    } else if constexpr (kType == ValueType::kFloat16) {
      return ptx::best_f16x2<kMin, kNanWins>(a, b);
    } else if constexpr (kType == ValueType::kFloat32) {
      return ptx::best_f32<kMin, kNanWins>(a, b);
    } else {
      const auto x = static_cast<std::int32_t>(a);
      const auto y = static_cast<std::int32_t>(b);
      return static_cast<std::uint32_t>(kMin ? min(x, y) : max(x, y));
    }
  }
};

// Calls `body(RawBest<...>{})`.
template <ValueType kType, class Body>
__device__ __forceinline__ void with_raw_best(const KeyMap<kType>& key_map, Body&& body) {
  if constexpr (kType == ValueType::kInt32) {
    if (key_map.is_reversed()) {
      body(RawBest<kType, true, false>{});
    } else {
      body(RawBest<kType, false, false>{});
    }
  } else {
    const bool takes_min = key_map.is_reversed() != key_map.is_negated();
    if (key_map.is_reversed()) {
      if (takes_min) {
        body(RawBest<kType, true, false>{});
      } else {
        body(RawBest<kType, false, false>{});
      }
    } else {
      if (takes_min) {
        body(RawBest<kType, true, true>{});
      } else {
        body(RawBest<kType, false, true>{});
      }
    }
  }
}

}  // namespace deepselect::cuda
