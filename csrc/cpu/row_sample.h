// A sample of a window's keys: where the scans' bounds come from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cpu/buffer.h"
#include "cpu/scan_primitives.h"
#include "cpu/tuning.h"

namespace deepselect::cpu {

template <ValueType kType>
class RowSample {
 public:
  using Bits = typename ScanPrimitives<kType>::Bits;
  using Key = typename ScanPrimitives<kType>::Key;

  explicit RowSample(const ScanPrimitives<kType>& primitives) : primitives_(primitives) {}

  // Puts a sample of `window` into keys(); returns its size. Requires n > direct_items.
  //
  // One group of neighbours from each of as many equal strata, at a pseudo-random place in it: a
  // sorted row is sampled as evenly as a shuffled one, and a periodic row does not beat with it.
  std::int64_t draw(const Bits* window, std::int64_t n, KeyRule<Key> rule) {
    constexpr std::int64_t kGroupItems =
        kScanTuning.sample_group_bytes / static_cast<std::int64_t>(sizeof(Bits));
    const std::int64_t num_groups =
        std::clamp(n / kScanTuning.sample_ratio, kScanTuning.min_sample_items,
                   kScanTuning.max_sample_items) /
        kGroupItems;
    const std::int64_t stratum_items = n / num_groups;
    const auto num_places = static_cast<std::uint64_t>(stratum_items - kGroupItems + 1);
    const std::int64_t num_samples = num_groups * kGroupItems;
    Key* keys = keys_.reserve(num_samples + kOverrunItems);
    auto* sample = reinterpret_cast<Bits*>(keys);  // keys take their values' places
    for (std::int64_t group = 0; group < num_groups; ++group) {
      const std::uint64_t place = (mix(static_cast<std::uint32_t>(group)) * num_places) >> 32;
      std::memcpy(sample + group * kGroupItems,
                  window + group * stratum_items + static_cast<std::int64_t>(place),
                  kGroupItems * sizeof(Bits));
    }
    primitives_.make_keys(sample, num_samples, rule, keys);
    return num_samples;
  }

  const Key* keys() const { return keys_.data(); }

 private:
  static constexpr std::uint64_t mix(std::uint32_t x) {
    x = (x + 1) * 0x9E3779B1u;
    x ^= x >> 15;
    x *= 0x85EBCA6Bu;
    return x ^ (x >> 13);
  }

  const ScanPrimitives<kType>& primitives_;
  Buffer<Key> keys_;
};

}  // namespace deepselect::cpu
