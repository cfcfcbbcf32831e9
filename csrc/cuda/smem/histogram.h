// The bins of a radix search and what find_pivot_bin() leaves behind.
#pragma once

#include <cstdint>

#include "cuda/common/radix_cursor.h"

namespace deepselect::cuda {

struct alignas(16) Histogram {
  std::uint32_t bins[RadixCursor::kNumBins];  // bin 0 is the best
  std::uint32_t warp_totals[32];
  std::uint32_t pivot_bin;
  std::uint32_t pivot_above;  // counted in better bins
  std::uint32_t pivot_count;
};

}  // namespace deepselect::cuda
