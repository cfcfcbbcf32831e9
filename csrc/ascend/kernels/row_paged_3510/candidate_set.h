// The candidates of the row at hand: value bits and inverted positions (greater is better, like
// keys), as halves beside 16-bit values. Appending, and the selection that reduces them to the k
// best and leaves the pivot, the last of those.
#pragma once

#include "ascend/filter_bound.h"
#include "ascend/kernels/row_paged_3510/epilogue.h"
#include "ascend/kernels/row_paged_3510/filter.h"
#include "ascend/kernels/row_paged_3510/select.h"
#include "ascend/ub_plan.h"

namespace deepselect::ascend {

template <ValueType kType, class Tuning>
class CandidateSet {
 public:
  using Lane = BitsOf<kType>;
  using Plan = UbPlan3510<kType, Tuning>;
  static constexpr bool kIs16 = sizeof(Lane) == 2;

  __aicore__ inline explicit CandidateSet(KeyRule<kType> rule) : rule_(rule) {}

  __aicore__ inline std::uint32_t size() const { return size_; }
  __aicore__ inline void resize(std::uint32_t size) { size_ = size; }
  __aicore__ inline const KeyRule<kType>& rule() const { return rule_; }

  __aicore__ inline static __ubuf__ Lane* values() { return simd::ub_at<Lane>(Plan::kValues); }
  // Whole positions where values have 32 bits.
  __aicore__ inline static __ubuf__ Lane* positions_high() {
    return simd::ub_at<Lane>(Plan::kPositions);
  }
  __aicore__ inline static __ubuf__ Lane* positions_low() {
    return simd::ub_at<Lane>(Plan::kPositions + (kIs16 ? Plan::kLaneArrayBytes : 0));
  }

  __aicore__ inline void clear() {
    size_ = 0;
    has_pivot_ = false;
  }

  __aicore__ inline bool is_full(std::uint32_t k) const { return size_ > k + Tuning::kSpareItems; }
  __aicore__ inline void reduce(std::uint32_t k, bool /*is_last*/) {
    if (size_ > k) select(k);
  }

  // The arrays that slices exchange: values, then positions.
  static constexpr int kNumArrays = kIs16 ? 3 : 2;
  __aicore__ inline static std::uint32_t array_lanes(int /*i*/) { return 1; }  // per entry
  __aicore__ inline static __ubuf__ Lane* array(int i) {
    return i == 0 ? values() : (i == 1 ? positions_high() : positions_low());
  }

  // Entries from size() up to `num_entries` that lose to every element: the worst value and, with
  // the inverted position 0, behind every element that has it too.
  __aicore__ inline void pad_to(std::uint32_t num_entries) {
    simd::barrier<simd::kPipeV>();
    for (int i = 0; i < kNumArrays; ++i) {
      DEEPSELECT_VECTOR_CALL(pad_items<Lane>(array(i), array(i), i == 0 ? rule_.worst() : Lane(0),
                                             size_, num_entries));
    }
  }

  // What an element at `first_position` or up to a page later must satisfy to be among the k best
  // of all that was seen; more may satisfy it.
  __aicore__ inline FilterBound<Lane> bound_of_page(std::uint32_t first_position) const {
    if (!has_pivot_) return KeyRule<kType>::accept_all();
    return first_position > pivot_position_ ? rule_.above(pivot_key_) : rule_.at_least(pivot_key_);
  }

  // The elements of a batch at the offsets `hits`; `page_bases` are the inverted positions of its
  // pages, low halves first.
  __aicore__ inline void append(__ubuf__ Lane* hits, __ubuf__ Lane* items,
                                __ubuf__ Lane* page_bases, std::uint32_t num_hits) {
    [[maybe_unused]] constexpr std::uint32_t kStride = UbTables::kFieldBytes / sizeof(Lane);
    constexpr int kLog2PageItems = Tuning::kLog2PageItems;
    simd::barrier<simd::kPipeV>();
    if constexpr (kIs16) {
      DEEPSELECT_VECTOR_CALL(append_hits_16<kLog2PageItems>(
          values() + size_, positions_high() + size_, positions_low() + size_, hits, items,
          page_bases + kStride, page_bases, num_hits));
    } else {
      DEEPSELECT_VECTOR_CALL(append_hits_32<kLog2PageItems>(
          values() + size_, positions_high() + size_, hits, items, page_bases, num_hits));
    }
    size_ += num_hits;
  }

  // Reduces the candidates to their `want` best, 1 <= want < size(), and takes the last of
  // them as pivot.
  __aicore__ inline void select(std::uint32_t want) {
    __ubuf__ Lane* keys = simd::ub_at<Lane>(Plan::kKeys);
    __ubuf__ Lane* words = simd::ub_at<Lane>(Plan::kWords);
    const std::uint32_t count = size_;
    simd::barrier<simd::kPipeV>();
    DEEPSELECT_VECTOR_CALL(
        make_keys<kType, false>(keys, values(), rule_.flip, rule_.nan_key, count));
    const Word key = find(keys, want);
    Lane high = 0;
    Lane low = 0;
    // Where all elements of the pivot's key are kept, later ones of that key stay welcome.
    pivot_position_ = ~std::uint32_t(0);
    std::uint32_t rest = want - key.num_above;
    if (key.num_equal != rest) {
      DEEPSELECT_VECTOR_CALL(tie_words<Lane>(words, keys, key.word, positions_high(), count));
      const Word first = find(words, rest);
      high = first.word;
      if constexpr (kIs16) {
        rest -= first.num_above;
        DEEPSELECT_VECTOR_CALL(tie_words_after_two<Lane>(words, keys, key.word, positions_high(),
                                                         high, positions_low(), count));
        low = find(words, rest).word;
        pivot_position_ = ~(static_cast<std::uint32_t>(high) << 16 | low);
      } else {
        pivot_position_ = ~static_cast<std::uint32_t>(high);
      }
    }
    has_pivot_ = true;
    pivot_key_ = key.word;

    if constexpr (kIs16) {
      DEEPSELECT_VECTOR_CALL(keep_indices_16(words, keys, positions_high(), positions_low(),
                                             key.word, high, low, count));
    } else {
      DEEPSELECT_VECTOR_CALL(keep_indices_32(words, keys, positions_high(), key.word, high, count));
    }
    simd::barrier<simd::kPipeV>();
    DEEPSELECT_VECTOR_CALL(compact<Lane>(values(), positions_high(), positions_low(), words, want));
    size_ = want;
  }

 private:
  struct Word {
    Lane word;
    std::uint32_t num_above;
    std::uint32_t num_equal;
  };

  // The want-th greatest of `words`, brought to the scalar unit. Ends with a round trip between the
  // units: whatever the vector unit did before is done.
  __aicore__ inline Word find(__ubuf__ Lane* words, std::uint32_t want) {
    __ubuf__ std::uint16_t* pivot = simd::ub_at<std::uint16_t>(Plan::kTables + UbTables::kPivot);
    simd::barrier<simd::kPipeV>();
    DEEPSELECT_VECTOR_CALL(find_word(words, size_, static_cast<std::uint16_t>(want), pivot));
    simd::set<simd::kPipeV, simd::kPipeS>(0);
    simd::wait<simd::kPipeV, simd::kPipeS>(0);
    std::uint32_t word = simd::load_ub(pivot + PivotField::kLowWord);
    if constexpr (!kIs16) {
      word |= static_cast<std::uint32_t>(simd::load_ub(pivot + PivotField::kHighWord)) << 16;
    }
    const Word result{static_cast<Lane>(word), simd::load_ub(pivot + PivotField::kNumAbove),
                      simd::load_ub(pivot + PivotField::kNumEqual)};
    simd::set<simd::kPipeS, simd::kPipeV>(0);
    simd::wait<simd::kPipeS, simd::kPipeV>(0);
    return result;
  }

  KeyRule<kType> rule_;
  std::uint32_t size_ = 0;
  bool has_pivot_ = false;
  Lane pivot_key_ = 0;
  std::uint32_t pivot_position_ = 0;
};

}  // namespace deepselect::ascend
