// Tuning of the row_registers variant.
#pragma once

#include <cstdint>

#include "deepselect/macros.h"

namespace deepselect::cuda {

// A row's team is a CTA, or, for the shortest rows, a warp or part of one in a CTA of several: a
// multiprocessor holds 32 CTAs at most.
template <int kThreadsValue, int kVectorsValue, int kCtasPerSmValue, bool kIsStagedValue = false>
struct RowRegistersPolicy {
  static constexpr int kThreads = kThreadsValue;      // of a team
  static constexpr int kVectors = kVectorsValue;      // 16-byte vectors of the row per thread
  static constexpr int kCtasPerSm = kCtasPerSmValue;  // that the registers have to suffice for
  // Whether rows of plain calls come through shared memory, as one copy per warp: neighbouring
  // vectors of a thread are far from those of the next where there are many.
  static constexpr bool kIsStaged = kIsStagedValue;
  static constexpr int kTeams = kThreads <= 32 ? 128 / kThreads : 1;
  static constexpr int kRegisters =
      65536 / (kThreads * kTeams * kCtasPerSm);  // of a thread, at most

  // The bins of a round, and how many octaves below the row's best value the first round spans:
  // as many as keep the step at one bfloat16. Of standard normal values, the best eighth lies
  // within two octaves, the best three eighths within four, seven sixteenths within eight.
  static constexpr int kLog2Bins = kThreads <= 32 ? 9 : 10;
  static constexpr int kBins = 1 << kLog2Bins;
  static constexpr int kLog2FirstOctaves = kLog2Bins - 7;
  // Whether bins are padded (smem/pivot_bin.h). 16 distinct values: 65,536 x 1024 bf16, k 64, 116
  // to 64 us, normal data level. With more threads a row normal data pays for it: 65,536 x 4096, k
  // 512, 250 to 270, 4096 x 16 K 80 to 86, 256 x 4096 3.27 to 3.47.
  static constexpr bool kPadsBins = kThreads <= 64 || kVectors == 1;
  // Whether that first round should do.
  DEEPSELECT_HOST_DEVICE static constexpr bool expects_near(std::uint32_t num_wanted,
                                                            std::uint32_t num_items) {
    return 16 * num_wanted < (kLog2FirstOctaves == 3 ? 7 : 6) * num_items;
  }
  // Its bins then, 128 an octave: as few as hold the pivot of normal values whatever the row's best
  // is, at up to 6.1, 6.1 and 7.2 standard deviations. What lies beyond shares one bin, and that
  // costs less the more it is: 4096 x 16 K bf16, k 512, 80 to 73 us, 65,536 x 8192 496 to 450. With
  // 256 bins for an eighth as well a row in many took a second round: 1024 x 4096, k 512, 7.0 to
  // 8.0.
  DEEPSELECT_HOST_DEVICE static constexpr std::uint32_t near_bins(std::uint32_t num_wanted,
                                                                  std::uint32_t num_items) {
    if (16 * num_wanted <= num_items) return 256;
    if (8 * num_wanted <= num_items) return 320;
    return 4 * num_wanted <= num_items ? 448 : kBins;
  }
  // Otherwise the first round spans kDeepOctaves on either side of zero, from that of the best
  // value on, and what is nearer to zero counts as one value: an eighth or a sixteenth of an octave
  // a bin. Steps half as fine end without ranking more often, but their additions meet in banks.
  static constexpr int kLog2DeepOctaves = 6;
  static constexpr std::uint32_t kDeepOctaves = 12;
  // Where that is not enough, the second round spans as many from the best of the rest on: two
  // rounds then do for negative, logarithmic or masked values and what is left by a ReLU.
  static constexpr int kLog2SecondOctaves = 3;
  // That a lane of the searching warp takes at a time: few steps where a single row is waited for,
  // few bank conflicts where shared memory is what limits.
  static constexpr int kBinsPerLane = kThreads > 32 && kVectors <= 2 ? 16 : 8;

  static constexpr std::int64_t kMaxSlots = std::int64_t{kThreads} * kVectors;
  static constexpr bool is_valid() {
    return kThreads >= 8 && (32 % kThreads == 0 || kThreads % 32 == 0) &&
           kThreads * kTeams <= 1024 && kThreads * kTeams * kCtasPerSm <= 2048 &&
           (kVectors & (kVectors - 1)) == 0 && kVectors <= 8;
  }
};

// Few threads with much each, so that many rows are under way at once: for calls of more rows than
// fit on the device at once.
using RowRegisters16x2 = RowRegistersPolicy<16, 2, 8>;
using RowRegisters32x4 = RowRegistersPolicy<32, 4, 9>;
using RowRegisters64x4 = RowRegistersPolicy<64, 4, 16>;
using RowRegisters128x4 = RowRegistersPolicy<128, 4, 8>;
using RowRegisters256x4 = RowRegistersPolicy<256, 4, 5>;
using RowRegisters512x4 = RowRegistersPolicy<512, 4, 2>;
// Many threads with little each, so that one row is done soon; of 512 threads, two rows at once on
// a multiprocessor.
using RowRegisters32x1 = RowRegistersPolicy<32, 1, 1>;
using RowRegisters128x1 = RowRegistersPolicy<128, 1, 2>;
using RowRegisters256x1 = RowRegistersPolicy<256, 1, 2>;
using RowRegisters512x1 = RowRegistersPolicy<512, 1, 2>;
using RowRegisters512x2 = RowRegistersPolicy<512, 2, 2>;
using RowRegisters1024x2 = RowRegistersPolicy<1024, 2, 1>;
using RowRegisters1024x4 = RowRegistersPolicy<1024, 4, 1>;
// Items of 32 bits alone: a thread has a mask bit for 32 items.
using RowRegisters512x8 = RowRegistersPolicy<512, 8, 2, true>;

// The slots that the largest policies take.
constexpr std::int64_t kRowRegistersMaxSlots = RowRegisters1024x4::kMaxSlots;

// What is compiled; a plan chooses among them.
template <class... Policies>
struct RowRegistersPolicyList {
  static constexpr bool is_valid() { return (Policies::is_valid() && ...); }
};
using RowRegistersPolicies =
    RowRegistersPolicyList<RowRegisters16x2, RowRegisters32x4, RowRegisters64x4, RowRegisters128x4,
                           RowRegisters256x4, RowRegisters512x4, RowRegisters32x1,
                           RowRegisters128x1, RowRegisters256x1, RowRegisters512x1,
                           RowRegisters512x2, RowRegisters1024x2, RowRegisters1024x4>;
using RowRegistersPolicies32Bit = RowRegistersPolicyList<RowRegisters512x8>;
static_assert(RowRegistersPolicies::is_valid() && RowRegistersPolicies32Bit::is_valid());

// What a call is after: latency with at most as many rows as multiprocessors, both with at most
// twice as many, throughput beyond. The policies of each were the fastest of 5 to 14 on an H200
// (docs/kernels/row_registers.md), graph replay, bfloat16 rows of 256 to 16 K and float32 rows of
// 16 K, k = 64, 512 and 2048.
constexpr std::int64_t kRowRegistersPairRowsPerSm = 2;

}  // namespace deepselect::cuda
