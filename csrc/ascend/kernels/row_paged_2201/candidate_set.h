// The candidates of the row at hand on dav-2201: value bits and inverted positions (greater is
// better, like keys). Appends start at whole blocks, so between them lie entries that lose to every
// element: the worst value at a position behind all others.
//
// Positions are made late. Of the last batches' candidates there are only offsets of 16 bits: five
// bits name a page, whose base is in a table, and the others a place in it. settle() makes
// positions of them all at once, for which each batch alone would need as many instructions.
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

  // Once per core.
  __aicore__ inline static void prepare() { store_base(kGapOffset, kBehindAll); }

  __aicore__ inline void clear() {
    resize(0);
    has_gaps_ = has_pivot_ = false;
  }
  __aicore__ inline void resize(std::uint32_t size) {
    num_items_ = num_entries_ = num_settled_ = size;
    num_pending_ = 0;
  }

  __aicore__ inline static __ubuf__ std::int16_t* pending_offsets() {
    return simd::ub_at<std::int16_t>(Plan::kKeys);
  }
  __aicore__ inline bool has_room_for_batch() const { return num_pending_ < kMaxPending; }
  // What the next batch's offsets begin with: a number of 16 bits.
  __aicore__ inline Int first_offset() const {
    const Int batch = static_cast<Int>(num_pending_) + (num_pending_ < kGapBatch ? 0 : 1);
    const Int first = batch * kBatchOffsets;
    return first < kPastOffsets / 2 ? first : first - kPastOffsets;
  }
  // `inverted`: the position, inverted, of the page whose first offset this is. A position is the
  // base less the offset.
  __aicore__ inline static void store_base(Int first_offset_of_page, Int inverted) {
    const Int page = (first_offset_of_page + kPastOffsets / 2) / Int(Tuning::kPageItems);
    simd::store_ub(bases() + page, inverted + first_offset_of_page);
  }

  // Makes positions of all offsets.
  __aicore__ inline void settle() {
    constexpr std::uint32_t kPartItems = Plan::kCapacity / 2;
    if (num_pending_ == 0) return;
    __ubuf__ Int* wide = simd::ub_at<Int>(Plan::kKeys + 2 * Plan::kCapacity);
    __ubuf__ Int* bases_of_items = scratch();
    simd::set<simd::kPipeS, simd::kPipeV>(0);
    simd::wait<simd::kPipeS, simd::kPipeV>(0);
    for (std::uint32_t first = num_settled_; first < num_entries_; first += kPartItems) {
      const std::uint32_t rest = num_entries_ - first;
      const std::uint32_t part = rest < kPartItems ? rest : kPartItems;
      __ubuf__ Int* target = positions() + first;
      ub::to_float((__ubuf__ float*)wide, pending_offsets() + first, part);
      simd::barrier<simd::kPipeV>();
      ub::to_int32(wide, (__ubuf__ float*)wide, part);
      simd::barrier<simd::kPipeV>();
      ub::shift_right(target, wide, Int(Tuning::kLog2PageItems), part);
      simd::barrier<simd::kPipeV>();
      ub::add_scalar(target, target, Int(Plan::kNumBases / 2), part);
      simd::barrier<simd::kPipeV>();
      ub::shift_left((__ubuf__ std::uint32_t*)target, (__ubuf__ std::uint32_t*)target, 2u,
                     part);  // bytes
      simd::barrier<simd::kPipeV>();
      ub::gather(bases_of_items, bases(), (__ubuf__ std::uint32_t*)target, part);
      simd::barrier<simd::kPipeV>();
      ub::subtract(target, bases_of_items, wide, part);
      simd::barrier<simd::kPipeV>();
    }
    num_settled_ = num_entries_;
    num_pending_ = 0;
  }

  // What an element must satisfy to be among the k best of all that was seen, and some others do;
  // and the same, exactly, for elements at `first_position` or later.
  __aicore__ inline LooseBound<Lane> bound() const { return rule_.loosely_at_least(pivot_key_); }
  __aicore__ inline SignedBound bound_from(Int first_position) const {
    return rule_.at_least(first_position > pivot_position_ ? pivot_key_ + 1 : pivot_key_);
  }

  // Appends `num_hits` elements, which lie packed at values() + entries() already, and their
  // offsets at pending_offsets() + entries().
  __aicore__ inline void take_appended(std::uint32_t num_hits) {
    has_gaps_ = has_gaps_ || num_entries_ != num_items_;
    num_items_ += num_hits;
    const std::uint32_t past = num_entries_ + num_hits;
    num_entries_ = round_up(past, Tuning::kAppendGranule);
    fill_from(values(), past, num_entries_, rule_.worst());
    fill_from(pending_offsets(), past, num_entries_, static_cast<std::int16_t>(kGapOffset));
    ++num_pending_;
  }

  __aicore__ inline bool is_full(std::uint32_t k) const {
    return num_entries_ > k + Tuning::kSlackItems + Tuning::kSpareItems;
  }
  // At the end of a row exactly the k best are left, without gaps; before, a few more may be.
  __aicore__ inline void reduce(std::uint32_t k, bool is_last) {
    settle();
    if (num_items_ > k) {
      select(k, is_last ? 0 : Tuning::kSlackItems);
    } else if (is_last && has_gaps_) {
      select(num_items_);
    }
  }

  // Keeps the `want` best, or up to `slack` more, 1 <= want <= size(), and takes the last of them
  // as pivot.
  __aicore__ inline void select(std::uint32_t want, std::uint32_t slack = 0) {
    settle();
    const std::uint32_t count = round_up(num_entries_, kMarkGranule);
    fill_losers(num_entries_, count);
    if (marks_numbers(count) && select_by(ByValue{*this, count}, want, slack, count)) return;
    make_keys<kType>(keys(), values(), rule_, scratch(), Plan::kKeyTempItems, count);
    select_by(ByWord{keys(), count, kAnyEntry}, want, slack, count);
  }

  __aicore__ inline bool has_nan() {
    const std::uint32_t count = round_up(num_items_, kMarkGranule);
    fill_losers(num_items_, count);
    make_keys<kType>(keys(), values(), rule_, scratch(), Plan::kKeyTempItems, count);
    return ByWord{keys(), count, kAnyEntry}.count_at_least(Rule::kNanKey) != 0;
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

  // Offsets are numbers of 16 bits with a sign. Each batch has as many of them as pages rounded up
  // to a power of two have elements; the batch that the last positive page belongs to is left out,
  // and that page is for entries between appends.
  static constexpr Int kPastOffsets = 1 << 16;
  static constexpr Int kPagesPerBatch = Tuning::kBatchItems / Tuning::kPageItems;
  static constexpr Int kBatchOffsets =
      (kPagesPerBatch > 2 ? 4 : kPagesPerBatch) * Int(Tuning::kPageItems);
  static constexpr Int kGapOffset = kPastOffsets / 2 - Int(Tuning::kPageItems);
  static constexpr std::uint32_t kGapBatch = kPastOffsets / 2 / kBatchOffsets - 1;
  static constexpr std::uint32_t kMaxPending = kPastOffsets / kBatchOffsets - 1;
  static_assert(kPagesPerBatch <= 4 && kPastOffsets / Int(Tuning::kPageItems) == Plan::kNumBases,
                "a base for every page of offsets");
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
    bool is_known;            // otherwise a word had to be tried that could not be
  };

  __aicore__ inline static __ubuf__ Int* keys() { return simd::ub_at<Int>(Plan::kKeys); }
  // By pages, from the least offset on.
  __aicore__ inline static __ubuf__ Int* bases() { return simd::ub_at<Int>(Plan::kBases); }
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

  // How many of the first `count` entries mask(0) marks, brought to the scalar unit. What is packed
  // does not matter; 16-bit items take half the time of words.
  __aicore__ inline static std::uint32_t count_marked(std::uint32_t count) {
    ub::compress((__ubuf__ std::uint16_t*)scratch(), (__ubuf__ std::uint16_t*)values(), mask(0),
                 count);
    const std::uint32_t num_marked = ub::read_kept();
    simd::barrier<simd::kPipeV>();
    return num_marked;
  }

  // What a search asks of keys or positions: words that order the entries.
  struct ByWord {
    __ubuf__ Int* words;
    std::uint32_t count;
    bool ties_only;

    __aicore__ inline Int word(std::uint32_t i) const { return simd::load_ub(words + i); }
    __aicore__ inline static bool can_compare(Int) { return true; }
    __aicore__ inline std::uint32_t count_at_least(Int least) const {
      mark(mask(0), least);
      if (ties_only) mark_both(mask(0), mask(1), count);
      return count_marked(count);
    }
    __aicore__ inline void mark(MaskBits marks, Int least) const {
      mark_at_least(marks, words, least, half(), count);
    }
    // Complete at the next round trip.
    __aicore__ inline void mark_equal(MaskBits marks, Int word) const {
      ub::equal_scalar(marks, words, word, count);
    }
  };

  // The same of keys, without making them: values are compared as they lie there, as numbers of the
  // same width. All elements are numbers in that reading, which mask(2) marks.
  struct ByValue {
    const CandidateSet& set;
    std::uint32_t count;

    __aicore__ inline Int word(std::uint32_t i) const {
      return set.rule_.key(simd::load_ub(values() + i));
    }
    __aicore__ inline static bool can_compare(Int least) { return Rule::compares_exactly(least); }
    __aicore__ inline std::uint32_t count_at_least(Int least) const {
      mark_loosely(mask(0), values(), set.rule_.loosely_at_least(least), count);
      const std::uint32_t num_gaps = set.rule_.worst_is_number() ? 0 : count - set.num_items_;
      return count_marked(count) - num_gaps;
    }
    __aicore__ inline void mark(MaskBits marks, Int least) const {
      mark_loosely(marks, values(), set.rule_.loosely_at_least(least), count);
      mark_both(marks, mask(2), count);
    }
    __aicore__ inline void mark_equal(MaskBits marks, Int key) const {
      mark_loosely(marks, values(), set.rule_.loosely_at_least(key), count);
      mark_worse(mask(0), values(), set.rule_.loosely_at_least(key + 1), count);
      mark_both(marks, mask(0), count);
    }
  };

  // Whether every element is a number as values are read where they lie; mask(2) marks those then,
  // complete at the next round trip.
  __aicore__ inline bool marks_numbers(std::uint32_t count) {
    const Int greatest = Rule::kGreatestNumber;  // one that is not seen to be a number
    mark_worse(mask(0), values(), rule_.loosely_at_least(greatest), count);
    const std::uint32_t num_numbers = count_marked(count);
    if (num_numbers != (rule_.worst_is_number() ? count : num_items_)) return false;
    ub::bit_or(words_of(mask(2)), words_of(mask(0)), words_of(mask(0)), count / kMaskWordBits);
    return true;
  }

  // select(), by keys in one form or another; false where that form cannot tell.
  template <class Keys>
  __aicore__ inline bool select_by(const Keys& by, std::uint32_t want, std::uint32_t slack,
                                   std::uint32_t count) {
    const Int lowest = has_pivot_ ? pivot_key_ : -Rule::kNanKey;
    const Cut by_key = find(by, count, {lowest, Rule::kNanKey + 1}, num_items_, want, slack);
    if (!by_key.is_known) return false;
    std::uint32_t num_kept = by_key.num_at_least;
    // Where all elements of the pivot's key are kept, later ones of that key stay welcome.
    Int pivot_position = kLastPosition;
    if (num_kept <= want + slack) {
      by.mark(mask(0), by_key.least);
    } else {
      if (!by.can_compare(by_key.least + 1)) return false;
      by.mark_equal(mask(1), by_key.least);
      const ByWord ties{positions(), count, kTiesOnly};
      const Cut by_position =
          find(ties, count, {~kLastPosition, 0}, by_key.num_at_least - by_key.num_above,
               want - by_key.num_above, slack);
      num_kept = by_key.num_above + by_position.num_at_least;
      pivot_position = ~by_position.least;
      by.mark(mask(0), by_key.least + 1);
      ties.mark(mask(2), by_position.least);
      mark_both(mask(1), mask(2), count);
      mark_either(mask(0), mask(1), count);
    }
    compact(values(), num_kept, count);
    compact(positions(), num_kept, count);
    num_items_ = num_kept;
    num_entries_ = num_settled_ = round_up(num_kept, Tuning::kAppendGranule);
    fill_losers(num_kept, num_entries_);
    has_gaps_ = false;
    has_pivot_ = true;
    pivot_key_ = by_key.least;
    pivot_position_ = pivot_position;
    return true;
  }

  // Narrows `range` down to a word that `want` to want + slack entries reach; to one word where
  // there is none; `total` entries reach its low end. Tries words of a sample first, by their rank
  // in it, then whether so many words equal one of them, then halves. Starts with a round trip
  // between the units: whatever the vector unit did before is done.
  template <class Words>
  __aicore__ inline static Cut find(const Words& by, std::uint32_t count, Range range,
                                    std::uint32_t total, std::uint32_t want, std::uint32_t slack) {
    constexpr std::uint32_t kSampleItems = 16;
    Int sample[kSampleItems];
    simd::set<simd::kPipeV, simd::kPipeS>(0);
    simd::wait<simd::kPipeV, simd::kPipeS>(0);
    for (std::uint32_t i = 0; i < kSampleItems; ++i) {
      const Int word = by.word(i * (count / kSampleItems));
      std::uint32_t place = i;
      for (; place != 0 && sample[place - 1] < word; --place) sample[place] = sample[place - 1];
      sample[place] = word;
    }
    simd::set<simd::kPipeS, simd::kPipeV>(0);
    simd::wait<simd::kPipeS, simd::kPipeV>(0);

    Cut cut{range.low, 0, 0, true};
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
      cut.is_known = by.can_compare(static_cast<Int>(probe));
      if (!cut.is_known) return cut;
      const std::uint32_t num_marked = by.count_at_least(static_cast<Int>(probe));
      if (num_marked >= want) {
        low = probe;
        cut.num_at_least = num_marked;
      } else {
        past = probe;
        cut.num_above = num_marked;
      }
    }
    cut.least = static_cast<Int>(low);
    cut.is_known = by.can_compare(cut.least);
    if (cut.is_known && cut.num_at_least == 0) cut.num_at_least = by.count_at_least(cut.least);
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
  std::uint32_t num_settled_ = 0;  // entries with positions
  std::uint32_t num_pending_ = 0;  // batches of the others
  bool has_gaps_ = false;
  bool has_pivot_ = false;
  Int pivot_key_ = 0;
  Int pivot_position_ = 0;
};

}  // namespace deepselect::ascend::dav2201
