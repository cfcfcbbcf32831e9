// Indices through a page table: the entries that selected positions need.
#pragma once

#include "ascend/kernels/row_paged/table_entries.h"
#include "ascend/kernels/row_paged_3510/candidate_set.h"
#include "ascend/kernels/row_paged_3510/epilogue.h"

namespace deepselect::ascend {

// Copies the row's part of the table in chunks over the candidates' positions, which have been
// restored by now, and picks each item's entry from its chunk. Requires consecutive entries.
template <ValueType kType, class Tuning>
__aicore__ inline void load_pages_by_chunk(const RowView& view, __ubuf__ std::uint32_t* pages,
                                           __ubuf__ std::uint32_t* positions, std::uint32_t count) {
  using U32 = std::uint32_t;
  using Plan = UbPlan3510<kType, Tuning>;
  constexpr int kFlag = Tuning::kNumStages;
  constexpr U32 kChunkPages = Plan::kCapacity;
  __ubuf__ U32* chunk = simd::ub_at<U32>(Plan::kPositions);
  __gm__ std::int32_t* table = simd::as_gm<std::int32_t>(view.table);
  const U32 num_pages = static_cast<U32>((view.size() - 1) >> view.log2_page_size) + 1;
  for (U32 first = 0; first < num_pages; first += kChunkPages) {
    const U32 chunk_pages = num_pages - first < kChunkPages ? num_pages - first : kChunkPages;
    simd::set<simd::kPipeV, simd::kPipeMte2>(kFlag);
    simd::wait<simd::kPipeV, simd::kPipeMte2>(kFlag);
    simd::copy_in((__ubuf__ std::int32_t*)chunk, table + first, chunk_pages * 4);
    simd::set<simd::kPipeMte2, simd::kPipeV>(kFlag);
    simd::wait<simd::kPipeMte2, simd::kPipeV>(kFlag);
    DEEPSELECT_VECTOR_CALL(gather_pages(pages, positions, chunk, first, chunk_pages,
                                        static_cast<std::int16_t>(view.log2_page_size), count));
  }
}

// `indices`: k items of index_type. `pages`: room for k entries.
template <ValueType kType, class Tuning>
__aicore__ inline void map_indices(const TopkParams& params, const RowView& view,
                                   __ubuf__ std::uint32_t* indices, __ubuf__ std::uint32_t* pages,
                                   __ubuf__ std::uint32_t* positions, std::uint32_t count) {
  const auto k = static_cast<std::uint32_t>(params.k);
  const auto log2 = static_cast<std::int16_t>(view.log2_page_size);
  if (count != 0) {
    const std::int64_t num_pages = ((view.size() - 1) >> view.log2_page_size) + 1;
    const bool is_small =
        num_pages <= Tuning::kMaxTableChunks * UbPlan3510<kType, Tuning>::kCapacity;
    if (view.table_stride_items == 1 && is_small) {
      load_pages_by_chunk<kType, Tuning>(view, pages, positions, count);
    } else {
      load_pages_by_item(view, pages, positions, count);
    }
  }
  const auto pad = static_cast<std::uint64_t>(params.pad_index);
  simd::barrier<simd::kPipeV>();
  if (params.index_type == IndexType::kInt64) {
    DEEPSELECT_VECTOR_CALL(page_indices_64(
        indices, pages, positions, log2, log2 == 0 ? std::int16_t(31) : std::int16_t(32 - log2),
        static_cast<std::uint32_t>(pad), static_cast<std::uint32_t>(pad >> 32), count, k));
  } else {
    DEEPSELECT_VECTOR_CALL(page_indices_32(indices, pages, positions, log2,
                                           static_cast<std::uint32_t>(pad), count, k));
  }
  simd::barrier<simd::kPipeV>();
}

}  // namespace deepselect::ascend
