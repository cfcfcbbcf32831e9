// Entries of a row's page table, one by one.
#pragma once

#include "ascend/simd/kernel_calls.h"
#include "deepselect/row_view.h"

namespace deepselect::ascend {

// pages[i] = the entry of positions[i], read by the scalar unit: for tables with a stride, or far
// larger than what is selected.
__aicore__ inline void load_pages_by_item(const RowView& view, __ubuf__ std::uint32_t* pages,
                                          __ubuf__ std::uint32_t* positions, std::uint32_t count) {
  simd::set<simd::kPipeV, simd::kPipeS>(0);
  simd::wait<simd::kPipeV, simd::kPipeS>(0);
  __gm__ std::int32_t* table = simd::as_gm<std::int32_t>(view.table);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::int64_t page = simd::load_ub(positions + i) >> view.log2_page_size;
    simd::store_ub(pages + i, static_cast<std::uint32_t>(
                                  simd::load_gm(table + page * view.table_stride_items)));
  }
  simd::set<simd::kPipeS, simd::kPipeV>(0);
  simd::wait<simd::kPipeS, simd::kPipeV>(0);
}

}  // namespace deepselect::ascend
