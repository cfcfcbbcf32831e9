// Tuning of the gate variant. Chosen by counting instructions (docs/kernels/gate.md), not searched.
#pragma once

#include <cstdint>

namespace deepselect::cuda {

// Rows of up to kLanes * kItems elements: each lane holds kItems neighbouring ones. A warp takes
// kBatches rows per group of lanes, one after the other, and finishes all of them together; or one,
// where the rows are few and what counts is how soon they are done.
template <int kLanesValue, int kItemsValue, int kBatchesValue>
struct GatePolicy {
  static constexpr int kLanes = kLanesValue;
  static constexpr int kItems = kItemsValue;
  static constexpr int kBatches = kBatchesValue;
  static constexpr int kWarps = 4;
  static constexpr int kCtasPerSm = kItems > 8 ? 4 : 8;  // up to 64 registers a thread, or 128
  static constexpr int kCtaThreads = 32 * kWarps;
  static constexpr int kGroups = 32 / kLanes;
  static constexpr int kWarpRows = kGroups * kBatches;  // at most
  static constexpr int kCtaRows = kWarps * kWarpRows;   // likewise
  // Lanes of a row while weights and outputs are made: most routers want up to 8 experts.
  static constexpr int kOutputLanes = 8;
  static constexpr std::int64_t kMaxCols = kLanes * kItems;
  // A round costs as much as a lane's share of the sort; beyond some dozen other variants win.
  static constexpr int kMaxWinners = kMaxCols < 32 ? static_cast<int>(kMaxCols) : 32;

  static constexpr bool is_valid() {
    const bool is_power = (kLanes & (kLanes - 1)) == 0 && (kItems & (kItems - 1)) == 0;
    return is_power && kLanes >= 2 && kLanes <= 32 && kItems >= 4 && kItems <= 16 &&
           kBatches >= 1 && kBatches <= 4;
  }
};

// Few items sort fast, few lanes meet fast; eight items make a 16-byte load of 16-bit values. As
// many batches as fill the lanes that make outputs, or two, so that one loads while the other
// sorts. Gate4x8 has one, which measured faster: two take 43 KB of shared memory, and five CTAs fit
// a multiprocessor instead of eight.
using Gate2x4 = GatePolicy<2, 4, 1>;
using Gate4x4 = GatePolicy<4, 4, 1>;
using Gate4x8 = GatePolicy<4, 8, 1>;
using Gate8x8 = GatePolicy<8, 8, 2>;
using Gate16x8 = GatePolicy<16, 8, 2>;
using Gate32x8 = GatePolicy<32, 8, 4>;
using Gate32x16 = GatePolicy<32, 16, 2>;
// Where rows are many and items are 32 bits wide: sorting one costs two instructions a comparison,
// so that longer lists in fewer lanes are less work.
using Gate8x16 = GatePolicy<8, 16, 2>;

static_assert(Gate2x4::is_valid() && Gate4x4::is_valid() && Gate4x8::is_valid() &&
              Gate8x8::is_valid() && Gate16x8::is_valid() && Gate32x8::is_valid() &&
              Gate32x16::is_valid() && Gate8x16::is_valid());

// A lane per row, for a router's call with up to kItems experts and kMaxWinners winners: sorted and
// merged in runs of kMaxWinners. Up to kFewWinners have a shorter end of their own.
template <int kItemsValue>
struct GateLanePolicy {
  static constexpr int kLanes = 1;
  static constexpr int kItems = kItemsValue;
  static constexpr int kCtaThreads = 128;
  static constexpr int kCtasPerSm = 6;  // up to 80 registers a thread
  static constexpr int kMaxWinners = 8;
  static constexpr int kFewWinners = 2;
  // Otherwise registers hold the row.
  static constexpr bool kIsStaged = kItems > 16;
};
using GateLane8 = GateLanePolicy<8>;
using GateLane16 = GateLanePolicy<16>;
using GateLane32 = GateLanePolicy<32>;
// Items of 64 bits with more than kFewWinners winners are groups': 65,536 x 64 fp32, k 8, 17.06 us
// by lanes, 16.99 by groups before their comparators were a quarter shorter.
using GateLane64 = GateLanePolicy<64>;
// For items of 32 bits alone: others take twice the work and twice the shared memory.
using GateLane128 = GateLanePolicy<128>;

// Beyond 16 experts a lane has a row for a microsecond or more, while other schedulers may have
// none: lanes serve where at least so many percent of them are busy, in whole waves of one CTA a
// multiprocessor, which is a warp a scheduler. Counted (docs/kernels/gate.md), not searched.
constexpr std::int64_t kGateLaneBusyPercent = 65;
// Beyond 64 experts so many such waves too: at one lanes measured slower, at four faster.
constexpr std::int64_t kGateLongLaneWaves = 2;

// Up to so many rows per multiprocessor are few: a scheduler then has eight warps of one row.
constexpr std::int64_t kGateFewRowsPerSm = 32;

constexpr std::int64_t kGateMaxCols = Gate32x16::kMaxCols;
constexpr std::int64_t kGateMaxWinners = Gate32x16::kMaxWinners;

}  // namespace deepselect::cuda
