// Tuning of the row_registers variant.
#pragma once

#include <cstdint>

namespace deepselect::cuda {

// A row's team is a CTA, or, for the shortest rows, a warp or part of one in a CTA of several: a
// multiprocessor holds 32 CTAs at most.
template <int kThreadsValue, int kVectorsValue, int kCtasPerSmValue>
struct RowRegistersPolicy {
  static constexpr int kThreads = kThreadsValue;      // of a team
  static constexpr int kVectors = kVectorsValue;      // 16-byte vectors of the row per thread
  static constexpr int kCtasPerSm = kCtasPerSmValue;  // that the registers have to suffice for
  static constexpr int kTeams = kThreads <= 32 ? 128 / kThreads : 1;

  // The bins of a round, and how many octaves below the row's best value the first round spans:
  // as many as keep the step at one bfloat16. Of standard normal values, the best eighth lies
  // within two octaves, the best three eighths within four.
  static constexpr int kLog2Bins = kThreads <= 32 ? 9 : 10;
  static constexpr int kBins = 1 << kLog2Bins;
  static constexpr int kLog2FirstOctaves = kLog2Bins - 7;

  static constexpr std::int64_t kMaxSlots = std::int64_t{kThreads} * kVectors;
  static constexpr bool is_valid() {
    return kThreads >= 8 && (32 % kThreads == 0 || kThreads % 32 == 0) &&
           kThreads * kTeams <= 1024 && kThreads * kTeams * kCtasPerSm <= 2048 &&
           (kVectors & (kVectors - 1)) == 0 && kVectors <= 8 && kBins % 256 == 0;
  }
};

// Few threads with much each, so that many rows are under way at once.
using RowRegisters8x4 = RowRegistersPolicy<8, 4, 6>;
using RowRegisters32x4 = RowRegistersPolicy<32, 4, 8>;
using RowRegisters64x4 = RowRegistersPolicy<64, 4, 20>;
using RowRegisters128x4 = RowRegistersPolicy<128, 4, 10>;
using RowRegisters256x4 = RowRegistersPolicy<256, 4, 5>;
using RowRegisters512x4 = RowRegistersPolicy<512, 4, 2>;
// Many threads with little each, so that one row is done soon; where there are two rows for a
// multiprocessor, both at once.
using RowRegisters32x1 = RowRegistersPolicy<32, 1, 1>;
using RowRegisters128x1 = RowRegistersPolicy<128, 1, 2>;
using RowRegisters256x1 = RowRegistersPolicy<256, 1, 2>;
using RowRegisters512x1 = RowRegistersPolicy<512, 1, 2>;
using RowRegisters512x2 = RowRegistersPolicy<512, 2, 2>;
using RowRegisters1024x2 = RowRegistersPolicy<1024, 2, 1>;
using RowRegisters1024x4 = RowRegistersPolicy<1024, 4, 1>;
// Items of 32 bits alone: a thread has a mask bit for 32 items.
using RowRegisters512x8 = RowRegistersPolicy<512, 8, 2>;

// The slots that the largest policy takes.
constexpr std::int64_t kRowRegistersMaxSlots = RowRegisters1024x4::kMaxSlots;

template <class... Policies>
constexpr bool are_valid() {
  return (Policies::is_valid() && ...);
}
static_assert(are_valid<RowRegisters8x4, RowRegisters32x4, RowRegisters64x4, RowRegisters128x4,
                        RowRegisters256x4, RowRegisters512x4, RowRegisters32x1, RowRegisters128x1,
                        RowRegisters256x1, RowRegisters512x1, RowRegisters512x2,
                        RowRegisters1024x2, RowRegisters1024x4, RowRegisters512x8>());

// Calls with at most this many rows per multiprocessor are after latency, others after throughput.
constexpr std::int64_t kRowRegistersLatencyRowsPerSm = 2;

}  // namespace deepselect::cuda
