// Tuning of the row_stream variant.
#pragma once

#include <cstdint>

#include "deepselect/macros.h"

namespace deepselect::cuda {

template <int kThreadsValue, int kCtasPerSmValue, int kMaxSampleVectorsValue, int kTileVectorsValue,
          int kRingStagesValue>
struct RowStreamPolicy {
  static constexpr int kThreads = kThreadsValue;
  static constexpr int kCtasPerSm = kCtasPerSmValue;

  // The ring: tiles of kTileVectors 16-byte vectors per thread.
  static constexpr int kTileVectors = kTileVectorsValue;
  static constexpr int kRingStages = kRingStagesValue;
  static constexpr int kRingBytes = kThreads * kTileVectors * kRingStages * 16;

  // Sample: one item in kItemsPerSample, in segments of 128 bytes, at most kMaxSampleVectors
  // vectors per thread; it lies where the survivors come.
  static constexpr int kMaxSampleVectors = kMaxSampleVectorsValue;
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
           kMaxSampleVectors >= 1 && (kMaxSampleVectors & (kMaxSampleVectors - 1)) == 0 &&
           kMaxSampleVectors <= 4 && kTileVectors <= 4 && kRingStages >= 2 &&
           kThreads % kSlotsPerSegment == 0 && kItemsPerSample >= 1 && kRankSlackDivisor >= 1 &&
           kSpareRangeDivisor >= 1 && kNextPrefetchBytes % 16 == 0;
  }
};

// H200, bf16, normal data, graph replay, us; each policy beside the next best of a sweep over 14:
//
//   * Mid, 4096 x 64 K, k 512: 147 (tiles of 3 vectors 155, 5 CTAs 173, prefetch off 148)
//   * MidLargeK, 4096 x 64 K, k 2048: 221 (tiles of 4 vectors 262, Long 238)
//   * Long, 4096 x 128 K, k 512: 267 (Mid 274, Huge 302); 256 x 64 K: 15.5 (Mid 16.1)
//   * Huge, 1024 x 1 M, k 512: 509 (Long 521, tiles of 4 vectors 515, Mid 543)
using RowStreamMid = RowStreamPolicy<256, 4, 2, 4, 2>;
using RowStreamMidLargeK = RowStreamPolicy<256, 3, 2, 3, 2>;
using RowStreamLong = RowStreamPolicy<512, 2, 2, 4, 2>;
using RowStreamHuge = RowStreamPolicy<512, 2, 4, 2, 2>;
static_assert(RowStreamMid::is_valid() && RowStreamMidLargeK::is_valid() &&
              RowStreamLong::is_valid() && RowStreamHuge::is_valid());

// Which policy a call takes.
struct RowStreamChoice {
  static constexpr std::int64_t kHugeBytes = 1 << 20;  // of a row, from here on
  static constexpr std::int64_t kLongBytes = 192 << 10;
  static constexpr std::int64_t kFewRowsPerSm = 3;  // at most this many rows: Long as well
  static constexpr std::int64_t kLargeK = 1024;     // beyond: survivors leave room for less
};

}  // namespace deepselect::cuda
