// Shared memory of the split_radix kernels.
#pragma once

#include <cstdint>

#include "cuda/smem/histogram.h"

namespace deepselect::cuda {

struct alignas(16) SplitRadixSmem {
  Histogram histogram;
  std::uint32_t totals[2][32];
  std::uint32_t above_before;
  std::uint32_t equal_before;
  std::uint32_t is_last;
};

}  // namespace deepselect::cuda
