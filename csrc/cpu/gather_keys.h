// The keys of listed positions.
#pragma once

#include <cstdint>

#include "cpu/scan_primitives.h"

namespace deepselect::cpu {

// keys[i] = key of window[positions[i]]; kOverrunItems of room behind the last. The values are
// gathered into the keys' own memory, which one integer type and its unsigned twin may share.
template <ValueType kType>
void gather_keys(const ScanPrimitives<kType>& primitives,
                 KeyRule<typename ScanPrimitives<kType>::Key> rule,
                 const typename ScanPrimitives<kType>::Bits* window, const std::uint32_t* positions,
                 std::int64_t n, typename ScanPrimitives<kType>::Key* keys) {
  auto* values = reinterpret_cast<typename ScanPrimitives<kType>::Bits*>(keys);
  for (std::int64_t i = 0; i < n; ++i) values[i] = window[positions[i]];
  primitives.make_keys(values, n, rule, keys);
}

}  // namespace deepselect::cpu
