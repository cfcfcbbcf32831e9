// Selection from one window by one thread. Three ways to the same set, by length and k:
//
// Direct (short windows): all keys, their cut, the marked positions.
//
// Sparse (k small against the window): one pass. A stratified sample gives a bound that slightly
// more than k items should reach. The pass marks what reaches the bound, a segment at a time and
// without a branch per item, and lists the marks as candidates. A full candidate buffer is cut
// back to its k best, and from then on only items above the cut are accepted: positions ascend, so
// a later item that equals the k-th loses the tie. That ends any flood of equal values, and it
// makes ties right without comparing positions anywhere. A sample that misled (fewer than k
// candidates) costs a second pass, from no bound.
//
// Dense (dense_scan.h): two passes, where candidates would be a good part of the window.
//
// Every way lists positions in ascending order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "cpu/bit_ranges.h"
#include "cpu/buffer.h"
#include "cpu/cut.h"
#include "cpu/dense_scan.h"
#include "cpu/gather_keys.h"
#include "cpu/row_sample.h"
#include "cpu/scan_primitives.h"
#include "cpu/tuning.h"

namespace deepselect::cpu {

// The window that is selected from after this one; data is null where there is none.
struct NextWindow {
  const void* data;
  std::int64_t num_bytes;

  // Starts loading it. Called when this window has been read and work goes on in scratch: the
  // memory would rest meanwhile, and hardware prefetchers learn a short row only as it ends.
  void fetch() const {
    const char* bytes = static_cast<const char*>(data);
    const std::int64_t num_fetched = std::min(num_bytes, kScanTuning.max_fetch_bytes);
    for (std::int64_t i = 0; i < num_fetched; i += kCacheLineBytes) __builtin_prefetch(bytes + i);
  }
  static constexpr std::int64_t kCacheLineBytes = 64;
};

template <ValueType kType>
class RowScan {
 public:
  using Primitives = ScanPrimitives<kType>;
  using Bits = typename Primitives::Bits;
  using Key = typename Primitives::Key;

  RowScan(const Primitives& primitives, KeyRule<Key> rule)
      : primitives_(primitives),
        rule_(rule),
        sample_(primitives),
        dense_(primitives, rule, kCallerOnly, 1) {}

  static bool is_dense(std::int64_t n, std::int64_t k) {
    return n > kScanTuning.direct_items && k > n / kScanTuning.dense_ratio && k < n;
  }

  // The positions of the k best of `window`, ascending; the scan's until the next call. Requires
  // 0 <= k <= n.
  std::uint32_t* select(const Bits* window, std::int64_t n, std::int64_t k, NextWindow next) {
    if (k == 0 || k == n) {
      std::uint32_t* positions = positions_.reserve(n);
      for (std::int64_t i = 0; i < k; ++i) positions[i] = static_cast<std::uint32_t>(i);
    } else if (n <= kScanTuning.direct_items) {
      primitives_.make_keys(window, n, rule_, keys_.reserve(n + kOverrunItems));
      next.fetch();
      mark_best_keys(n, k);
      primitives_.list_marks(marks_.data(), num_mark_words(n), 0,
                             positions_.reserve(k + kOverrunItems));
    } else if (is_dense(n, k)) {
      dense_.select(window, n, k, positions_.reserve(k));
    } else if (!scan(window, n, k, sample_bound(window, n, k), next)) {
      scan(window, n, k, std::numeric_limits<Key>::min(), next);
    }
    return positions_.data();
  }

  // Cuts a list of ascending positions to the k best of them; the list has kOverrunItems of room
  // behind it. Requires 1 <= k <= num_positions.
  Cut<Key> keep_best(const Bits* window, std::uint32_t* positions, std::int64_t num_positions,
                     std::int64_t k) {
    gather_keys(primitives_, rule_, window, positions, num_positions,
                keys_.reserve(num_positions + kOverrunItems));
    const Cut<Key> cut = mark_best_keys(num_positions, k);
    primitives_.keep_marked(marks_.data(), num_mark_words(num_positions), positions);
    return cut;
  }

 private:
  // A bound that k or more items of the window reach, and not many more, unless the sample
  // misleads: were it random, with a chance of about 1 in 2000.
  Key sample_bound(const Bits* window, std::int64_t n, std::int64_t k) {
    const std::int64_t num_samples = sample_.draw(window, n, rule_);
    const double expected =
        static_cast<double>(k) * static_cast<double>(num_samples) / static_cast<double>(n);
    const auto rank = static_cast<std::int64_t>(std::ceil(expected + 3 * std::sqrt(expected) + 3));
    return find_cut(primitives_, sample_.keys(), num_samples, std::min(rank, num_samples), rank / 8)
        .bound;
  }

  // The sparse pass; false where fewer than k items reach `bound`.
  bool scan(const Bits* window, std::int64_t n, std::int64_t k, Key bound, NextWindow next) {
    constexpr std::int64_t kSegmentItems = kScanTuning.segment_items;
    const std::int64_t capacity = 2 * k + kScanTuning.candidate_slack;
    std::uint32_t* positions = positions_.reserve(capacity + kSegmentItems + kOverrunItems);
    BitRanges<Bits> accepted = bits_at_least<kType>(rule_, bound);
    std::int64_t num_candidates = 0;
    for (std::int64_t first = 0; first < n; first += kSegmentItems) {
      const std::int64_t num_items = std::min(kSegmentItems, n - first);
      std::uint64_t* marks = marks_.reserve(num_mark_words(kSegmentItems));
      primitives_.mark_values(window + first, num_items, accepted, marks);
      num_candidates +=
          primitives_.list_marks(marks, num_mark_words(num_items),
                                 static_cast<std::uint32_t>(first), positions + num_candidates);
      if (num_candidates <= capacity) continue;
      const Cut<Key> cut = keep_best(window, positions, num_candidates, k);
      num_candidates = k;
      // Where the bound is the k-th key itself, its equals come too late.
      accepted = cut.num_at_least > k ? bits_above<kType>(rule_, cut.bound)
                                      : bits_at_least<kType>(rule_, cut.bound);
      if (accepted.num == 0) break;
    }
    next.fetch();
    if (num_candidates > k) keep_best(window, positions, num_candidates, k);
    return num_candidates >= k;
  }

  // Puts marks of the k best of the n keys in keys_ into marks_.
  Cut<Key> mark_best_keys(std::int64_t n, std::int64_t k) {
    const Cut<Key> cut = find_cut(primitives_, keys_.data(), n, k, 0);
    const std::int64_t num_words = num_mark_words(n);
    std::uint64_t* marks = marks_.reserve(2 * num_words);
    mark_best(primitives_, keys_.data(), n, k, cut, marks, marks + num_words);
    return cut;
  }

  const Primitives& primitives_;
  const KeyRule<Key> rule_;
  RowSample<kType> sample_;
  DenseScan<kType> dense_;
  Buffer<std::uint32_t> positions_;
  Buffer<Key> keys_;
  Buffer<std::uint64_t> marks_;
};

}  // namespace deepselect::cpu
