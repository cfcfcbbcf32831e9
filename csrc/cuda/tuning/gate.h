// Tuning of the gate variant.
#pragma once

#include <cstdint>

namespace deepselect::cuda {

// Rows of up to kLanes * kItems elements: each lane holds kItems neighbouring ones.
template <int kLanesValue, int kItemsValue>
struct GatePolicy {
  static constexpr int kLanes = kLanesValue;  // of a warp that share a row
  static constexpr int kItems = kItemsValue;
  static constexpr int kCtaThreads = 128;
  static constexpr int kCtasPerSm = 8;  // leaves 64 registers to a thread
  static constexpr int kCtaRows = kCtaThreads / kLanes;
  static constexpr std::int64_t kMaxCols = kLanes * kItems;
  // A lane keeps no winners, so their number is bounded by shared memory alone; rounds cost time
  // each, and other variants win beyond some dozen.
  static constexpr int kMaxWinners = kMaxCols < 32 ? static_cast<int>(kMaxCols) : 32;

  static constexpr bool is_valid() {
    const bool is_power = (kLanes & (kLanes - 1)) == 0 && (kItems & (kItems - 1)) == 0;
    return is_power && kLanes >= 1 && kLanes <= 32 && kItems >= 2 && kItems <= 16;
  }
};

// Few items sort fast, few lanes meet fast: about as many of either for short rows, while eight
// items make a 16-byte load of 16-bit values.
using Gate4x2 = GatePolicy<4, 2>;
using Gate4x4 = GatePolicy<4, 4>;
using Gate8x4 = GatePolicy<8, 4>;
using Gate8x8 = GatePolicy<8, 8>;
using Gate16x8 = GatePolicy<16, 8>;
using Gate32x8 = GatePolicy<32, 8>;
using Gate32x16 = GatePolicy<32, 16>;

static_assert(Gate4x2::is_valid() && Gate4x4::is_valid() && Gate8x4::is_valid() &&
              Gate8x8::is_valid() && Gate16x8::is_valid() && Gate32x8::is_valid() &&
              Gate32x16::is_valid());

constexpr std::int64_t kGateMaxCols = Gate32x16::kMaxCols;
constexpr std::int64_t kGateMaxWinners = Gate32x16::kMaxWinners;

}  // namespace deepselect::cuda
