// The loops behind scan_primitives.h, over a vector type `Simd` that each scan_primitives_<isa>.cpp
// defines. Everything is in an unnamed namespace on purpose: every including file gets its own
// copy, compiled with its own flags (see scan_primitives.h). For the same reason nothing of the
// standard library's code is used here.
//
// Simd<kType> supplies:
//   Bits, Key, Vec, kLanes   lane types, and a vector of kLanes of either (kLanes divides 64)
//   load(items), store(vec, keys), broadcast(key), min(a, b), max(a, b), lowest(vec), highest(vec)
//   Rule(KeyRule<Key>)       the rule's constants in registers, and to_keys(vec, rule)
//   Range(BitRange<Bits>)    a range's constants in registers
//   is_at_least(vec, bound), is_in(vec, range), either(a, b)   tests of every lane
//   word(items, test)        the tests of 64 items as bits
//   list_word(word, first, positions)   the marks of one word as positions
//   keep_word(word, from, to)   the marked ones of 64 positions; `to` may be at or before `from`
#pragma once

#include <cstring>

#include "cpu/scan_primitives.h"

namespace deepselect::cpu {
namespace {

template <typename Simd>
struct IsAtLeast {
  typename Simd::Vec bound;
  auto operator()(typename Simd::Vec vec) const { return Simd::is_at_least(vec, bound); }
};

template <typename Simd>
struct IsInOne {
  typename Simd::Range range;
  auto operator()(typename Simd::Vec vec) const { return Simd::is_in(vec, range); }
};

template <typename Simd>
struct IsInEither {
  typename Simd::Range range0;
  typename Simd::Range range1;
  auto operator()(typename Simd::Vec vec) const {
    return Simd::either(Simd::is_in(vec, range0), Simd::is_in(vec, range1));
  }
};

// A copy of a partial last word's items, so that loops run on whole words and yet read nothing
// past the end.
template <typename Item>
struct TailWord {
  Item items[kMarksPerWord];
  TailWord(const Item* source, std::int64_t n) : items{} {
    std::memcpy(items, source, static_cast<std::size_t>(n) * sizeof(Item));
  }
};

template <typename Simd, typename Item, typename Test>
inline std::uint64_t tail_word(const Item* items, std::int64_t n, const Test& test) {
  const TailWord<Item> tail(items, n);
  return Simd::word(tail.items, test) & ((std::uint64_t{1} << n) - 1);
}

template <typename Simd, typename Item, typename Test>
void mark(const Item* items, std::int64_t n, const Test& test, std::uint64_t* marks) {
  std::int64_t i = 0;
  for (; i + kMarksPerWord <= n; i += kMarksPerWord) *marks++ = Simd::word(items + i, test);
  if (i < n) *marks = tail_word<Simd>(items + i, n - i, test);
}

template <typename Simd, typename Item, typename Test>
std::int64_t count(const Item* items, std::int64_t n, const Test& test) {
  std::int64_t total = 0;
  std::int64_t i = 0;
  for (; i + kMarksPerWord <= n; i += kMarksPerWord) {
    total += __builtin_popcountll(Simd::word(items + i, test));
  }
  if (i < n) total += __builtin_popcountll(tail_word<Simd>(items + i, n - i, test));
  return total;
}

template <typename Simd>
struct Loops {
  using Bits = typename Simd::Bits;
  using Key = typename Simd::Key;
  using Vec = typename Simd::Vec;

  static void make_keys(const Bits* values, std::int64_t n, KeyRule<Key> key_rule, Key* keys) {
    const typename Simd::Rule rule(key_rule);
    std::int64_t i = 0;
    for (; i + Simd::kLanes <= n; i += Simd::kLanes) {
      Simd::store(Simd::to_keys(Simd::load(values + i), rule), keys + i);
    }
    if (i == n) return;
    const TailWord<Bits> tail(values + i, n - i);
    Simd::store(Simd::to_keys(Simd::load(tail.items), rule), keys + i);
  }

  static void mark_values(const Bits* values, std::int64_t n, BitRanges<Bits> accepted,
                          std::uint64_t* marks) {
    const typename Simd::Range range0(accepted.ranges[0]);
    const typename Simd::Range range1(accepted.ranges[1]);
    if (accepted.num == 2) {
      mark<Simd>(values, n, IsInEither<Simd>{range0, range1}, marks);
    } else if (accepted.num == 1) {
      mark<Simd>(values, n, IsInOne<Simd>{range0}, marks);
    } else {
      for (std::int64_t i = 0; i < n; i += kMarksPerWord) *marks++ = 0;
    }
  }

  static std::int64_t count_values(const Bits* values, std::int64_t n, BitRanges<Bits> accepted) {
    const typename Simd::Range range0(accepted.ranges[0]);
    const typename Simd::Range range1(accepted.ranges[1]);
    if (accepted.num == 2) return count<Simd>(values, n, IsInEither<Simd>{range0, range1});
    return accepted.num == 1 ? count<Simd>(values, n, IsInOne<Simd>{range0}) : 0;
  }

  static void mark_keys(const Key* keys, std::int64_t n, Key bound, std::uint64_t* marks) {
    mark<Simd>(keys, n, IsAtLeast<Simd>{Simd::broadcast(bound)}, marks);
  }

  static std::int64_t count_keys(const Key* keys, std::int64_t n, Key bound) {
    return count<Simd>(keys, n, IsAtLeast<Simd>{Simd::broadcast(bound)});
  }

  static KeyRange<Key> key_range(const Key* keys, std::int64_t n) {
    Vec min = Simd::broadcast(keys[0]);
    Vec max = min;
    std::int64_t i = 0;
    for (; i + Simd::kLanes <= n; i += Simd::kLanes) {
      const Vec vec = Simd::load(keys + i);
      min = Simd::min(min, vec);
      max = Simd::max(max, vec);
    }
    KeyRange<Key> range{Simd::lowest(min), Simd::highest(max)};
    for (; i < n; ++i) {
      range.min = keys[i] < range.min ? keys[i] : range.min;
      range.max = keys[i] > range.max ? keys[i] : range.max;
    }
    return range;
  }

  static std::int64_t count_marks(const std::uint64_t* marks, std::int64_t num_words) {
    std::int64_t total = 0;
    for (std::int64_t w = 0; w < num_words; ++w) total += __builtin_popcountll(marks[w]);
    return total;
  }

  static std::int64_t list_marks(const std::uint64_t* marks, std::int64_t num_words,
                                 std::uint32_t first, std::uint32_t* positions) {
    constexpr std::int64_t kBlockWords = 128;
    std::uint32_t* out = positions;
    for (std::int64_t block = 0; block < num_words; block += kBlockWords) {
      const std::int64_t block_end =
          block + kBlockWords < num_words ? block + kBlockWords : num_words;
      // Most words are empty in a long row. Which are not is found without a branch to mispredict.
      std::int64_t used[kBlockWords];
      int num_used = 0;
      for (std::int64_t w = block; w < block_end; ++w) {
        used[num_used] = w;
        num_used += marks[w] != 0;
      }
      for (int i = 0; i < num_used; ++i) {
        const std::uint64_t word = marks[used[i]];
        Simd::list_word(word, first + static_cast<std::uint32_t>(used[i]) * kMarksPerWord, out);
        out += __builtin_popcountll(word);
      }
    }
    return out - positions;
  }

  static void keep_marked(const std::uint64_t* marks, std::int64_t num_words,
                          std::uint32_t* positions) {
    std::uint32_t* out = positions;
    for (std::int64_t w = 0; w < num_words; ++w) {
      Simd::keep_word(marks[w], positions + w * kMarksPerWord, out);
      out += __builtin_popcountll(marks[w]);
    }
  }
};

template <typename Primitives, typename Simd>
constexpr Primitives primitives_of() {
  using L = Loops<Simd>;
  return {L::make_keys, L::mark_values, L::mark_keys,  L::count_values, L::count_keys,
          L::key_range, L::count_marks, L::list_marks, L::keep_marked};
}

template <template <ValueType> class Simd>
constexpr IsaPrimitives isa_primitives() {
  return {primitives_of<ScanPrimitives<ValueType::kBFloat16>, Simd<ValueType::kBFloat16>>(),
          primitives_of<ScanPrimitives<ValueType::kFloat16>, Simd<ValueType::kFloat16>>(),
          primitives_of<ScanPrimitives<ValueType::kFloat32>, Simd<ValueType::kFloat32>>(),
          primitives_of<ScanPrimitives<ValueType::kInt32>, Simd<ValueType::kInt32>>()};
}

}  // namespace
}  // namespace deepselect::cpu
