// Tuning of the row_stream variant.
#pragma once

#include <cstdint>

#include "deepselect/macros.h"

namespace deepselect::cuda {

template <int kThreadsValue, int kCtasPerSmValue>
struct RowStreamPolicy {
  static constexpr int kThreads = kThreadsValue;
  static constexpr int kCtasPerSm = kCtasPerSmValue;

  // A tile is of kTileVectors 16-byte vectors per thread, and a stage of shared memory as large.
  static constexpr int kTileVectors = 4;
  static constexpr int kStageBytes = kThreads * kTileVectors * 16;

  // Sample: one item in kItemsPerSample, in segments of 128 bytes, at most kMaxSampleVectors
  // vectors per thread; it lies where the survivors come.
  static constexpr int kMaxSampleVectors = 4;
  static constexpr int kSampleBytes = kThreads * kMaxSampleVectors * 16;
  static constexpr int kItemsPerSample = 16;
  static constexpr int kSlotsPerSegment = 8;
  static constexpr float kRankSigmas = 4.5f;

  // Where too few survived, the next rank is so many times as large.
  static constexpr float kSeverityFactor = 4.0f;

  // The bound may let this part of its rank through beyond it.
  static constexpr int kRankSlackDivisor = 8;

  // The finish's bins reach beyond the sample's best key by this part of the range down to the
  // bound.
  static constexpr int kSpareRangeDivisor = 8;

  // Room for survivors: kCapacitySigmas above the average, and some for groups of equal values.
  static constexpr float kCapacitySigmas = 5.0f;
  static constexpr int kSpareSurvivors = 16;

  // L2 prefetch of the row that takes this one's place, while the finish runs.
  static constexpr int kNextPrefetchBytes = 32768;

  static constexpr int kMaxK = 4096;

  // Binary logarithm of the vectors per thread that are sampled of a row of `num_slots` slots.
  DEEPSELECT_HOST_DEVICE static constexpr int log2_sample_vectors(std::uint32_t num_slots) {
    constexpr std::uint32_t kVector = kThreads;  // slots of one per thread
    int log2 = 0;
    while ((2 << log2) <= kMaxSampleVectors && num_slots / kItemsPerSample > kVector << log2) {
      ++log2;
    }
    return log2;
  }

  static constexpr bool is_valid() {
    return kThreads % 32 == 0 && kThreads <= 1024 && kThreads * kCtasPerSm <= 2048 &&
           (kMaxSampleVectors & (kMaxSampleVectors - 1)) == 0 && kThreads % kSlotsPerSegment == 0 &&
           kItemsPerSample >= 1 && kRankSlackDivisor >= 1 && kSpareRangeDivisor >= 1 &&
           kNextPrefetchBytes % 16 == 0;
  }
};

// H200, normal data, sustained graph replay, us: the policy beside others of a sweep (threads x
// CTAs on a multiprocessor).
//
//   * Many, 4096 x 64 K bf16, k 512: 165 (256 x 3 176, 256 x 5 179, 512 x 2 199); k 2048: 229
//     (512 x 2 251). 1024 x 128 K: 77 (512 x 2 82). 1024 x 129280 fp32: 135 (two vectors sampled
//     141)
//   * Few, 256 x 64 K bf16: 16.0 (256 x 4 17.1). 1024 x 1 M: 489 (256 x 4 534, tiles of 8 vectors
//     525). 256 x 1 M fp32: 244 (two vectors sampled 258, 256 x 4 269)
using RowStreamMany = RowStreamPolicy<256, 4>;
using RowStreamFew = RowStreamPolicy<512, 2>;
static_assert(RowStreamMany::is_valid() && RowStreamFew::is_valid());

// Which policy a call takes: Few where its rows are long or few.
struct RowStreamChoice {
  static constexpr std::int64_t kLongBytes = 1 << 20;  // of a row, from here on
  static constexpr std::int64_t kFewRowsPerSm = 3;     // at most this many rows
};

}  // namespace deepselect::cuda
