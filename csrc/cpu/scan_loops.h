// The loops behind scan_primitives.h, over a vector type `Simd` that each
// scan_primitives_<isa>.cpp defines. Everything is in an unnamed namespace on purpose: every
// including file gets its own copy, compiled with its own flags (see scan_primitives.h). For the
// same reason nothing of the standard library's code is used here.
//
// Simd<kType> supplies:
//   Bits, Key, Vec       lane types and a vector of kLanes keys (kLanes divides 64)
//   Rule(KeyRule<Key>)   the rule's constants in registers
//   broadcast(key), load(keys), store(vec, keys), min(a, b), max(a, b), lowest(vec), highest(vec)
//   to_keys(values, rule)   kLanes values as keys
//   mark_word(source, items, bound)   which of 64 keys of a source reach the bound, as bits
//   list_word(word, first, positions)   the marks of one word as positions
//   keep_word(word, from, to)           the marked ones of 64 positions; to may be at or before
//   from
#pragma once

#include <cstring>

#include "cpu/scan_primitives.h"

namespace deepselect::cpu {
namespace {

// Where a loop takes its keys from: values through the rule, or keys as they are.
template <typename Simd>
struct FromValues {
  using Item = typename Simd::Bits;
  typename Simd::Rule rule;
  typename Simd::Vec load(const Item* items) const { return Simd::to_keys(items, rule); }
};

template <typename Simd>
struct FromKeys {
  using Item = typename Simd::Key;
  typename Simd::Vec load(const Item* items) const { return Simd::load(items); }
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

template <typename Simd, typename Source>
inline std::uint64_t mark_tail(const Source& source, const typename Source::Item* items,
                               std::int64_t n, typename Simd::Vec bound) {
  const TailWord<typename Source::Item> tail(items, n);
  return Simd::mark_word(source, tail.items, bound) & ((std::uint64_t{1} << n) - 1);
}

template <typename Simd, typename Source>
void mark(const Source& source, const typename Source::Item* items, std::int64_t n,
          typename Simd::Key bound, std::uint64_t* marks) {
  const typename Simd::Vec bounds = Simd::broadcast(bound);
  std::int64_t i = 0;
  for (; i + kMarksPerWord <= n; i += kMarksPerWord) {
    *marks++ = Simd::mark_word(source, items + i, bounds);
  }
  if (i < n) *marks = mark_tail<Simd>(source, items + i, n - i, bounds);
}

template <typename Simd, typename Source>
std::int64_t count(const Source& source, const typename Source::Item* items, std::int64_t n,
                   typename Simd::Key bound) {
  const typename Simd::Vec bounds = Simd::broadcast(bound);
  std::int64_t total = 0;
  std::int64_t i = 0;
  for (; i + kMarksPerWord <= n; i += kMarksPerWord) {
    total += __builtin_popcountll(Simd::mark_word(source, items + i, bounds));
  }
  if (i < n) total += __builtin_popcountll(mark_tail<Simd>(source, items + i, n - i, bounds));
  return total;
}

template <typename Simd>
struct Loops {
  using Bits = typename Simd::Bits;
  using Key = typename Simd::Key;
  using Vec = typename Simd::Vec;

  static void make_keys(const Bits* values, std::int64_t n, KeyRule<Key> rule, Key* keys) {
    const FromValues<Simd> source{typename Simd::Rule(rule)};
    std::int64_t i = 0;
    for (; i + Simd::kLanes <= n; i += Simd::kLanes) {
      Simd::store(source.load(values + i), keys + i);
    }
    if (i == n) return;
    const TailWord<Bits> tail(values + i, n - i);
    Simd::store(source.load(tail.items), keys + i);
  }

  static void mark_values(const Bits* values, std::int64_t n, KeyRule<Key> rule, Key bound,
                          std::uint64_t* marks) {
    mark<Simd>(FromValues<Simd>{typename Simd::Rule(rule)}, values, n, bound, marks);
  }

  static void mark_keys(const Key* keys, std::int64_t n, Key bound, std::uint64_t* marks) {
    mark<Simd>(FromKeys<Simd>{}, keys, n, bound, marks);
  }

  static std::int64_t count_values(const Bits* values, std::int64_t n, KeyRule<Key> rule,
                                   Key bound) {
    return count<Simd>(FromValues<Simd>{typename Simd::Rule(rule)}, values, n, bound);
  }

  static std::int64_t count_keys(const Key* keys, std::int64_t n, Key bound) {
    return count<Simd>(FromKeys<Simd>{}, keys, n, bound);
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
      const std::int64_t block_end = block + kBlockWords < num_words ? block + kBlockWords : num_words;
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
