// What a launch of row_paged is given, and how a row is cut into slices. Shared with the host.
#pragma once

#include <cstdint>

#include "deepselect/contract.h"
#include "deepselect/macros.h"

namespace deepselect::ascend {

struct RowPagedArgs {
  TopkParams params;
  // Where slices leave their results, if there is more than one per row: per slice the values, then
  // the inverted positions, of k entries rounded up to kSliceGranule.
  void* workspace;
  std::uint32_t num_slices;  // per row
};

constexpr std::uint32_t kSliceGranule = 16;

constexpr std::uint32_t slice_entries(std::int64_t k) {
  return static_cast<std::uint32_t>((k + kSliceGranule - 1) / kSliceGranule * kSliceGranule);
}

constexpr std::uint64_t slice_bytes(std::int64_t k, int item_bytes) {
  return std::uint64_t{slice_entries(k)} * static_cast<std::uint64_t>(item_bytes + 4);
}

// Elements of the window that one slice scans: whole pages but for the window's end.
struct SliceRange {
  std::int64_t first;
  std::int64_t num_items;
};

DEEPSELECT_HOST_DEVICE inline SliceRange slice_range(std::int64_t window_items, std::int64_t slice,
                                                     std::int64_t num_slices,
                                                     std::int64_t page_items) {
  const std::int64_t num_pages = (window_items + page_items - 1) / page_items;
  const std::int64_t pages_per_slice = (num_pages + num_slices - 1) / num_slices;
  const std::int64_t share = pages_per_slice * page_items;
  const std::int64_t first = slice * share;
  if (first >= window_items) return {0, 0};
  return {first, window_items - first < share ? window_items - first : share};
}

}  // namespace deepselect::ascend
