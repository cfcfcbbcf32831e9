// Values as ordered integers: for every value type an unsigned key such that
// "selected before" is "greater key", whatever the NaN rule and the direction.
// Comparing keys instead of floats keeps subnormals in order under
// flush-to-zero, makes -0.0 equal to +0.0 and all NaNs equal to each other.
//
// Among equal keys the lower position is selected first; composite_key() joins
// both into one 64-bit integer.
#pragma once

#include <cstdint>
#include <type_traits>

#include "deepselect/contract.h"
#include "deepselect/macros.h"

namespace deepselect {

// The bits of one value, and the shape of its floating-point format.
template <ValueType kType>
struct ValueTraits;

template <>
struct ValueTraits<ValueType::kBFloat16> {
  using Bits = std::uint16_t;
  static constexpr Bits kInfinity = 0x7F80;
  static constexpr Bits kQuietNan = 0x7FC0;
};

template <>
struct ValueTraits<ValueType::kFloat16> {
  using Bits = std::uint16_t;
  static constexpr Bits kInfinity = 0x7C00;
  static constexpr Bits kQuietNan = 0x7E00;
};

template <>
struct ValueTraits<ValueType::kFloat32> {
  using Bits = std::uint32_t;
  static constexpr Bits kInfinity = 0x7F800000;
  static constexpr Bits kQuietNan = 0x7FC00000;
};

template <>
struct ValueTraits<ValueType::kInt32> {
  using Bits = std::uint32_t;
};

template <ValueType kType>
using BitsOf = typename ValueTraits<kType>::Bits;

template <ValueType kType>
DEEPSELECT_HOST_DEVICE constexpr bool is_nan(BitsOf<kType> bits) {
  if constexpr (is_floating(kType)) {
    using Bits = BitsOf<kType>;
    constexpr Bits kMagnitude = static_cast<Bits>(Bits(~Bits(0)) >> 1);
    return static_cast<Bits>(bits & kMagnitude) > ValueTraits<kType>::kInfinity;
  } else {
    (void)bits;
    return false;
  }
}

// The key of a value. Floats: the lowest key (0) and the highest (all ones) are
// used by NaN alone; int32 uses every key.
template <ValueType kType>
DEEPSELECT_HOST_DEVICE constexpr BitsOf<kType> order_key(BitsOf<kType> bits, bool nan_is_largest,
                                                         bool largest) {
  using Bits = BitsOf<kType>;
  constexpr Bits kSign = static_cast<Bits>(~static_cast<Bits>(Bits(~Bits(0)) >> 1));
  Bits rank = 0;
  if constexpr (is_floating(kType)) {
    if (is_nan<kType>(bits)) {
      rank = nan_is_largest ? static_cast<Bits>(~Bits(0)) : Bits(0);
    } else {
      const Bits canonical = bits == kSign ? Bits(0) : bits;  // -0.0 ranks as +0.0
      rank = (canonical & kSign) ? static_cast<Bits>(~canonical)
                                 : static_cast<Bits>(canonical | kSign);
    }
  } else {
    rank = static_cast<Bits>(bits ^ kSign);
  }
  return largest ? rank : static_cast<Bits>(~rank);
}

// Key and position as one integer: the greater is selected first, no two of a
// row are equal.
DEEPSELECT_HOST_DEVICE constexpr std::uint64_t composite_key(std::uint32_t key,
                                                             std::uint32_t position) {
  return (static_cast<std::uint64_t>(key) << 32) | static_cast<std::uint32_t>(~position);
}

}  // namespace deepselect
