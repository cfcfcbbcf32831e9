// The output side of one row: indices through the row's map, exact value bits
// by gather, pads after the valid entries.
#pragma once

#include <cstdint>

#include "deepselect/contract.h"
#include "deepselect/order_key.h"
#include "deepselect/row_view.h"

namespace deepselect::cpu {

// Where the entries of one output row go. Absent outputs are null.
struct RowOutput {
  void* values;
  void* indices;
  std::int32_t* raw_indices;
};

inline void* advance_bytes(void* base, std::int64_t bytes) {
  return base == nullptr ? nullptr : static_cast<char*>(base) + bytes;
}

inline RowOutput row_output(const TopkParams& params, std::int64_t row) {
  const std::int64_t index_bytes = params.index_type == IndexType::kInt64 ? 8 : 4;
  RowOutput out{};
  out.values = advance_bytes(params.values,
                             row * params.values_row_stride_items * value_bytes(params.value_type));
  out.indices = advance_bytes(params.indices, row * params.indices_row_stride_items * index_bytes);
  if (params.raw_indices != nullptr) {
    out.raw_indices = params.raw_indices + row * params.raw_indices_row_stride_items;
  }
  return out;
}

template <typename Index>
void write_indices(const TopkParams& params, const RowView& view, const std::uint32_t* relative,
                   std::int64_t num_selected, Index* indices) {
  for (std::int64_t i = 0; i < num_selected; ++i) {
    indices[i] = static_cast<Index>(view.index_of(relative[i]));
  }
  const Index pad = static_cast<Index>(params.pad_index);
  for (std::int64_t i = num_selected; i < params.k; ++i) indices[i] = pad;
}

// Writes one row: `relative[0, num_selected)` are positions relative to the window's begin in
// output order; the rest of the k places are pads, their value `pad_bits`.
template <typename Bits>
void write_row(const TopkParams& params, const RowView& view, const Bits* window,
               const std::uint32_t* relative, std::int64_t num_selected, Bits pad_bits,
               const RowOutput& out) {
  if (params.index_type == IndexType::kInt64) {
    write_indices(params, view, relative, num_selected, static_cast<std::int64_t*>(out.indices));
  } else {
    write_indices(params, view, relative, num_selected, static_cast<std::int32_t*>(out.indices));
  }
  if (out.raw_indices != nullptr) {
    for (std::int64_t i = 0; i < num_selected; ++i) {
      out.raw_indices[i] = static_cast<std::int32_t>(relative[i]);
    }
    for (std::int64_t i = num_selected; i < params.k; ++i) {
      out.raw_indices[i] = static_cast<std::int32_t>(params.pad_index);
    }
  }
  if (out.values != nullptr) {
    Bits* values = static_cast<Bits*>(out.values);
    for (std::int64_t i = 0; i < num_selected; ++i) values[i] = window[relative[i]];
    for (std::int64_t i = num_selected; i < params.k; ++i) values[i] = pad_bits;
  }
}

}  // namespace deepselect::cpu
