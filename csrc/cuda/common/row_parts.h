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

// Where the rows' lengths are on the device alone: the parts for each CTA that is resident at once.
constexpr std::uint32_t kRaggedWaves = 2;

// CTAs for all parts of such rows: shares, and what is left over of each row.
constexpr std::uint32_t ragged_ctas(std::uint32_t num_resident_ctas, std::uint32_t num_rows) {
  return num_resident_ctas * kRaggedWaves + num_rows;
}

// What ragged_part() needs in shared memory.
struct RaggedScratch {
  std::uint32_t warp_totals[2][32];
  RowPart part;
};

}  // namespace deepselect::cuda
