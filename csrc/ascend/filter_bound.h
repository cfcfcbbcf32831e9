// The scan's test "does this element rank at least as high as that key" as two integer compares of
// the element's raw bits, for every NaN rule and direction; and the keys that selection compares.
// Scalar and pure: the kernel evaluates bounds once per page, tests run them on every bit pattern.
//
// Float bits seen as a circle of integers run +0 .. +inf, +NaN, -0 .. -inf, -NaN and back to +0. In
// signed order the positives are on top, in unsigned order the negatives. After adding a constant
// (which may as well flip the sign bit, for largest=False) every accepted set is the top of the
// signed order, or the top of the unsigned order, or the union of both.
#pragma once

#include <cstdint>

#include "deepselect/contract.h"
#include "deepselect/macros.h"
#include "deepselect/order_key.h"

namespace deepselect::ascend {

// Accepts x where, with y = x + add, y > signed_above as signed or y > unsigned_above as unsigned.
template <class Bits>
struct FilterBound {
  Bits add;
  Bits signed_above;
  Bits unsigned_above;
};

// How value bits become keys: the greater key is selected first. Keys differ from order_key's, the
// order they give does not: here the direction is a flip of the sign, so both directions share
// code.
template <ValueType kType>
struct KeyRule {
  using Bits = BitsOf<kType>;
  static constexpr Bits kMax = static_cast<Bits>(~Bits(0));
  static constexpr Bits kMagnitude = static_cast<Bits>(kMax >> 1);
  static constexpr Bits kSign = static_cast<Bits>(~kMagnitude);
  static constexpr Bits kInfinity = ValueTraits<kType>::kInfinity;
  static constexpr Bits kMinusInfinity = static_cast<Bits>(kSign | kInfinity);
  static constexpr Bits kZeroKey = kSign;

  Bits flip;     // xor-ed into values: the sign bit where the smallest are wanted
  Bits nan_key;  // kMax or 0: NaN is selected first, or last

  DEEPSELECT_HOST_DEVICE static constexpr KeyRule of(NanRule nan_rule, bool largest) {
    // A poisoned row is recognised by the NaN that is selected first.
    const bool nan_first =
        nan_rule == NanRule::kPoison || (nan_rule == NanRule::kLargest) == largest;
    return {largest ? Bits(0) : kSign, nan_first ? kMax : Bits(0)};
  }

  DEEPSELECT_HOST_DEVICE constexpr Bits key(Bits bits) const {
    const Bits x = static_cast<Bits>(bits ^ flip);
    const Bits magnitude = static_cast<Bits>(x & kMagnitude);
    if (magnitude > kInfinity) return nan_key;
    if (magnitude == 0) return kZeroKey;
    return static_cast<Bits>(x & kSign ? ~x : x | kSign);
  }

  // A value that no other loses to.
  DEEPSELECT_HOST_DEVICE constexpr Bits worst() const {
    if (nan_key == 0) return ValueTraits<kType>::kQuietNan;
    return flip == 0 ? kMinusInfinity : kInfinity;
  }

  DEEPSELECT_HOST_DEVICE static constexpr FilterBound<Bits> accept_all() {
    return {0, kMax, kMagnitude};
  }
  DEEPSELECT_HOST_DEVICE static constexpr FilterBound<Bits> accept_none() {
    return {0, kMagnitude, kMax};
  }

  // Accepts every element whose key is at least `least`. Exact, but for one case: where NaN is
  // last and `least` is that of zero or of a negative number, positive NaNs are accepted too.
  DEEPSELECT_HOST_DEVICE constexpr FilterBound<Bits> at_least(Bits least) const {
    if (least == 0) return accept_all();
    const bool nan_first = nan_key != 0;
    if (least > kZeroKey) {
      const Bits bits = static_cast<Bits>(least - kSign);
      if (nan_first) {
        const Bits first = bits > kInfinity ? static_cast<Bits>(kInfinity + 1) : bits;
        return {flip, static_cast<Bits>(first - 1), kMinusInfinity};
      }
      if (bits > kInfinity) return accept_none();
      constexpr Bits kInfinityToTop = static_cast<Bits>(kMax - kInfinity);
      return {static_cast<Bits>(flip + kInfinityToTop), kMagnitude,
              static_cast<Bits>(bits + kInfinityToTop - 1)};
    }
    // The last accepted pattern of the negatives, going down from -0.
    Bits last = least >= kZeroKey - 1 ? kSign : static_cast<Bits>(kMax - least);
    if (last > kMinusInfinity) last = kMinusInfinity;
    const Bits add = static_cast<Bits>(flip - last - 1);
    if (nan_first) {
      if (last == kMinusInfinity) return accept_all();
      return {add, kMagnitude, static_cast<Bits>(kMinusInfinity - last - 1)};
    }
    return {add, kMagnitude, static_cast<Bits>(kMax - last - 1)};
  }

  DEEPSELECT_HOST_DEVICE constexpr FilterBound<Bits> above(Bits key) const {
    return key == kMax ? accept_none() : at_least(static_cast<Bits>(key + 1));
  }
};

}  // namespace deepselect::ascend
