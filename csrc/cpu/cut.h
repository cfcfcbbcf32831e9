// The cut of n keys at k: a bound that exactly k of them reach, or the k-th key itself where its
// equals straddle the cut. Found by narrowing a range of keys: every step is one counting pass over
// the keys and moves nothing. Steps by interpolation, which is quick on smooth rows, alternate with
// halvings, so that no input takes more than twice as many as a key has bits.
#pragma once

#include <cstdint>
#include <limits>

#include "cpu/scan_primitives.h"

namespace deepselect::cpu {

constexpr std::int64_t num_mark_words(std::int64_t num_items) {
  return (num_items + kMarksPerWord - 1) / kMarksPerWord;
}

template <typename Key>
struct Cut {
  Key bound;
  std::int64_t num_at_least;  // keys that reach `bound`; >= k
};

// A key in (low, high], where `fraction` in [0, 1) of the way lies. Requires low < high.
template <typename Key>
Key key_between(Key low, Key high, double fraction) {
  const auto num_steps = static_cast<double>(static_cast<std::int64_t>(high) - low - 1);
  return static_cast<Key>(low + 1 + static_cast<std::int64_t>(fraction * num_steps));
}

// Requires 1 <= k <= n. Stops early at a bound that up to k + tolerance keys reach.
template <ValueType kType, typename Key = typename ScanPrimitives<kType>::Key>
Cut<Key> find_cut(const ScanPrimitives<kType>& primitives, const Key* keys, std::int64_t n,
                  std::int64_t k, std::int64_t tolerance) {
  KeyRange<Key> range = primitives.key_range(keys, n);
  Cut<Key> cut{range.min, n};
  std::int64_t num_above = 0;  // keys above range.max
  for (bool halve = false; cut.bound < range.max && cut.num_at_least > k + tolerance;
       halve = !halve) {
    const double fraction = halve ? 0.5
                                  : static_cast<double>(cut.num_at_least - k) /
                                        static_cast<double>(cut.num_at_least - num_above);
    const Key bound = key_between(cut.bound, range.max, fraction);
    const std::int64_t num_at_least = primitives.count_keys(keys, n, bound);
    if (num_at_least >= k) {
      cut = {bound, num_at_least};
    } else {
      range.max = static_cast<Key>(bound - 1);
      num_above = num_at_least;
    }
  }
  return cut;
}

// Takes from `at_least` the last `num_dropped` marks that `above` does not have.
inline void drop_last_ties(std::uint64_t* at_least, const std::uint64_t* above,
                           std::int64_t num_words, std::int64_t num_dropped) {
  for (std::int64_t w = num_words - 1; w >= 0 && num_dropped > 0; --w) {
    std::uint64_t ties = at_least[w] & ~above[w];
    for (; ties != 0 && num_dropped > 0; --num_dropped) {
      ties &= ~(std::uint64_t{1} << (63 - __builtin_clzll(ties)));
    }
    at_least[w] = above[w] | ties;
  }
}

// Marks the k best keys: above the cut all, of its ties the first. `marks` and `above` have room
// for n marks each.
template <ValueType kType, typename Key = typename ScanPrimitives<kType>::Key>
void mark_best(const ScanPrimitives<kType>& primitives, const Key* keys, std::int64_t n,
               std::int64_t k, const Cut<Key>& cut, std::uint64_t* marks, std::uint64_t* above) {
  primitives.mark_keys(keys, n, cut.bound, marks);
  if (cut.num_at_least == k) return;
  const std::int64_t num_words = num_mark_words(n);
  if (cut.bound == std::numeric_limits<Key>::max()) {
    for (std::int64_t w = 0; w < num_words; ++w) above[w] = 0;
  } else {
    primitives.mark_keys(keys, n, static_cast<Key>(cut.bound + 1), above);
  }
  drop_last_ties(marks, above, num_words, cut.num_at_least - k);
}

}  // namespace deepselect::cpu
