// A row's window and index map, read by the scalar unit.
#pragma once

#include "ascend/simd/kernel_calls.h"
#include "deepselect/row_view.h"

namespace deepselect::ascend {

// One value of a per-row vector in global memory.
__aicore__ inline std::int64_t load_row_value(const RowVector& vector, std::int64_t row) {
  const std::int64_t item = row * vector.stride_items;
  if (vector.type == IndexType::kInt64) {
    return simd::load_gm(simd::as_gm<std::int64_t>(vector.data) + item);
  }
  return simd::load_gm(simd::as_gm<std::int32_t>(vector.data) + item);
}

// row_view() on a device where per-row vectors lie in another address space than its pointers: it
// gets them with this row's value on the stack, in every place.
__aicore__ inline RowView load_row_view(const TopkParams& params, std::int64_t row) {
  TopkParams local = params;
  RowVector* const vectors[] = {&local.begin, &local.end, &local.index_offset,
                                &local.page_table_row, &local.page_table_begin};
  std::int64_t values[5];
  for (int i = 0; i < 5; ++i) {
    if (vectors[i]->data == nullptr) continue;
    values[i] = load_row_value(*vectors[i], row);
    *vectors[i] = {&values[i], 0, IndexType::kInt64, {}};
  }
  return row_view(local, row);
}

}  // namespace deepselect::ascend
