// What one row of a call selects from and how its positions become indices:
// the window [begin, end) after clamping, and the map to output indices.
// Reads the per-row tensors of TopkParams, so it runs where they live.
#pragma once

#include <cstdint>

#include "deepselect/contract.h"
#include "deepselect/macros.h"

namespace deepselect {

DEEPSELECT_HOST_DEVICE inline std::int64_t row_value(const RowVector& vector, std::int64_t row,
                                                     std::int64_t absent) {
  if (vector.data == nullptr) return absent;
  const std::int64_t item = row * vector.stride_items;
  return vector.type == IndexType::kInt64
             ? static_cast<const std::int64_t*>(vector.data)[item]
             : static_cast<std::int64_t>(static_cast<const std::int32_t*>(vector.data)[item]);
}

struct RowView {
  std::int64_t begin;  // window in positions of the row, 0 <= begin <= end <= num_cols
  std::int64_t end;

  // Index map: the window's first element is at `table[0]` of a page table, or at index `offset`.
  const std::int32_t* table;
  std::int64_t table_stride_items;
  std::int64_t offset;
  std::int32_t log2_page_size;

  DEEPSELECT_HOST_DEVICE std::int64_t size() const { return end - begin; }

  // The index to return for the element `relative` places after `begin`. 64-bit two's complement;
  // the caller converts to the index type.
  DEEPSELECT_HOST_DEVICE std::int64_t index_of(std::int64_t relative) const {
    if (table == nullptr) {
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(relative) +
                                       static_cast<std::uint64_t>(offset));
    }
    const std::int64_t page = table[(relative >> log2_page_size) * table_stride_items];
    const std::int64_t in_page = relative & ((std::int64_t{1} << log2_page_size) - 1);
    return page * (std::int64_t{1} << log2_page_size) + in_page;
  }
};

// Whether row_view() reads memory.
DEEPSELECT_HOST_DEVICE inline bool reads_row_tensors(const TopkParams& params) {
  return params.begin.data != nullptr || params.end.data != nullptr ||
         params.index_offset.data != nullptr || params.page_table != nullptr;
}

DEEPSELECT_HOST_DEVICE inline std::int64_t clamp_to(std::int64_t x, std::int64_t low,
                                                    std::int64_t high) {
  return x < low ? low : (x > high ? high : x);
}

DEEPSELECT_HOST_DEVICE inline RowView row_view(const TopkParams& params, std::int64_t row) {
  RowView view{};
  view.begin = clamp_to(row_value(params.begin, row, 0), 0, params.num_cols);
  view.end = clamp_to(row_value(params.end, row, params.num_cols), view.begin, params.num_cols);
  view.log2_page_size = params.log2_page_size;
  if (params.page_table == nullptr) {
    view.offset = row_value(params.index_offset, row, 0);
    return view;
  }
  const std::int64_t table_row = row_value(params.page_table_row, row, row);
  const std::int64_t first_page = row_value(params.page_table_begin, row, 0);
  if (table_row < 0 || table_row >= params.num_tables || first_page < 0 ||
      first_page > params.num_table_pages) {
    view.end = view.begin;
    return view;
  }
  // At most 2^31 pages of 2^30 items: no overflow.
  const std::int64_t covered = (params.num_table_pages - first_page) << params.log2_page_size;
  view.end = clamp_to(view.end, view.begin, view.begin + covered);
  view.table = params.page_table + table_row * params.page_table_row_stride_items +
               first_page * params.page_table_col_stride_items;
  view.table_stride_items = params.page_table_col_stride_items;
  return view;
}

}  // namespace deepselect
