// The end of a row: order, indices, pads, copies to global memory. Works in the areas of
// UbPlan3510::Epilogue.
#pragma once

#include "ascend/kernels/row_paged_3510/candidate_set.h"
#include "ascend/kernels/row_paged_3510/epilogue.h"
#include "ascend/kernels/row_paged_3510/page_map.h"
#include "deepselect/row_view.h"

namespace deepselect::ascend {

// Where the ordered row lies.
template <class Lane>
struct OrderedRow {
  __ubuf__ std::uint32_t* positions;
  __ubuf__ Lane* values;
};

// Moves value i of `src` to the place that the sort found for it, through indices of its width.
template <class Lane>
__aicore__ inline void permute_values(__ubuf__ Lane* dst, __ubuf__ Lane* src,
                                      __ubuf__ std::uint32_t* source_index,
                                      __ubuf__ std::uint16_t* narrow_index, std::uint32_t count) {
  if constexpr (sizeof(Lane) == 2) {
    DEEPSELECT_VECTOR_CALL(narrow_indices(narrow_index, source_index, count));
    simd::barrier<simd::kPipeV>();
    DEEPSELECT_VECTOR_CALL(gather_items<Lane>(dst, src, narrow_index, count));
  } else {
    DEEPSELECT_VECTOR_CALL(gather_items<Lane>(dst, src, source_index, count));
  }
  simd::barrier<simd::kPipeV>();
}

// Puts the candidates into the order asked for.
template <ValueType kType, class Tuning>
__aicore__ inline OrderedRow<BitsOf<kType>> order_candidates(
    Order order, CandidateSet<kType, Tuning>& candidates) {
  using Lane = BitsOf<kType>;
  using Plan = typename CandidateSet<kType, Tuning>::Plan;
  using Areas = typename Plan::Epilogue;
  using U32 = std::uint32_t;
  const U32 count = candidates.size();
  __ubuf__ U32* positions = simd::ub_at<U32>(Areas::kA);
  if constexpr (sizeof(Lane) == 2) {
    DEEPSELECT_VECTOR_CALL(restore_positions_16(positions, candidates.positions_high(),
                                                candidates.positions_low(), count));
  } else {
    DEEPSELECT_VECTOR_CALL(restore_positions_32(positions, candidates.positions_high(), count));
  }
  simd::barrier<simd::kPipeV>();
  if (order == Order::kAny) return {positions, candidates.values()};

  __ubuf__ U32* sorted = simd::ub_at<U32>(Areas::kB);
  __ubuf__ U32* source_index = simd::ub_at<U32>(Areas::kC);
  __ubuf__ std::uint16_t* narrow_index = simd::ub_at<std::uint16_t>(Areas::kD);
  __ubuf__ std::uint8_t* scratch = simd::ub_at<std::uint8_t>(Areas::kScratch);
  simd::sort_ascending(sorted, source_index, positions, scratch, Areas::kScratchBytes, count);
  simd::barrier<simd::kPipeV>();
  if (order == Order::kIndex) {
    __ubuf__ Lane* values = simd::ub_at<Lane>(Areas::kA);
    permute_values(values, candidates.values(), source_index, narrow_index, count);
    return {sorted, values};
  }

  // By value, equal values by position: a stable sort of the row that is sorted by position.
  __ubuf__ Lane* values_by_position = simd::ub_at<Lane>(Areas::kE);
  permute_values(values_by_position, candidates.values(), source_index, narrow_index, count);
  __ubuf__ Lane* inverted_keys = simd::ub_at<Lane>(Areas::kA);
  DEEPSELECT_VECTOR_CALL(make_keys<kType, true>(
      inverted_keys, values_by_position, candidates.rule().flip, candidates.rule().nan_key, count));
  simd::barrier<simd::kPipeV>();
  simd::sort_ascending(simd::ub_at<Lane>(Areas::kD), source_index, inverted_keys, scratch,
                       Areas::kScratchBytes, count);
  simd::barrier<simd::kPipeV>();
  __ubuf__ U32* final_positions = simd::ub_at<U32>(Areas::kA);
  DEEPSELECT_VECTOR_CALL(gather_items<U32>(final_positions, sorted, source_index, count));
  simd::barrier<simd::kPipeV>();
  __ubuf__ Lane* final_values = simd::ub_at<Lane>(Areas::kB);
  permute_values(final_values, values_by_position, source_index, narrow_index, count);
  return {final_positions, final_values};
}

// Writes one output row. Leaves the flags MTE3 -> V and MTE3 -> MTE2 up: the areas are free.
template <ValueType kType, class Tuning>
__aicore__ inline void write_row(const TopkParams& params, std::int64_t row, const RowView& view,
                                 CandidateSet<kType, Tuning>& candidates) {
  using Lane = BitsOf<kType>;
  using Plan = typename CandidateSet<kType, Tuning>::Plan;
  using Areas = typename Plan::Epilogue;
  using U32 = std::uint32_t;
  const auto k = static_cast<U32>(params.k);
  Lane pad_value = static_cast<Lane>(params.pad_value_bits);
  simd::barrier<simd::kPipeV>();
  if (params.nan_rule == NanRule::kPoison && candidates.size() != 0) {
    __ubuf__ std::uint16_t* num_nans =
        simd::ub_at<std::uint16_t>(Plan::kTables + UbTables::kNumNans);
    DEEPSELECT_VECTOR_CALL(count_nans<kType>(num_nans, candidates.values(), candidates.size()));
    simd::set<simd::kPipeV, simd::kPipeS>(0);
    simd::wait<simd::kPipeV, simd::kPipeS>(0);
    simd::barrier<simd::kPipeV>();  // pads are written in place
    if (simd::load_ub(num_nans) != 0) {
      candidates.resize(0);
      pad_value = ValueTraits<kType>::kQuietNan;
    }
  }
  const U32 count = candidates.size();
  OrderedRow<Lane> ordered{simd::ub_at<U32>(Areas::kA), candidates.values()};
  if (count != 0) ordered = order_candidates(params.order, candidates);

  const std::uint64_t pad_index = static_cast<std::uint64_t>(params.pad_index);
  const std::uint64_t offset = static_cast<std::uint64_t>(view.offset);
  const bool is_wide = params.index_type == IndexType::kInt64;
  __ubuf__ U32* indices = simd::ub_at<U32>(Areas::kScratch);
  __ubuf__ U32* raw_indices = simd::ub_at<U32>(Areas::kC);
  if (view.table != nullptr) {
    map_indices<kType, Tuning>(params, view, indices, raw_indices, ordered.positions, count);
  } else if (is_wide) {
    DEEPSELECT_VECTOR_CALL(offset_indices_64(
        indices, ordered.positions, static_cast<U32>(offset), static_cast<U32>(offset >> 32),
        static_cast<U32>(pad_index), static_cast<U32>(pad_index >> 32), count, k));
  } else {
    DEEPSELECT_VECTOR_CALL(offset_indices_32(indices, ordered.positions, static_cast<U32>(offset),
                                             static_cast<U32>(pad_index), count, k));
  }
  if (params.raw_indices != nullptr) {
    DEEPSELECT_VECTOR_CALL(
        pad_items<U32>(raw_indices, ordered.positions, static_cast<U32>(pad_index), count, k));
  }
  if (params.values != nullptr) {
    DEEPSELECT_VECTOR_CALL(pad_items<Lane>(ordered.values, ordered.values, pad_value, count, k));
  }
  simd::set<simd::kPipeV, simd::kPipeMte3>(0);
  simd::wait<simd::kPipeV, simd::kPipeMte3>(0);

  const int index_bytes = is_wide ? 8 : 4;
  simd::copy_out(simd::as_gm<std::uint8_t>(params.indices) +
                     row * params.indices_row_stride_items * index_bytes,
                 (__ubuf__ std::uint8_t*)indices, k * index_bytes);
  if (params.raw_indices != nullptr) {
    simd::copy_out(simd::as_gm<U32>(params.raw_indices) + row * params.raw_indices_row_stride_items,
                   raw_indices, k * 4);
  }
  if (params.values != nullptr) {
    simd::copy_out(simd::as_gm<Lane>(params.values) + row * params.values_row_stride_items,
                   ordered.values, k * static_cast<U32>(sizeof(Lane)));
  }
  simd::set<simd::kPipeMte3, simd::kPipeV>(0);
  simd::set<simd::kPipeMte3, simd::kPipeMte2>(0);
}

}  // namespace deepselect::ascend
