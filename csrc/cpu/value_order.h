// The order "value" of positions that come in ascending order: best key first, equal keys as they
// are. A stable least-significant-digit radix sort over the keys' distance from the best, of which
// only the bytes in use are sorted; insertion where the list is short.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "cpu/buffer.h"
#include "cpu/scan_primitives.h"

namespace deepselect::cpu {

template <ValueType kType>
class ValueOrder {
 public:
  using Bits = typename ScanPrimitives<kType>::Bits;
  using Key = typename ScanPrimitives<kType>::Key;

  ValueOrder(const ScanPrimitives<kType>& primitives, KeyRule<Key> rule)
      : primitives_(primitives), rule_(rule) {}

  void sort(const Bits* window, std::uint32_t* positions, std::int64_t n) {
    if (n < 2) return;
    Bits* values = values_.reserve(n);
    for (std::int64_t i = 0; i < n; ++i) values[i] = window[positions[i]];
    Key* keys = keys_.reserve(n + kOverrunItems);
    primitives_.make_keys(values, n, rule_, keys);
    if (n <= kMaxInsertionItems) {
      insertion_sort(keys, positions, n);
    } else {
      radix_sort(keys, positions, n);
    }
  }

 private:
  static constexpr std::int64_t kMaxInsertionItems = 32;
  static constexpr int kDigitBits = 8;

  struct Entry {
    Bits distance;  // from the best key
    std::uint32_t position;
  };

  static void insertion_sort(Key* keys, std::uint32_t* positions, std::int64_t n) {
    for (std::int64_t i = 1; i < n; ++i) {
      const Key key = keys[i];
      const std::uint32_t position = positions[i];
      std::int64_t j = i;
      for (; j > 0 && keys[j - 1] < key; --j) {
        keys[j] = keys[j - 1];
        positions[j] = positions[j - 1];
      }
      keys[j] = key;
      positions[j] = position;
    }
  }

  void radix_sort(const Key* keys, std::uint32_t* positions, std::int64_t n) {
    const KeyRange<Key> range = primitives_.key_range(keys, n);
    const auto distance = [&](Key key) {
      return static_cast<Bits>(static_cast<Bits>(range.max) - static_cast<Bits>(key));
    };
    Entry* entries = entries_.reserve(2 * n);
    Entry* other = entries + n;
    for (std::int64_t i = 0; i < n; ++i) entries[i] = {distance(keys[i]), positions[i]};
    Bits greatest = distance(range.min);
    for (int shift = 0; greatest != 0; shift += kDigitBits) {
      sort_digit(entries, other, n, shift);
      std::swap(entries, other);
      greatest = static_cast<Bits>(static_cast<std::uint32_t>(greatest) >> kDigitBits);
    }
    for (std::int64_t i = 0; i < n; ++i) positions[i] = entries[i].position;
  }

  static void sort_digit(const Entry* from, Entry* to, std::int64_t n, int shift) {
    std::array<std::int64_t, 1 << kDigitBits> first{};
    const auto digit = [shift](const Entry& entry) {
      return (static_cast<std::uint32_t>(entry.distance) >> shift) & ((1u << kDigitBits) - 1);
    };
    for (std::int64_t i = 0; i < n; ++i) ++first[digit(from[i])];
    std::int64_t sum = 0;
    for (std::int64_t& count : first) {
      const std::int64_t num = count;
      count = sum;
      sum += num;
    }
    for (std::int64_t i = 0; i < n; ++i) to[first[digit(from[i])]++] = from[i];
  }

  const ScanPrimitives<kType>& primitives_;
  const KeyRule<Key> rule_;
  Buffer<Bits> values_;
  Buffer<Key> keys_;
  Buffer<Entry> entries_;
};

}  // namespace deepselect::cpu
