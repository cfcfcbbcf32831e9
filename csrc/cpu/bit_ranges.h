// Which bit patterns of values have keys at or above a bound. Round the circle of patterns,
//   +0 .. +inf, NaN with plus sign, -0 .. -inf, NaN with minus sign, and +0 again,
// keys ascend, then descend, and NaN stands where the rule puts it: the patterns asked for are
// never more than two arcs. A pass that tests arcs takes two instructions for each and makes no
// keys.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "cpu/scan_primitives.h"

namespace deepselect::cpu {

// Appends [first, last], unless that is empty, to arcs that end before it.
template <typename Bits>
void append_arc(std::int64_t first, std::int64_t last, BitRanges<Bits>* arcs) {
  if (first > last) return;
  const auto span = static_cast<Bits>(last - first);
  if (arcs->num > 0) {
    BitRange<Bits>& previous = arcs->ranges[arcs->num - 1];
    if (std::int64_t{previous.first} + previous.span + 1 == first) {
      previous.span = static_cast<Bits>(previous.span + 1 + span);
      return;
    }
  }
  arcs->ranges[arcs->num++] = {static_cast<Bits>(first), span};
}

template <ValueType kType, typename Key = typename ScanPrimitives<kType>::Key>
BitRanges<BitsOf<kType>> bits_at_least(KeyRule<Key> rule, Key bound) {
  using Bits = BitsOf<kType>;
  // Keys before the direction turned them, in [low, high].
  const std::int64_t low = rule.flip == 0 ? bound : std::numeric_limits<Key>::min();
  const std::int64_t high =
      rule.flip == 0 ? std::numeric_limits<Key>::max() : static_cast<Key>(~bound);
  BitRanges<Bits> arcs{};
  if constexpr (!is_floating(kType)) {
    arcs.num = 1;
    arcs.ranges[0] = {static_cast<Bits>(low), static_cast<Bits>(high - low)};
  } else {
    constexpr std::int64_t kInfinity = ValueTraits<kType>::kInfinity;
    constexpr std::int64_t kAllOnes = std::numeric_limits<Bits>::max();
    constexpr std::int64_t kSign = kAllOnes / 2 + 1;
    const bool has_nan = low <= rule.nan_key && rule.nan_key <= high;
    append_arc(std::max<std::int64_t>(low, 0), std::min(high, kInfinity), &arcs);
    if (has_nan) append_arc(kInfinity + 1, kSign - 1, &arcs);
    append_arc(kSign + std::max<std::int64_t>(-high, 0), kSign + std::min(-low, kInfinity), &arcs);
    if (has_nan) append_arc(kSign + kInfinity + 1, kAllOnes, &arcs);

    BitRange<Bits>& first = arcs.ranges[0];
    BitRange<Bits>& last = arcs.ranges[1];
    if (arcs.num == 2 && first.first == 0 && std::int64_t{last.first} + last.span == kAllOnes) {
      first = {last.first, static_cast<Bits>(last.span + 1 + first.span)};
      arcs.num = 1;
    }
  }
  return arcs;
}

// The same for above: no patterns at all where `bound` is the greatest key.
template <ValueType kType, typename Key = typename ScanPrimitives<kType>::Key>
BitRanges<BitsOf<kType>> bits_above(KeyRule<Key> rule, Key bound) {
  if (bound == std::numeric_limits<Key>::max()) return {};
  return bits_at_least<kType>(rule, static_cast<Key>(bound + 1));
}

}  // namespace deepselect::cpu
