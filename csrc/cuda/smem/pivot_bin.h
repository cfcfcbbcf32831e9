// What one warp finds in a histogram for the rest of its CTA.
#pragma once

#include <cstdint>

namespace deepselect::cuda {

// The bin of the element of a rank.
struct alignas(16) PivotBin {
  std::uint32_t bin;    // the number of bins: beyond them
  std::uint32_t above;  // elements in better bins
  std::uint32_t count;  // elements in the bin
};

}  // namespace deepselect::cuda
