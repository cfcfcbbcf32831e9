// The end of a row on dav-2201: order, indices, pads, copies to global memory. Works in the areas
// of UbPlan2201::Epilogue. Indices whose arithmetic could overflow int32 are left to the scalar
// unit.
#pragma once

#include "ascend/kernels/row_paged/table_entries.h"
#include "ascend/kernels/row_paged_2201/order.h"

namespace deepselect::ascend::dav2201 {

template <ValueType kType, class Tuning>
class RowWriter {
 public:
  using Lane = BitsOf<kType>;
  using Set = CandidateSet<kType, Tuning>;
  using Plan = typename Set::Plan;
  using Areas = typename Plan::Epilogue;
  using Int = std::int32_t;
  using U32 = std::uint32_t;

  __aicore__ inline RowWriter(const TopkParams& params, const RowView& view)
      : params_(params),
        view_(view),
        k_(static_cast<U32>(params.k)),
        is_wide_(params.index_type == IndexType::kInt64) {}

  // Leaves the flags MTE3 -> V and MTE3 -> MTE2 up: the areas are free.
  __aicore__ inline void write(std::int64_t row, Set& candidates) {
    Lane pad_value = static_cast<Lane>(params_.pad_value_bits);
    if (params_.nan_rule == NanRule::kPoison && candidates.size() != 0 && candidates.has_nan()) {
      candidates.resize(0);
      pad_value = ValueTraits<kType>::kQuietNan;
    }
    count_ = candidates.size();
    Row<Lane> ordered{Set::values(), Set::positions()};
    if (count_ != 0) {
      RowOrder<kType, Tuning> order(candidates.rule(), count_);
      if (params_.order == Order::kIndex) ordered = order.by_position();
      if (params_.order == Order::kValue) ordered = order.by_value();
      restore(ordered.positions);
      make_indices(ordered.positions);
    }
    const auto pad = static_cast<std::uint64_t>(params_.pad_index);
    if (is_wide_) {
      fill_from(low_words(), count_, k_, static_cast<U32>(pad));
      fill_from(high_words(), count_, k_, static_cast<U32>(pad >> 32));
      interleave();
    } else {
      fill_from(indices(), count_, k_, static_cast<U32>(pad));
    }
    fill_from(ordered.positions, count_, k_, static_cast<Int>(pad));
    fill_from(ordered.values, count_, k_, pad_value);
    simd::set<simd::kPipeV, simd::kPipeMte3>(0);
    simd::wait<simd::kPipeV, simd::kPipeMte3>(0);
    copy_out(row, ordered);
    simd::set<simd::kPipeMte3, simd::kPipeV>(0);
    simd::set<simd::kPipeMte3, simd::kPipeMte2>(0);
  }

 private:
  __aicore__ inline static __ubuf__ U32* indices() { return simd::ub_at<U32>(Areas::kRecords); }
  // Of 64-bit indices.
  __aicore__ inline static __ubuf__ U32* low_words() {
    return simd::ub_at<U32>(Areas::kOtherRecords);
  }
  __aicore__ inline static __ubuf__ U32* high_words() { return low_words() + Plan::kMaxK; }
  __aicore__ inline static __ubuf__ Int* temp(U32 i) {
    return simd::ub_at<Int>(Areas::kTemps) + i * Plan::kTempItems;
  }

  // Positions from their complements: -1 - x.
  __aicore__ inline void restore(__ubuf__ Int* positions) {
    ub::multiply_scalar(positions, positions, -1, count_);
    simd::barrier<simd::kPipeV>();
    ub::add_scalar(positions, positions, -1, count_);
    simd::barrier<simd::kPipeV>();
  }

  __aicore__ inline void make_indices(__ubuf__ Int* positions) {
    if (view_.table != nullptr) return map_by_table(positions);
    const auto low = static_cast<Int>(view_.offset);
    const std::int64_t last = std::int64_t{low} + view_.size() - 1;
    const bool overflows = last != static_cast<Int>(last);
    const bool carries = low < 0 && last >= 0;
    if (overflows || (is_wide_ && carries)) return offset_by_item(positions);
    ub::add_scalar((__ubuf__ Int*)(is_wide_ ? low_words() : indices()), positions, low, count_);
    if (is_wide_) ub::fill(high_words(), static_cast<U32>(view_.offset >> 32), count_);
    simd::barrier<simd::kPipeV>();
  }

  __aicore__ inline void offset_by_item(__ubuf__ Int* positions) {
    simd::set<simd::kPipeV, simd::kPipeS>(0);
    simd::wait<simd::kPipeV, simd::kPipeS>(0);
    for (U32 i = 0; i < count_; ++i) {
      const auto index = static_cast<std::uint64_t>(simd::load_ub(positions + i)) +
                         static_cast<std::uint64_t>(view_.offset);
      simd::store_ub((is_wide_ ? low_words() : indices()) + i, static_cast<U32>(index));
      if (is_wide_) simd::store_ub(high_words() + i, static_cast<U32>(index >> 32));
    }
    simd::set<simd::kPipeS, simd::kPipeV>(0);
    simd::wait<simd::kPipeS, simd::kPipeV>(0);
  }

  // index = entry << log2_page_size | position within the page; entries are signed.
  __aicore__ inline void map_by_table(__ubuf__ Int* positions) {
    using Words = __ubuf__ std::uint16_t*;
    __ubuf__ U32* entries = simd::ub_at<U32>(Areas::kEntries);
    load_entries(entries, (__ubuf__ U32*)positions);
    const auto log2 = static_cast<U32>(view_.log2_page_size);
    __ubuf__ U32* low = is_wide_ ? low_words() : indices();
    ub::shift_left(low, entries, log2, count_);
    // Of a page of size 1 the high word is the sign.
    if (is_wide_) {
      ub::shift_right((__ubuf__ Int*)high_words(), (__ubuf__ Int*)entries,
                      static_cast<Int>(log2 == 0 ? 31 : 32 - log2), count_);
    }
    simd::barrier<simd::kPipeV>();
    if (log2 == 0) return;
    for (U32 first = 0; first < count_; first += Plan::kTempItems) {
      const U32 part = count_ - first < Plan::kTempItems ? count_ - first : Plan::kTempItems;
      __ubuf__ U32* in_page = (__ubuf__ U32*)temp(0);
      ub::shift_left(in_page, (__ubuf__ U32*)positions + first, 32 - log2, part);
      simd::barrier<simd::kPipeV>();
      ub::shift_right(in_page, in_page, 32 - log2, part);
      simd::barrier<simd::kPipeV>();
      ub::bit_or((Words)(low + first), (Words)(low + first), (Words)in_page, 2 * part);
      simd::barrier<simd::kPipeV>();
    }
  }

  __aicore__ inline void load_entries(__ubuf__ U32* entries, __ubuf__ U32* positions) {
    constexpr int kFlag = Tuning::kNumStages;
    const std::int64_t num_entries = ((view_.size() - 1) >> view_.log2_page_size) + 1;
    if (view_.table_stride_items != 1 || num_entries > Areas::kMaxTableEntries) {
      return load_pages_by_item(view_, entries, positions, count_);
    }
    __ubuf__ U32* table = simd::ub_at<U32>(Areas::kRecords);
    simd::set<simd::kPipeV, simd::kPipeMte2>(kFlag);
    simd::wait<simd::kPipeV, simd::kPipeMte2>(kFlag);
    simd::copy_in(table, simd::as_gm<U32>(view_.table), static_cast<U32>(num_entries) * 4);
    simd::set<simd::kPipeMte2, simd::kPipeV>(kFlag);
    simd::wait<simd::kPipeMte2, simd::kPipeV>(kFlag);
    for (U32 first = 0; first < count_; first += Plan::kTempItems) {
      const U32 part = count_ - first < Plan::kTempItems ? count_ - first : Plan::kTempItems;
      __ubuf__ U32* page = (__ubuf__ U32*)temp(0);
      ub::shift_right(page, positions + first, static_cast<U32>(view_.log2_page_size), part);
      simd::barrier<simd::kPipeV>();
      ub::shift_left(page, page, U32(2), part);
      simd::barrier<simd::kPipeV>();
      ub::gather(entries + first, table, page, part);
      simd::barrier<simd::kPipeV>();
    }
  }

  // Low and high words to 64-bit indices, for the copy out.
  __aicore__ inline void interleave() {
    constexpr U32 kPartItems = Plan::kTempItems / 2;
    constexpr Int kHighBytes = 4 * Plan::kMaxK;
    __ubuf__ U32* offsets = (__ubuf__ U32*)temp(0);
    __ubuf__ U32* is_high = (__ubuf__ U32*)temp(1);
    // Word 2i comes from low_words() + i, word 2i + 1 from high_words() + i.
    ub::count_up((__ubuf__ Int*)offsets, 0, 2 * kPartItems);
    simd::barrier<simd::kPipeV>();
    ub::shift_left(is_high, offsets, U32(31), 2 * kPartItems);
    simd::barrier<simd::kPipeV>();
    ub::shift_right(is_high, is_high, U32(31), 2 * kPartItems);
    ub::shift_right(offsets, offsets, U32(1), 2 * kPartItems);
    simd::barrier<simd::kPipeV>();
    ub::multiply_scalar((__ubuf__ Int*)is_high, (__ubuf__ Int*)is_high, kHighBytes, 2 * kPartItems);
    ub::shift_left(offsets, offsets, U32(2), 2 * kPartItems);
    simd::barrier<simd::kPipeV>();
    ub::add((__ubuf__ Int*)offsets, (__ubuf__ Int*)offsets, (__ubuf__ Int*)is_high, 2 * kPartItems);
    simd::barrier<simd::kPipeV>();
    for (U32 first = 0; first < k_; first += kPartItems) {
      const U32 part = k_ - first < kPartItems ? k_ - first : kPartItems;
      ub::gather(indices() + 2 * first, low_words() + first, offsets, 2 * part);
    }
  }

  __aicore__ inline void copy_out(std::int64_t row, const Row<Lane>& ordered) {
    const U32 index_bytes = is_wide_ ? 8 : 4;
    simd::copy_out(simd::as_gm<std::uint8_t>(params_.indices) +
                       row * params_.indices_row_stride_items * index_bytes,
                   (__ubuf__ std::uint8_t*)indices(), k_ * index_bytes);
    if (params_.raw_indices != nullptr) {
      simd::copy_out(
          simd::as_gm<Int>(params_.raw_indices) + row * params_.raw_indices_row_stride_items,
          ordered.positions, k_ * 4);
    }
    if (params_.values != nullptr) {
      simd::copy_out(simd::as_gm<Lane>(params_.values) + row * params_.values_row_stride_items,
                     ordered.values, k_ * static_cast<U32>(sizeof(Lane)));
    }
  }

  const TopkParams& params_;
  const RowView& view_;
  U32 k_;
  bool is_wide_;
  U32 count_ = 0;
};

}  // namespace deepselect::ascend::dav2201
