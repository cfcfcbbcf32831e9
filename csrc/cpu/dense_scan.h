// Selection where k is a good part of the window: two passes over it, by one thread or, in parts,
// by all of the pool's.
//
// The first pass counts what lies above a bracket of keys and lists what lies inside it. A sample
// gives the bracket, so that it holds the k-th key and few items; the cut is then found among
// those. The second pass lists everything above the cut and the first of its ties. How many each
// part will list is known before, so parts write side by side.
//
// A sample that misled is repaired with counting passes: at the bracket's own ends, which settles
// rows with few different values, then by bisection: no more passes than a key has bits.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "cpu/bit_ranges.h"
#include "cpu/buffer.h"
#include "cpu/cut.h"
#include "cpu/gather_keys.h"
#include "cpu/row_sample.h"
#include "cpu/scan_primitives.h"
#include "cpu/tasks.h"
#include "cpu/tuning.h"

namespace deepselect::cpu {

template <ValueType kType>
class DenseScan {
 public:
  using Primitives = ScanPrimitives<kType>;
  using Bits = typename Primitives::Bits;
  using Key = typename Primitives::Key;

  DenseScan(const Primitives& primitives, KeyRule<Key> rule, const ThreadPool& pool, int num_parts)
      : primitives_(primitives),
        rule_(rule),
        pool_(pool),
        sample_(primitives),
        parts_(static_cast<std::size_t>(num_parts)) {}

  // Writes the positions of the k best of `window`, ascending. Requires 1 <= k < n and
  // n > direct_items.
  void select(const Bits* window, std::int64_t n, std::int64_t k, std::uint32_t* positions) {
    window_ = window;
    n_ = n;
    k_ = k;
    divide();
    find_bracket();
    const Cut<Key> cut = cut_bracket();
    assign_outputs(cut);
    for_each_part([&](Part& part) { list_part(part, cut, positions); });
  }

 private:
  static constexpr Key kMinKey = std::numeric_limits<Key>::min();
  static constexpr Key kMaxKey = std::numeric_limits<Key>::max();

  // The keys from low to high, both included.
  struct Bracket {
    Key low;
    Key high;
  };

  struct Part {
    // Of the window: [begin, end).
    std::int64_t begin = 0;
    std::int64_t end = 0;

    // After the first pass.
    std::int64_t num_above = 0;   // above the bracket
    std::int64_t num_inside = 0;  // inside it; listed if it fits

    // For the second pass.
    std::int64_t first_output = 0;
    std::int64_t num_kept_ties = 0;
    bool drops_ties = false;

    Buffer<std::uint32_t> inside;
    Buffer<std::uint32_t> listed;
    Buffer<std::uint64_t> marks;

    std::int64_t size() const { return end - begin; }
    // A sampled bracket holds a few percent.
    std::int64_t inside_capacity() const { return size() / 8 + kScanTuning.candidate_slack; }
  };

  template <typename Function>
  void for_each_part(const Function& function) {
    run_tasks(pool_, static_cast<int>(parts_.size()), static_cast<std::int64_t>(parts_.size()),
              [&](int, std::int64_t part) { function(parts_[static_cast<std::size_t>(part)]); });
  }

  void divide() {
    const auto num_parts = static_cast<std::int64_t>(parts_.size());
    const std::int64_t part_items = (n_ + num_parts - 1) / num_parts;
    std::int64_t begin = 0;
    for (Part& part : parts_) {
      part.begin = begin;
      part.end = begin = std::min(begin + part_items, n_);
    }
  }

  // The first pass over one part.
  void collect_part(Part& part) const {
    constexpr std::int64_t kSegmentItems = kScanTuning.segment_items;
    const std::int64_t capacity = part.inside_capacity();
    std::uint32_t* inside = part.inside.reserve(capacity + kSegmentItems + kOverrunItems);
    std::uint64_t* marks = part.marks.reserve(2 * num_mark_words(kSegmentItems));
    std::uint64_t* above = marks + num_mark_words(kSegmentItems);
    const BitRanges<Bits> from_low = bits_at_least<kType>(rule_, bracket_.low);
    const BitRanges<Bits> over_high = bits_above<kType>(rule_, bracket_.high);
    part.num_above = 0;
    part.num_inside = 0;
    for (std::int64_t first = part.begin; first < part.end; first += kSegmentItems) {
      const std::int64_t num_items = std::min(kSegmentItems, part.end - first);
      const std::int64_t num_words = num_mark_words(num_items);
      primitives_.mark_values(window_ + first, num_items, from_low, marks);
      primitives_.mark_values(window_ + first, num_items, over_high, above);
      part.num_above += primitives_.count_marks(above, num_words);
      for (std::int64_t w = 0; w < num_words; ++w) marks[w] &= ~above[w];
      if (part.num_inside <= capacity) {
        part.num_inside += primitives_.list_marks(
            marks, num_words, static_cast<std::uint32_t>(first), inside + part.num_inside);
      } else {
        part.num_inside += primitives_.count_marks(marks, num_words);
      }
    }
  }

  // The first pass; whether `bracket` holds the k-th key and is either listed or a single key.
  bool collect(Bracket bracket) {
    bracket_ = bracket;
    for_each_part([&](Part& part) { collect_part(part); });
    num_above_ = 0;
    num_inside_ = 0;
    bool is_listed = true;
    for (const Part& part : parts_) {
      num_above_ += part.num_above;
      num_inside_ += part.num_inside;
      is_listed &= part.num_inside <= part.inside_capacity();
    }
    return num_above_ < k_ && k_ <= num_above_ + num_inside_ &&
           (is_listed || bracket.low == bracket.high);
  }

  void find_bracket() {
    const Bracket sampled = sample_bracket();
    if (collect(sampled)) return;

    Bracket bracket{kMinKey, kMaxKey};  // always holds the k-th key
    std::int64_t num_candidates = n_;   // inside it, at most
    std::int64_t num_from_low = n_;
    std::int64_t num_above_high = 0;
    const auto learn = [&](Key bound, std::int64_t num_at_least) {
      if (num_at_least >= k_ && bound > bracket.low) {
        bracket.low = bound;
        num_from_low = num_at_least;
      }
      if (num_at_least < k_ && bound <= bracket.high) {
        bracket.high = static_cast<Key>(bound - 1);
        num_above_high = num_at_least;
      }
      num_candidates = num_from_low - num_above_high;
    };
    const auto probe = [&](Key bound) {
      if (bracket.low < bound && bound <= bracket.high) learn(bound, count_at_least(bound));
    };

    learn(sampled.low, num_above_ + num_inside_);
    if (sampled.high != kMaxKey) learn(static_cast<Key>(sampled.high + 1), num_above_);
    probe(sampled.high);
    if (sampled.low != kMaxKey) probe(static_cast<Key>(sampled.low + 1));
    while (bracket.low < bracket.high && num_candidates > kScanTuning.candidate_slack) {
      probe(key_between(bracket.low, bracket.high, 0.5));
    }
    collect(bracket);
  }

  // Two sampled keys with, were the sample random, the k-th key between them in all but about one
  // of 2000 rows.
  Bracket sample_bracket() {
    const std::int64_t num_samples = sample_.draw(window_, n_, rule_);
    const double fraction = static_cast<double>(k_) / static_cast<double>(n_);
    const double expected = fraction * static_cast<double>(num_samples);
    const double margin = 3.5 * std::sqrt(expected * (1 - fraction)) + 3;
    const auto low_rank = static_cast<std::int64_t>(std::ceil(expected + margin));
    const auto high_rank = static_cast<std::int64_t>(std::floor(expected - margin));
    Bracket bracket{kMinKey, kMaxKey};
    if (low_rank <= num_samples) {
      bracket.low = find_cut(primitives_, sample_.keys(), num_samples, low_rank, 0).bound;
    }
    if (high_rank >= 1) {
      bracket.high = find_cut(primitives_, sample_.keys(), num_samples, high_rank, 0).bound;
    }
    return bracket;
  }

  std::int64_t count_at_least(Key bound) {
    const BitRanges<Bits> accepted = bits_at_least<kType>(rule_, bound);
    std::atomic<std::int64_t> total{0};
    for_each_part([&](Part& part) {
      total += primitives_.count_values(window_ + part.begin, part.size(), accepted);
    });
    return total;
  }

  // The window's cut, from what the first pass listed; leaves the keys of that in keys_.
  Cut<Key> cut_bracket() {
    if (bracket_.low == bracket_.high) return {bracket_.low, num_above_ + num_inside_};
    Key* keys = keys_.reserve(num_inside_ + kOverrunItems);
    Key* part_keys = keys;
    for (const Part& part : parts_) {
      gather_keys(primitives_, rule_, window_, part.inside.data(), part.num_inside, part_keys);
      part_keys += part.num_inside;
    }
    Cut<Key> cut = find_cut(primitives_, keys, num_inside_, k_ - num_above_, 0);
    cut.num_at_least += num_above_;
    return cut;
  }

  // How many items of each part are selected, hence where its output begins. Ties past the cut are
  // dropped from the end of the window.
  void assign_outputs(const Cut<Key>& cut) {
    const bool is_single_key = bracket_.low == bracket_.high;
    std::int64_t num_dropped = cut.num_at_least - k_;
    std::int64_t output = k_;
    const Key* keys_end = keys_.data() + (is_single_key ? 0 : num_inside_);
    for (std::size_t p = parts_.size(); p-- > 0;) {
      Part& part = parts_[p];
      std::int64_t num_at_least = part.num_inside;
      std::int64_t num_ties = part.num_inside;
      if (!is_single_key) {
        keys_end -= part.num_inside;
        num_at_least = primitives_.count_keys(keys_end, part.num_inside, cut.bound);
        num_ties = num_at_least;
        if (num_dropped > 0 && cut.bound != kMaxKey) {
          num_ties -=
              primitives_.count_keys(keys_end, part.num_inside, static_cast<Key>(cut.bound + 1));
        }
      }
      const std::int64_t num_dropped_here = std::min(num_dropped, num_ties);
      num_dropped -= num_dropped_here;
      part.drops_ties = num_dropped_here > 0;
      part.num_kept_ties = num_ties - num_dropped_here;
      output -= part.num_above + num_at_least - num_dropped_here;
      part.first_output = output;
    }
  }

  // The second pass over one part.
  void list_part(Part& part, const Cut<Key>& cut, std::uint32_t* positions) const {
    constexpr std::int64_t kSegmentItems = kScanTuning.segment_items;
    // Listed here first: list_marks() overruns, and the next part's output follows.
    std::uint32_t* listed = part.listed.reserve(kSegmentItems + kOverrunItems);
    std::uint64_t* marks = part.marks.data();
    std::uint64_t* above = marks + num_mark_words(kSegmentItems);
    const BitRanges<Bits> from_cut = bits_at_least<kType>(rule_, cut.bound);
    const BitRanges<Bits> over_cut = bits_above<kType>(rule_, cut.bound);
    std::uint32_t* output = positions + part.first_output;
    std::int64_t num_kept_ties = part.num_kept_ties;
    for (std::int64_t first = part.begin; first < part.end; first += kSegmentItems) {
      const std::int64_t num_items = std::min(kSegmentItems, part.end - first);
      const std::int64_t num_words = num_mark_words(num_items);
      primitives_.mark_values(window_ + first, num_items, from_cut, marks);
      if (part.drops_ties) {
        primitives_.mark_values(window_ + first, num_items, over_cut, above);
        const std::int64_t num_ties =
            primitives_.count_marks(marks, num_words) - primitives_.count_marks(above, num_words);
        if (num_ties > num_kept_ties) {
          drop_last_ties(marks, above, num_words, num_ties - num_kept_ties);
        }
        num_kept_ties -= std::min(num_ties, num_kept_ties);
      }
      const std::int64_t num_listed =
          primitives_.list_marks(marks, num_words, static_cast<std::uint32_t>(first), listed);
      std::memcpy(output, listed, static_cast<std::size_t>(num_listed) * sizeof(std::uint32_t));
      output += num_listed;
    }
  }

  const Primitives& primitives_;
  const KeyRule<Key> rule_;
  const ThreadPool& pool_;
  RowSample<kType> sample_;
  std::vector<Part> parts_;

  const Bits* window_ = nullptr;
  std::int64_t n_ = 0;
  std::int64_t k_ = 0;
  Bracket bracket_{};
  std::int64_t num_above_ = 0;   // of all parts
  std::int64_t num_inside_ = 0;  // of all parts
  Buffer<Key> keys_;
};

}  // namespace deepselect::cpu
