// Tuning of the split_stream variant.
#pragma once

#include <cstdint>

namespace deepselect::cuda {

struct SplitStreamPolicy {
  static constexpr int kMaxK = 4096;
  static constexpr int kMaxRows = 1024;  // above, a CTA per row fills the device

  // Sample. Segments are 128 bytes: a DRAM access fetches no less than half of that.
  static constexpr int kSampleThreads = 512;
  static constexpr int kSampleInFlight = 8;
  static constexpr int kMinSegments = 1024;    // ... but at most 1 / kDensestSample of the row
  static constexpr int kDensestSample = 8;     // one segment in 8
  static constexpr int kSparsestSample = 128;  // one segment in 128 of a huge row: 1 % of its bytes
  // The sample holds at most this many of the k best on average, so that their rank stays well
  // below the number of groups.
  static constexpr int kMaxSampledWinners = 128;
  // Rank of the bound among the groups: mean + kSigmas * sqrt(mean) + kSpareRank. The spare covers
  // rows whose best elements lie side by side, where one segment brings eight groups at once.
  static constexpr float kSigmas = 5.0f;
  static constexpr int kSpareRank = 24;

  static constexpr int kMinSampleCtas = 16;        // of 32 groups each, ...
  static constexpr int kMinSampleCtasLargeK = 32;  // ... for k > kSmallK
  static constexpr int kSmallK = 1024;
  static constexpr int kMaxSampleCtas = 64;
  static constexpr int kSegmentsPerSampleCta = 512;

  // Filter.
  static constexpr int kFilterThreads = 512;
  static constexpr int kFilterCtasPerSm = 2;
  static constexpr int kFilterInFlight = 8;
  static constexpr int kStagedSurvivors = 1024;  // per CTA, in shared memory

  // Finish.
  static constexpr int kFinishThreads = 1024;
  static constexpr int kRepairInFlight = 4;       // as the filter's; more would spill
  static constexpr int kOnChipSurvivors = 12288;  // at most; less where shared memory is small
  static constexpr int kMinSurvivorBuffer = 32768;
  static constexpr int kSurvivorBufferPerK = 8;

  static constexpr bool is_valid() {
    return kSampleThreads % 32 == 0 && kSampleThreads <= 1024 && kFilterThreads % 32 == 0 &&
           kFilterThreads <= 1024 && kFilterThreads * kFilterCtasPerSm <= 2048 &&
           kFinishThreads % 32 == 0 && kFinishThreads <= 1024 && kFilterInFlight >= 1 &&
           kFilterInFlight * 8 < 128 && kDensestSample >= 1 && kSparsestSample >= kDensestSample &&
           kStagedSurvivors <= kMinSurvivorBuffer && kOnChipSurvivors > kMaxK &&
           kSurvivorBufferPerK > 1;
  }
};
static_assert(SplitStreamPolicy::is_valid());

}  // namespace deepselect::cuda
