// The order of a finished row on dav-2201: sorts of float scores with 32-bit payloads. Scores are
// positive integers read as the bits of floats, which orders them alike; they start at the smallest
// normal number and no two are equal, so nothing depends on how ties or subnormals are treated.
#pragma once

#include "ascend/kernels/row_paged_2201/candidate_set.h"

namespace deepselect::ascend::dav2201 {

// Where the ordered row lies; positions are inverted.
template <class Lane>
struct Row {
  __ubuf__ Lane* values;
  __ubuf__ std::int32_t* positions;
};

template <ValueType kType, class Tuning>
class RowOrder {
 public:
  using Lane = BitsOf<kType>;
  using Set = CandidateSet<kType, Tuning>;
  using Plan = typename Set::Plan;
  using Areas = typename Plan::Epilogue;
  using Rule = typename Set::Rule;
  using Int = std::int32_t;
  using U32 = std::uint32_t;

  __aicore__ inline RowOrder(const Rule& rule, U32 count)
      : rule_(rule),
        count_(count),
        row_{Set::values(), Set::positions()},
        other_{Set::values() + Plan::kMaxK, Set::positions() + Plan::kMaxK} {}

  __aicore__ inline Row<Lane> by_position() {
    // Inverted positions are -2^21 and above.
    ub::add_scalar(scores(), row_.positions, kFirstScore + (1 << 21), count_);
    simd::barrier<simd::kPipeV>();
    sort();
    return row_;
  }

  // Equal values by position: by one digit of 16 bits after the other, from a row that is sorted by
  // position.
  __aicore__ inline Row<Lane> by_value() {
    by_position();
    if constexpr (sizeof(Lane) == 2) {
      load_keys();
      ub::add_scalar(scores(), keys(), Rule::kNanKey, count_);
      sort_by_digit();
    } else {
      load_keys();
      ub::shift_left((__ubuf__ U32*)scores(), (__ubuf__ U32*)keys(), U32(16), count_);
      simd::barrier<simd::kPipeV>();
      ub::shift_right((__ubuf__ U32*)scores(), (__ubuf__ U32*)scores(), U32(16), count_);
      sort_by_digit();
      load_keys();
      ub::shift_right(scores(), keys(), Int(16), count_);
      simd::barrier<simd::kPipeV>();
      ub::add_scalar(scores(), scores(), 1 << 15, count_);
      sort_by_digit();
    }
    return row_;
  }

 private:
  static constexpr Int kPadScore = 0x00800000;  // the smallest normal float
  static constexpr Int kFirstScore = kPadScore + 1;
  static constexpr Int kRankBits = 12;
  static_assert(Plan::kMaxK <= 1u << kRankBits, "a rank fits beside a digit");

  __aicore__ inline static __ubuf__ Int* keys() { return simd::ub_at<Int>(Areas::kRecords); }
  // Scores, and behind them payloads, lie where the first merge writes to.
  __aicore__ inline static __ubuf__ Int* scores() { return simd::ub_at<Int>(Areas::kOtherRecords); }

  __aicore__ inline void load_keys() {
    make_keys<kType>(keys(), row_.values, rule_, simd::ub_at<Int>(Areas::kTemps), Plan::kTempItems,
                     count_);
  }

  // scores() holds digits: makes them unique by rank, earlier entries first, and sorts.
  __aicore__ inline void sort_by_digit() {
    __ubuf__ Int* ranks = keys();  // which have been used
    simd::barrier<simd::kPipeV>();
    ub::shift_left(scores(), scores(), kRankBits, count_);
    ub::count_up(ranks, 0, count_);
    simd::barrier<simd::kPipeV>();
    ub::multiply_scalar(ranks, ranks, -1, count_);
    simd::barrier<simd::kPipeV>();
    ub::add_scalar(ranks, ranks, kFirstScore + (1 << kRankBits) - 1, count_);
    simd::barrier<simd::kPipeV>();
    ub::add(scores(), scores(), ranks, count_);
    simd::barrier<simd::kPipeV>();
    sort();
  }

  // Sorts the row by descending scores().
  __aicore__ inline void sort() {
    constexpr U32 kGroupItems = 32;
    U32 padded = kGroupItems;
    while (padded < count_) padded *= 2;
    __ubuf__ Int* payloads = scores() + padded;
    fill_from(scores(), count_, padded, kPadScore);
    ub::count_up(payloads, 0, padded);
    simd::barrier<simd::kPipeV>();
    __ubuf__ std::uint8_t* records = simd::ub_at<std::uint8_t>(Areas::kRecords);
    __ubuf__ std::uint8_t* free = simd::ub_at<std::uint8_t>(Areas::kOtherRecords);
    ub::sort_groups(records, (__ubuf__ float*)scores(), (__ubuf__ U32*)payloads,
                    padded / kGroupItems);
    simd::barrier<simd::kPipeV>();
    for (U32 run = kGroupItems; run < padded;) {
      const U32 num_runs = padded / run;
      const U32 merged = num_runs >= 4 ? 4 : 2;
      ub::merge_runs(free, records, run, merged, num_runs / merged);
      simd::barrier<simd::kPipeV>();
      run *= merged;
      __ubuf__ std::uint8_t* const swapped = free;
      free = records;
      records = swapped;
    }
    __ubuf__ U32* source = (__ubuf__ U32*)free;
    ub::pick_odd(source, (__ubuf__ U32*)records, 2 * padded);
    simd::barrier<simd::kPipeV>();

    // Indices to byte offsets, of values and then of positions.
    if constexpr (sizeof(Lane) == 2) {
      ub::shift_left(source, source, U32(1), count_);
      simd::barrier<simd::kPipeV>();
      ub::gather(other_.values, row_.values, source, count_);
      simd::barrier<simd::kPipeV>();
      ub::shift_left(source, source, U32(1), count_);
      simd::barrier<simd::kPipeV>();
    } else {
      ub::shift_left(source, source, U32(2), count_);
      simd::barrier<simd::kPipeV>();
      ub::gather(other_.values, row_.values, source, count_);
    }
    ub::gather(other_.positions, row_.positions, source, count_);
    simd::barrier<simd::kPipeV>();
    const Row<Lane> ordered = other_;
    other_ = row_;
    row_ = ordered;
  }

  const Rule& rule_;
  U32 count_;
  Row<Lane> row_;
  Row<Lane> other_;
};

}  // namespace deepselect::ascend::dav2201
