// The order "value" of positions that come in ascending order: best key first, equal keys as they
// are. A stable least-significant-digit radix sort over the keys' distance from the best, in as few
// and as narrow digits as the row's distances need; short lists by counting ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "cpu/buffer.h"
#include "cpu/gather_keys.h"
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
    Key* keys = keys_.reserve(n + kOverrunItems);
    gather_keys(primitives_, rule_, window, positions, n, keys);
    if (n <= kMaxRankedItems) {
      rank_sort(keys, positions, n);
    } else {
      radix_sort(keys, positions, n);
    }
  }

 private:
  static constexpr std::int64_t kMaxRankedItems = 48;
  static constexpr int kMaxDigitBits = 9;
  static constexpr int kMaxDigits = 4;
  static_assert(kMaxDigits * kMaxDigitBits >= 32, "digits cover a key");

  // Every entry's rank by counting: quadratic, but without a branch that a random order
  // mispredicts.
  void rank_sort(const Key* keys, std::uint32_t* positions, std::int64_t n) {
    std::uint32_t unsorted[kMaxRankedItems];
    std::copy_n(positions, n, unsorted);
    for (std::int64_t i = 0; i < n; ++i) {
      const Key key = keys[i];
      std::int32_t rank = 0;
      for (std::int64_t j = 0; j < i; ++j) rank += keys[j] >= key;
      for (std::int64_t j = i + 1; j < n; ++j) rank += keys[j] > key;
      positions[rank] = unsorted[i];
    }
  }

  void radix_sort(const Key* keys, std::uint32_t* positions, std::int64_t n) {
    const KeyRange<Key> range = primitives_.key_range(keys, n);
    const auto distance_of = [best = static_cast<Bits>(range.max)](Key key) {
      return std::uint32_t{static_cast<Bits>(best - static_cast<Bits>(key))};
    };
    int num_bits = 0;
    while (num_bits < 32 && distance_of(range.min) >> num_bits != 0) ++num_bits;
    if (num_bits == 0) return;
    const int num_digits = (num_bits + kMaxDigitBits - 1) / kMaxDigitBits;
    const int digit_bits = (num_bits + num_digits - 1) / num_digits;
    const std::uint32_t digit_mask = (1u << digit_bits) - 1;

    // An entry is the distance above the position.
    std::uint64_t* entries = entries_.reserve(2 * n);
    std::uint64_t* sorted = entries + n;
    std::uint32_t counts[kMaxDigits][1 << kMaxDigitBits] = {};
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint32_t distance = distance_of(keys[i]);
      entries[i] = static_cast<std::uint64_t>(distance) << 32 | positions[i];
      for (int d = 0; d < num_digits; ++d) ++counts[d][distance >> (d * digit_bits) & digit_mask];
    }
    for (int d = 0; d < num_digits; ++d) {
      std::uint32_t* next = counts[d];
      std::uint32_t sum = 0;
      for (std::uint32_t digit = 0; digit <= digit_mask; ++digit) {
        sum += std::exchange(next[digit], sum);
      }
      const int shift = 32 + d * digit_bits;
      for (std::int64_t i = 0; i < n; ++i) {
        sorted[next[entries[i] >> shift & digit_mask]++] = entries[i];
      }
      std::swap(entries, sorted);
    }
    for (std::int64_t i = 0; i < n; ++i) positions[i] = static_cast<std::uint32_t>(entries[i]);
  }

  const ScanPrimitives<kType>& primitives_;
  const KeyRule<Key> rule_;
  Buffer<Key> keys_;
  Buffer<std::uint64_t> entries_;
};

}  // namespace deepselect::cpu
