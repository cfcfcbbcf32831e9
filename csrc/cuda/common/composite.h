// Key and position as one integer (composite_key), taken apart again.
#pragma once

#include <cstdint>

#include "deepselect/macros.h"
#include "deepselect/order_key.h"

namespace deepselect::cuda {

using Composite = std::uint64_t;

// Below every composite of a row: a position is below 2^31, so its complement is never zero.
constexpr Composite kNoComposite = 0;

DEEPSELECT_HOST_DEVICE constexpr std::uint32_t key_of(Composite composite) {
  return static_cast<std::uint32_t>(composite >> 32);
}

// composite_key(key, position + distance), where many have one position in common.
DEEPSELECT_HOST_DEVICE constexpr Composite composite_at(std::uint32_t key, std::uint32_t position,
                                                        std::uint32_t distance) {
  return (Composite{key} << 32) | static_cast<std::uint32_t>(~position - distance);
}

// The position relative to the window's begin.
DEEPSELECT_HOST_DEVICE constexpr std::uint32_t position_of(Composite composite) {
  return ~static_cast<std::uint32_t>(composite);
}

// Halves exchanged: descending order of the result is ascending order of positions. Its own
// inverse.
DEEPSELECT_HOST_DEVICE constexpr Composite swap_halves(Composite composite) {
  return (composite << 32) | (composite >> 32);
}

}  // namespace deepselect::cuda
