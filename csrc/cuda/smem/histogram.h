// The bins of a radix search and what find_pivot_bin() leaves behind.
#pragma once

#include <cstdint>

#include "cuda/common/radix_cursor.h"

namespace deepselect::cuda {

struct alignas(16) Histogram {
  // A bin with more elements is not worth ordering by comparing each with each.
  static constexpr std::uint32_t kCrowdedBin = 128;

  std::uint32_t bins[RadixCursor::kNumBins];  // bin 0 is the best
  std::uint32_t warp_totals[32];
  std::uint32_t pivot_bin;
  std::uint32_t pivot_above;  // counted in better bins
  std::uint32_t pivot_count;
  std::uint32_t
      is_crowded;  // a bin better than the pivot's is crowded; as of the last clear_bins()
};

}  // namespace deepselect::cuda
