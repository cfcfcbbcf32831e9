// The output side of one row: indices through the row's map, exact value bits by gather, pads after
// the selected entries.
#pragma once

#include <algorithm>
#include <cstdint>

#include "deepselect/contract.h"
#include "deepselect/row_view.h"

namespace deepselect::cpu {

template <typename Bits>
class RowOutput {
 public:
  // `positions[0, num_selected)` are relative to the window's begin, in output order.
  RowOutput(const TopkParams& params, std::int64_t row, const RowView& view, const Bits* window,
            const std::uint32_t* positions, std::int64_t num_selected, Bits pad_bits)
      : params_(params),
        row_(row),
        view_(view),
        window_(window),
        positions_(positions),
        num_selected_(num_selected),
        pad_bits_(pad_bits) {}

  // Writes the entries [begin, end) of the row's k.
  void write(std::int64_t begin, std::int64_t end) const {
    if (params_.index_type == IndexType::kInt64) {
      write_indices(static_cast<std::int64_t*>(params_.indices), begin, end);
    } else {
      write_indices(static_cast<std::int32_t*>(params_.indices), begin, end);
    }
    if (params_.raw_indices != nullptr) {
      std::int32_t* raw = params_.raw_indices + row_ * params_.raw_indices_row_stride_items;
      fill(raw, begin, end, static_cast<std::int32_t>(params_.pad_index),
           [](std::uint32_t position) { return static_cast<std::int32_t>(position); });
    }
    if (params_.values != nullptr) {
      Bits* values = static_cast<Bits*>(params_.values) + row_ * params_.values_row_stride_items;
      fill(values, begin, end, pad_bits_,
           [this](std::uint32_t position) { return window_[position]; });
    }
  }

 private:
  template <typename Index>
  void write_indices(Index* indices, std::int64_t begin, std::int64_t end) const {
    indices += row_ * params_.indices_row_stride_items;
    const auto pad = static_cast<Index>(params_.pad_index);
    if (view_.table == nullptr) {
      fill(indices, begin, end, pad, [offset = view_.offset](std::uint32_t position) {
        return static_cast<Index>(static_cast<std::uint64_t>(offset) + position);
      });
    } else {
      fill(indices, begin, end, pad,
           [this](std::uint32_t position) { return static_cast<Index>(view_.index_of(position)); });
    }
  }

  template <typename Item, typename Function>
  void fill(Item* items, std::int64_t begin, std::int64_t end, Item pad,
            const Function& item_at) const {
    const std::int64_t selected_end = std::clamp(num_selected_, begin, end);
    for (std::int64_t i = begin; i < selected_end; ++i) items[i] = item_at(positions_[i]);
    std::fill(items + selected_end, items + end, pad);
  }

  const TopkParams& params_;
  const std::int64_t row_;
  const RowView& view_;
  const Bits* window_;
  const std::uint32_t* positions_;
  const std::int64_t num_selected_;
  const Bits pad_bits_;
};

}  // namespace deepselect::cpu
