// Tuning of the row_registers variant.
#pragma once

#include <cstdint>

namespace deepselect::cuda {

// A row's team is a CTA, or, for the shortest rows, one warp of a CTA of four: a multiprocessor
// holds 32 CTAs at most.
template <int kThreadsValue, int kVectorsValue>
struct RowRegistersPolicy {
  static constexpr int kThreads = kThreadsValue;  // of a team
  static constexpr int kVectors = kVectorsValue;  // 16-byte vectors of the row per thread
  static constexpr int kTeams = kThreads == 32 ? 4 : 1;
  // 40 warps on a multiprocessor leave 48 registers to a thread; rows of one warp need some more,
  // since what is the same for a row is not the same for its CTA.
  static constexpr int kCtasPerSm =
      kTeams > 1 ? 8 : (kThreads * kVectors <= 1024 && kVectors == 4 ? 1280 / kThreads : 1);

  // The bins of a round, and how many octaves below the row's best value the first round spans:
  // as many as keep the step at one bfloat16. Of standard normal values, the best eighth lies
  // within two octaves, the best three eighths within four.
  static constexpr int kLog2Bins = kThreads == 32 ? 9 : 10;
  static constexpr int kBins = 1 << kLog2Bins;
  static constexpr int kLog2FirstOctaves = kLog2Bins - 7;

  static constexpr std::int64_t kMaxSlots = std::int64_t{kThreads} * kVectors;
  static constexpr bool is_valid() {
    return kThreads % 32 == 0 && kThreads * kTeams <= 1024 &&
           (kVectors == 1 || kVectors == 2 || kVectors == 4) && kBins % 256 == 0;
  }
};

// Few threads with much each, so that many rows are under way at once.
using RowRegisters32x1 = RowRegistersPolicy<32, 1>;
using RowRegisters32x4 = RowRegistersPolicy<32, 4>;
using RowRegisters64x4 = RowRegistersPolicy<64, 4>;
using RowRegisters128x4 = RowRegistersPolicy<128, 4>;
using RowRegisters256x4 = RowRegistersPolicy<256, 4>;
using RowRegisters512x4 = RowRegistersPolicy<512, 4>;
// Many threads with little each, so that one row is done soon.
using RowRegisters256x1 = RowRegistersPolicy<256, 1>;
using RowRegisters512x1 = RowRegistersPolicy<512, 1>;
using RowRegisters1024x1 = RowRegistersPolicy<1024, 1>;
using RowRegisters1024x2 = RowRegistersPolicy<1024, 2>;

static_assert(RowRegisters32x1::is_valid() && RowRegisters32x4::is_valid() &&
              RowRegisters64x4::is_valid() && RowRegisters128x4::is_valid() &&
              RowRegisters256x4::is_valid() && RowRegisters512x4::is_valid() &&
              RowRegisters256x1::is_valid() && RowRegisters512x1::is_valid() &&
              RowRegisters1024x1::is_valid() && RowRegisters1024x2::is_valid());

// Calls with at most this many rows per multiprocessor are after latency, others after throughput.
constexpr std::int64_t kRowRegistersLatencyRowsPerSm = 2;

}  // namespace deepselect::cuda
