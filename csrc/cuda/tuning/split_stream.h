// Tuning of the split_stream variant. Measured on an H200 (docs/kernels/split_stream.md).
#pragma once

#include <cstdint>

#include "deepselect/macros.h"

namespace deepselect::cuda {

struct SplitStreamPolicy {
  static constexpr int kMaxK = 4096;
  static constexpr int kMaxRows = 1024;  // above, a CTA per row fills the device

  // Sample: segments of two slots, 32 bytes, of which only the best element counts. Neighbouring
  // winners are then no more than one, whatever the order of the row's elements. DRAM reads 64
  // bytes for either: where the input is small and time is latency, single slots let fewer elements
  // of rows in order survive.
  static constexpr std::int64_t kSmallInputBytes = std::int64_t{32} << 20;
  static constexpr std::uint32_t kSlotsPerWanted = 8;  // single slots also where a row has fewer
  static constexpr int kSampleThreads = 512;
  static constexpr int kSampleInFlight = 2;
  // Of the k best so many are in the sample on average: more cost more reading (a segment takes 64
  // bytes of DRAM's time), fewer let more survive.
  static constexpr std::uint32_t kSampledWinners = 8;
  static constexpr std::uint32_t kMinSegments = 256;
  static constexpr std::uint32_t kMaxSegments = 32768;
  static constexpr std::uint32_t kSegmentsPerSample = 16;  // at most one segment in so many
  // Rank of the bound among the groups' bests: mean + kSigmas * sqrt(mean) + kSpareRank.
  static constexpr float kSigmas = 5.0f;
  static constexpr std::uint32_t kSpareRank = 5;
  static constexpr std::uint32_t kRankSlackDivisor = 8;  // the bound may let more through
  static constexpr std::uint32_t kMaxGroups = 1024;      // of a row
  static constexpr int kMaxSampleCtas = 64;              // per row

  // Filter.
  static constexpr int kFilterThreads = 512;
  static constexpr int kFilterCtasPerSm = 2;
  // A part's second tile is on its way to L2 while the bound is awaited. More, or asking ahead all
  // the time, is slower.
  static constexpr std::uint32_t kPrefetchBytes = 32768;
  static constexpr std::uint32_t kMinPartSlots = 1024;  // of 16 bytes

  // Survivors of a CTA in shared memory; shorter rows are not sampled.
  static constexpr std::uint32_t kStagedSurvivors = 4608;
  // Room for all parts' survivors in global memory: per call where rows are few, but not more or
  // fewer per row than this. Rows in ascending order have some ten times more than others.
  static constexpr std::int64_t kSurvivorBuffers = std::int64_t{1} << 22;
  static constexpr std::int64_t kMaxSurvivorBuffer = std::int64_t{1} << 18;
  static constexpr std::int64_t kMinSurvivorBuffer = std::int64_t{1} << 16;

  // The finish's bins reach beyond the sample's best key by so many times the range from it down to
  // the bound: the best of 2^28 elements is that far from the best of a sample of 2^18.
  static constexpr std::uint32_t kSpareRanges = 3;

  // How many of a row's segments are sampled.
  DEEPSELECT_HOST_DEVICE static constexpr std::uint32_t num_segments(std::uint32_t row_segments,
                                                                     std::uint32_t num_wanted) {
    const std::uint64_t for_winners = std::uint64_t{row_segments} * kSampledWinners / num_wanted;
    const std::uint32_t most = row_segments / kSegmentsPerSample < kMaxSegments
                                   ? row_segments / kSegmentsPerSample
                                   : kMaxSegments;
    const std::uint64_t wanted = for_winners > kMinSegments ? for_winners : kMinSegments;
    return wanted < most ? static_cast<std::uint32_t>(wanted) : most;
  }

  static constexpr bool is_valid() {
    return kSampleThreads % 64 == 0 && kSampleThreads <= 1024 && kFilterThreads % 32 == 0 &&
           kFilterThreads <= 1024 && kFilterThreads * kFilterCtasPerSm <= 2048 &&
           kSegmentsPerSample >= 1 && kMaxGroups % kMaxSampleCtas == 0 &&
           kMaxGroups / kMaxSampleCtas <= kSampleThreads / 2 && kPrefetchBytes % 16 == 0 &&
           kMaxGroups <= kStagedSurvivors && kMinSurvivorBuffer >= 2 * kMaxK &&
           kStagedSurvivors <= kMinSurvivorBuffer && kStagedSurvivors > kMaxK &&
           kMaxRows <= 2 * kFilterThreads;
  }
};
static_assert(SplitStreamPolicy::is_valid());

// How the filter's tiles come: kFilterBatches of four 16-byte loads per thread, and whether vectors
// with hits go to a stage of shared memory (PartTiles). `kSmemCarveoutPercent` of an SM's memory is
// shared; loads under way need the rest.
template <int kFilterBatchesValue, bool kStagesHitsValue, int kSmemCarveoutPercentValue,
          std::uint32_t kStagedSurvivorsValue>
struct SplitStreamTiles : SplitStreamPolicy {
  static constexpr std::uint32_t kStagedSurvivors = kStagedSurvivorsValue;
  static constexpr int kFilterBatches = kFilterBatchesValue;
  static constexpr bool kStagesHits = kStagesHitsValue;
  static constexpr int kSmemCarveoutPercent = kSmemCarveoutPercentValue;
  static constexpr int kFilterVectors = kFilterBatches * 4;
  static constexpr int kStageBytes = kStagesHits ? kFilterThreads * kFilterVectors * 16 : 0;
};

// One row has few hits in many bytes: 2^27 fp32, k 512, 133 us (staged, one batch: 135), 1e9 int32
// 878 (905). Of several rows a tile has more: 64 x 1 M bf16, k 2048, 54 us (60), 8 x 1 M fp32, k
// 512, 20.7 (22.0).
//
// Of one row of 2^26, k 512, 3600 +- 1000 survive: 4608 were too few in one call of seven, which
// then took 2 us more.
using SplitStreamOneRow = SplitStreamTiles<2, false, 58, 6144>;
using SplitStreamRows = SplitStreamTiles<1, true, 75, SplitStreamPolicy::kStagedSurvivors>;

}  // namespace deepselect::cuda
