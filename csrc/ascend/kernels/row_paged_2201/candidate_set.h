// The candidates of the row at hand on dav-2201: value bits and inverted positions (greater is
// better, like keys). Appends start at whole blocks, so between them lie entries that lose to every
// element: the worst value at a position behind all others.
#pragma once

#include "ascend/kernels/row_paged_2201/keys.h"

namespace deepselect::ascend::dav2201 {

template <ValueType kType, class Tuning>
class CandidateSet {
 public:
  using Lane = BitsOf<kType>;
  using Plan = UbPlan2201<kType, Tuning>;
  using Rule = SignedKeyRule<kType>;
  using Int = std::int32_t;

  __aicore__ inline explicit CandidateSet(Rule rule) : rule_(rule) {}

  __aicore__ inline const Rule& rule() const { return rule_; }
  // Elements; entries() counts what lies between them too.
  __aicore__ inline std::uint32_t size() const { return num_items_; }
  __aicore__ inline std::uint32_t entries() const { return num_entries_; }
  __aicore__ inline bool has_pivot() const { return has_pivot_; }

  __aicore__ inline static __ubuf__ Lane* values() { return simd::ub_at<Lane>(Plan::kValues); }
  __aicore__ inline static __ubuf__ Int* positions() { return simd::ub_at<Int>(Plan::kPositions); }
  __aicore__ inline static MaskBits mask(std::uint32_t i) {
    return simd::ub_at<std::uint8_t>(Plan::kMasks + i * Plan::kMaskBytes);
  }

  __aicore__ inline void clear() {
    num_items_ = num_entries_ = 0;
    has_gaps_ = has_pivot_ = false;
  }
  __aicore__ inline void resize(std::uint32_t size) { num_items_ = num_entries_ = size; }

  // What an element must satisfy to be among the k best of all that was seen, and some others do;
  // and the same, exactly, for elements at `first_position` or later.
  __aicore__ inline LooseBound<Lane> bound() const { return rule_.loosely_at_least(pivot_key_); }
  __aicore__ inline SignedBound bound_from(Int first_position) const {
    return rule_.at_least(first_position > pivot_position_ ? pivot_key_ + 1 : pivot_key_);
  }

  // Appends `num_hits` elements, which lie packed at values() + entries() already, and their
  // inverted positions likewise.
  __aicore__ inline void take_appended(std::uint32_t num_hits) {
    has_gaps_ = has_gaps_ || num_entries_ != num_items_;
    num_items_ += num_hits;
    const std::uint32_t past = num_entries_ + num_hits;
    num_entries_ = round_up(past, Tuning::kAppendGranule);
    fill_losers(past, num_entries_);
  }

  __aicore__ inline bool is_full(std::uint32_t k) const {
    return num_entries_ > k + Tuning::kSlackItems + Tuning::kSpareItems;
  }
  // At the end of a row exactly the k best are left, without gaps; before, a few more may be.
  __aicore__ inline void reduce(std::uint32_t k, bool is_last) {
    if (num_items_ > k) {
      select(k, is_last ? 0 : Tuning::kSlackItems);
    } else if (is_last && has_gaps_) {
      select(num_items_);
    }
  }

  // Keeps the `want` best, or up to `slack` more, 1 <= want <= size(), and takes the last of them
  // as pivot.
  __aicore__ inline void select(std::uint32_t want, std::uint32_t slack = 0) {
    const std::uint32_t count = round_up(num_entries_, kMarkGranule);
    fill_losers(num_entries_, count);
    make_keys<kType>(keys(), values(), rule_, scratch(), Plan::kKeyTempItems, count);

    const Int lowest = has_pivot_ ? pivot_key_ : -Rule::kNanKey;
    const Cut by_key =
        find(keys(), count, {lowest, Rule::kNanKey + 1}, num_items_, want, slack, kAnyEntry);
    std::uint32_t num_kept = by_key.num_at_least;
    // Where all elements of the pivot's key are kept, later ones of that key stay welcome.
    Int pivot_position = kLastPosition;
    if (num_kept <= want + slack) {
      mark_at_least(mask(0), keys(), by_key.least, half(), count);
    } else {
      ub::equal_scalar(mask(1), keys(), by_key.least, count);
      const Cut by_position =
          find(positions(), count, {~kLastPosition, 0}, by_key.num_at_least - by_key.num_above,
               want - by_key.num_above, slack, kTiesOnly);
      num_kept = by_key.num_above + by_position.num_at_least;
      pivot_position = ~by_position.least;
      mark_at_least(mask(2), positions(), by_position.least, half(), count);
      mark_both(mask(1), mask(2), count);
      mark_at_least(mask(0), keys(), by_key.least + 1, half(), count);
      mark_either(mask(0), mask(1), count);
    }
    compact(values(), num_kept, count);
    compact(positions(), num_kept, count);
    num_items_ = num_kept;
    num_entries_ = round_up(num_kept, Tuning::kAppendGranule);
    fill_losers(num_kept, num_entries_);
    has_gaps_ = false;
    has_pivot_ = true;
    pivot_key_ = by_key.least;
    pivot_position_ = pivot_position;
  }

  __aicore__ inline bool has_nan() {
    const std::uint32_t count = round_up(num_items_, kMarkGranule);
    fill_losers(num_items_, count);
    make_keys<kType>(keys(), values(), rule_, scratch(), Plan::kKeyTempItems, count);
    return count_at_least(keys(), Rule::kNanKey, count, kAnyEntry) != 0;
  }

  // The arrays that slices exchange: values, then positions.
  static constexpr int kNumArrays = 2;
  __aicore__ inline static std::uint32_t array_lanes(int i) {  // per entry
    return i == 0 ? 1 : sizeof(Int) / sizeof(Lane);
  }
  __aicore__ inline static __ubuf__ Lane* array(int i) {
    return i == 0 ? values() : (__ubuf__ Lane*)positions();
  }
  __aicore__ inline void pad_to(std::uint32_t num_entries) { fill_losers(num_items_, num_entries); }

 private:
  static constexpr Int kLastPosition = (1 << 21) - 1;  // kAscendLimits
  static constexpr Int kBehindAll = static_cast<Int>(~std::uint32_t{0} << 31);
  static constexpr bool kAnyEntry = false;
  static constexpr bool kTiesOnly = true;  // those that mask(1) marks

  struct Range {
    Int low;   // at least as many as wanted are as great
    Int past;  // none is
  };
  struct Cut {
    Int least;
    std::uint32_t num_at_least;
    std::uint32_t num_above;  // greater ones, where num_at_least is more than was wanted
  };

  __aicore__ inline static __ubuf__ Int* keys() { return simd::ub_at<Int>(Plan::kKeys); }
  __aicore__ inline static __ubuf__ Int* scratch() { return simd::ub_at<Int>(Plan::kScratch); }
  // Pieces whose masks are whole blocks.
  __aicore__ inline static Scratch half() {
    constexpr std::uint32_t kBlockBits = 8 * kUbAlignment;
    return {scratch(), Plan::kScratchBytes / sizeof(Int) / kBlockBits * kBlockBits};
  }

  __aicore__ inline void fill_losers(std::uint32_t first, std::uint32_t past) {
    fill_from(values(), first, past, rule_.worst());
    fill_from(positions(), first, past, kBehindAll);
  }

  // How many of `words` are at least `least`, brought to the scalar unit.
  __aicore__ inline std::uint32_t count_at_least(__ubuf__ Int* words, Int least,
                                                 std::uint32_t count, bool ties_only) {
    mark_at_least(mask(0), words, least, half(), count);
    if (ties_only) mark_both(mask(0), mask(1), count);
    // What is packed does not matter; 16-bit items take half the time of words.
    ub::compress((__ubuf__ std::uint16_t*)scratch(), (__ubuf__ std::uint16_t*)words, mask(0),
                 count);
    const std::uint32_t num_marked = ub::read_kept();
    simd::barrier<simd::kPipeV>();
    return num_marked;
  }

  // Narrows `range` down to a word that `want` to want + slack of `words` reach; to one word where
  // there is none; `total` words reach its low end. Tries words of a sample first, by their rank in
  // it, then whether so many words equal one of them, then halves. Starts with a round trip between
  // the units: whatever the vector unit did before is done.
  __aicore__ inline Cut find(__ubuf__ Int* words, std::uint32_t count, Range range,
                             std::uint32_t total, std::uint32_t want, std::uint32_t slack,
                             bool ties_only) {
    constexpr std::uint32_t kSampleItems = 16;
    Int sample[kSampleItems];
    simd::set<simd::kPipeV, simd::kPipeS>(0);
    simd::wait<simd::kPipeV, simd::kPipeS>(0);
    for (std::uint32_t i = 0; i < kSampleItems; ++i) {
      const Int word = simd::load_ub(words + i * (count / kSampleItems));
      std::uint32_t place = i;
      for (; place != 0 && sample[place - 1] < word; --place) sample[place] = sample[place - 1];
      sample[place] = word;
    }
    simd::set<simd::kPipeS, simd::kPipeV>(0);
    simd::wait<simd::kPipeS, simd::kPipeV>(0);

    Cut cut{range.low, 0, 0};
    std::uint32_t first = 0;  // of the sampled words, greatest first, that lie between
    std::uint32_t last = kSampleItems;
    bool may_be_tie = true;
    std::int64_t low = range.low;
    std::int64_t past = range.past;
    while (past - low > 1 && (cut.num_at_least == 0 || cut.num_at_least > want + slack)) {
      while (first < last && sample[first] >= past) ++first;
      while (first < last && sample[last - 1] <= low) --last;
      std::int64_t probe = low + (past - low) / 2;
      if (first < last) {
        const std::uint32_t most = cut.num_at_least == 0 ? total : cut.num_at_least;
        const std::uint32_t wanted = want + slack / 2 - cut.num_above;
        const std::uint32_t rank = (last - first) * wanted / (most - cut.num_above);
        probe = sample[first + rank < last ? first + rank : last - 1];
      } else if (may_be_tie) {
        probe = low + 1;
        may_be_tie = false;
      }
      const std::uint32_t num_marked =
          count_at_least(words, static_cast<Int>(probe), count, ties_only);
      if (num_marked >= want) {
        low = probe;
        cut.num_at_least = num_marked;
      } else {
        past = probe;
        cut.num_above = num_marked;
      }
    }
    cut.least = static_cast<Int>(low);
    if (cut.num_at_least == 0) {
      cut.num_at_least = count_at_least(words, cut.least, count, ties_only);
    }
    return cut;
  }

  // Moves the entries that mask(0) marks to the front.
  template <class Item>
  __aicore__ inline void compact(__ubuf__ Item* items, std::uint32_t num_kept,
                                 std::uint32_t count) {
    __ubuf__ Item* packed = (__ubuf__ Item*)scratch();
    ub::compress(packed, items, mask(0), count);
    simd::barrier<simd::kPipeV>();
    constexpr std::uint32_t kWords = sizeof(Item) / sizeof(std::uint16_t);
    __ubuf__ std::uint16_t* words = (__ubuf__ std::uint16_t*)packed;
    ub::bit_or((__ubuf__ std::uint16_t*)items, words, words, num_kept * kWords);
    simd::barrier<simd::kPipeV>();
  }

  Rule rule_;
  std::uint32_t num_items_ = 0;
  std::uint32_t num_entries_ = 0;
  bool has_gaps_ = false;
  bool has_pivot_ = false;
  Int pivot_key_ = 0;
  Int pivot_position_ = 0;
};

}  // namespace deepselect::ascend::dav2201
