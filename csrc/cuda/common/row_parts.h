// A row divided among CTAs.
#pragma once

#include <cstdint>

namespace deepselect::cuda {

// One CTA's part of a row: of its tiles every `num_parts`-th, from the `index`-th on. No parts: the
// CTA has nothing to do.
struct RowPart {
  std::uint32_t row;
  std::uint32_t index;
  std::uint32_t num_parts;
};

// What ragged_part() needs in shared memory.
template <std::uint32_t kMaxRows>
struct RaggedScratch {
  std::uint32_t row_units[kMaxRows];
  std::uint32_t warp_totals[2][32];
  std::uint32_t candidate_parts[32];
  RowPart part;
};

}  // namespace deepselect::cuda
