// Keys and scan bounds for dav-2201, which compares neither unsigned nor 16-bit integers: keys are
// signed 32-bit integers, bounds are intervals of value bits read as signed integers. Scalar and
// pure: the kernel evaluates bounds once per batch, tests run them on every 16-bit pattern.
//
// A key is the value's magnitude bits with the value's sign (negated where the smallest are
// wanted): zeros of both signs are 0, infinities +-kInfinity, NaN one beyond on the side that the
// NaN rule says. Of no key, nor of the difference of two below 2^31, can arithmetic overflow.
#pragma once

#include <cstdint>
#include <type_traits>

#include "deepselect/contract.h"
#include "deepselect/macros.h"
#include "deepselect/order_key.h"

namespace deepselect::ascend {

// Accepts value bits (sign-extended) in one of the closed intervals; or, where `rejects`, in none.
// Each interval lies on one side of 0.
struct SignedBound {
  struct Interval {
    std::int32_t low;
    std::int32_t high;
  };
  Interval intervals[2];
  std::uint32_t num_intervals;
  bool rejects;

  DEEPSELECT_HOST_DEVICE constexpr bool accepts(std::int32_t bits) const {
    bool inside = false;
    for (std::uint32_t i = 0; i < num_intervals; ++i) {
      inside = inside || (bits >= intervals[i].low && bits <= intervals[i].high);
    }
    return inside != rejects;
  }
};

// A bound for one compare of raw bits, read as numbers of the same width: half for either 16-bit
// type (sign and magnitude order bfloat16 alike), float. Accepts whatever does not compare as less
// than `bits` (where is_lower), or as greater; so every NaN of that reading, which is neither.
template <class Bits>
struct LooseBound {
  Bits bits;
  bool is_lower;
  bool accepts_all;
};

template <ValueType kType>
struct SignedKeyRule {
  using Bits = BitsOf<kType>;
  static constexpr int kBits = 8 * sizeof(Bits);
  static constexpr std::int32_t kInfinity =
      static_cast<std::int32_t>(ValueTraits<kType>::kInfinity);
  static constexpr std::int32_t kNanKey = kInfinity + 1;  // or its negative
  // Value bits, sign-extended: of -0.0 and of the NaN of either sign with the most bits set.
  static constexpr std::int32_t kMinusZero =
      static_cast<std::int32_t>(~std::uint32_t{0} << (kBits - 1));
  static constexpr std::int32_t kLastNan = -(kMinusZero + 1);
  static constexpr std::int32_t kLastMinusNan = -1;
  // Magnitudes of finite normal numbers as LooseBound reads them.
  static constexpr std::int32_t kSmallestNormal = kBits == 16 ? 0x0400 : 0x00800000;
  static constexpr std::int32_t kGreatestNumber = kBits == 16 ? 0x7BFF : 0x7F7FFFFF;

  bool largest;
  bool nan_first;

  DEEPSELECT_HOST_DEVICE static constexpr SignedKeyRule of(NanRule nan_rule, bool largest) {
    // A poisoned row is recognised by the NaN that is selected first.
    return {largest, nan_rule == NanRule::kPoison || (nan_rule == NanRule::kLargest) == largest};
  }

  DEEPSELECT_HOST_DEVICE static constexpr std::int32_t sign_extended(Bits bits) {
    return static_cast<std::int32_t>(static_cast<std::make_signed_t<Bits>>(bits));
  }

  DEEPSELECT_HOST_DEVICE constexpr std::int32_t key(Bits bits) const {
    const std::int32_t x = sign_extended(bits);
    const std::int32_t magnitude = x & kLastNan;
    if (magnitude > kInfinity) return nan_first ? kNanKey : -kNanKey;
    return (x < 0) == largest ? -magnitude : magnitude;
  }

  // A value that no other loses to.
  DEEPSELECT_HOST_DEVICE constexpr Bits worst() const {
    if (!nan_first) return ValueTraits<kType>::kQuietNan;
    return static_cast<Bits>(largest ? kMinusZero + kInfinity : kInfinity);
  }

  // Accepts exactly the elements whose key is at least `least`, -kNanKey <= least <= kNanKey + 1.
  DEEPSELECT_HOST_DEVICE constexpr SignedBound at_least(std::int32_t least) const {
    // The bits of a magnitude on the side that wins, and on the side that loses.
    const std::int32_t better = largest ? 0 : kMinusZero;
    const std::int32_t worse = largest ? kMinusZero : 0;
    if (least == -kNanKey) return {{}, 0, true};
    if (least > (nan_first ? kNanKey : kInfinity)) return {{}, 0, false};
    if (least > 0) {
      if (!nan_first) return {{{better + least, better + kInfinity}, {}}, 1, false};
      return {{{better + least, better + kLastNan}, {worse + kNanKey, worse + kLastNan}}, 2, false};
    }
    // All but the losing side's magnitudes above -least, and the NaNs that lose.
    const std::int32_t first = worse - least + 1;
    if (!nan_first) {
      return {{{first, worse + kLastNan}, {better + kNanKey, better + kLastNan}}, 2, true};
    }
    const std::uint32_t num_intervals = least == -kInfinity ? 0 : 1;
    return {{{first, worse + kInfinity}, {}}, num_intervals, true};
  }

  // Whether worst() is a number as LooseBound reads it, and not the NaN of bfloat16's infinities.
  DEEPSELECT_HOST_DEVICE constexpr bool worst_is_number() const {
    return nan_first && kType != ValueType::kBFloat16;
  }

  // Of numbers, as LooseBound reads them, loosely_at_least(least) accepts exactly those whose key
  // is at least `least`, whether subnormal ones are taken as 0 or not.
  DEEPSELECT_HOST_DEVICE static constexpr bool compares_exactly(std::int32_t least) {
    const std::int32_t magnitude = least < 0 ? -least : least;
    return magnitude >= kSmallestNormal && magnitude <= kGreatestNumber;
  }

  // Accepts all elements whose key is at least `least`, and others: NaN and, of bfloat16, what half
  // cannot tell from it. Its number is 0 or a normal one, so it does not matter whether subnormal
  // ones are taken as 0.
  DEEPSELECT_HOST_DEVICE constexpr LooseBound<Bits> loosely_at_least(std::int32_t least) const {
    const bool wins = least > 0;
    const std::int32_t magnitude = wins ? least : -least;
    if (!wins && magnitude > kGreatestNumber) return {0, largest, true};
    std::int32_t number = magnitude < kGreatestNumber ? magnitude : kGreatestNumber;
    if (number < kSmallestNormal) number = wins || number == 0 ? 0 : kSmallestNormal;
    const bool is_negative = number != 0 && wins != largest;
    return {static_cast<Bits>(is_negative ? kMinusZero + number : number), largest, false};
  }
};

}  // namespace deepselect::ascend
