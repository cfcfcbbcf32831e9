// What one warp finds in a histogram for the rest of its CTA.
#pragma once

#include <cstdint>

#include "deepselect/macros.h"

namespace deepselect::cuda {

// Where a bin's counter lies. Of padded bins a word is left out after every kBinGroup, one for each
// bank of shared memory: so those that are a power of two apart, which is how values of few bits or
// in ascending order fall, do not meet in one bank, nor do lanes that read neighbouring bins each.
constexpr std::uint32_t kBinGroup = 32;
template <bool kIsPadded>
DEEPSELECT_HOST_DEVICE constexpr std::uint32_t place_of_bin(std::uint32_t bin) {
  return kIsPadded ? bin + bin / kBinGroup : bin;
}

// The bin of the element of a rank.
struct alignas(16) PivotBin {
  std::uint32_t bin;    // the number of bins: beyond them
  std::uint32_t above;  // elements in better bins
  std::uint32_t count;  // elements in the bin
};

}  // namespace deepselect::cuda
