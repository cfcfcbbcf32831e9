// Tuning of the row_stream variant.
#pragma once

#include <cstdint>

#include "deepselect/macros.h"

namespace deepselect::cuda {

template <int kThreadsValue, int kCtasPerSmValue, int kMaxSampleVectorsValue>
struct RowStreamPolicy {
  static constexpr int kThreads = kThreadsValue;
  static constexpr int kCtasPerSm = kCtasPerSmValue;
  static constexpr int kVectorsInFlight = 4;  // 16-byte loads per thread before the first use

  // Sample: one item in kItemsPerSample, in segments of 128 bytes, at most kMaxSampleVectors
  // vectors per thread; they stay in registers while the bound is searched.
  static constexpr int kMaxSampleVectors = kMaxSampleVectorsValue;
  static constexpr int kItemsPerSample = 32;
  static constexpr int kSlotsPerSegment = 8;
  static constexpr float kRankSigmas = 4.5f;

  // The bound may let this part of its rank through beyond it.
  static constexpr int kRankSlackDivisor = 8;

  // The finish's bins reach beyond the sample's best key by this part of the range down to the
  // bound.
  static constexpr int kSpareRangeDivisor = 8;

  // Room for survivors: kCapacitySigmas above the average, and some for groups of equal values.
  static constexpr float kCapacitySigmas = 5.0f;
  static constexpr int kSpareSurvivors = 128;

  // L2 prefetch: of the row's own beginning while its bound is searched, and of the row that takes
  // this one's place while the finish runs.
  static constexpr int kOwnPrefetchBytes = 32768;
  static constexpr int kNextPrefetchBytes = 32768;

  static constexpr int kMaxK = 4096;

  // Binary logarithm of the vectors per thread that are sampled of a row of `num_slots` slots.
  DEEPSELECT_HOST_DEVICE static constexpr int log2_sample_vectors(std::uint32_t num_slots) {
    int log2 = 0;
    while ((2 << log2) <= kMaxSampleVectors && num_slots / kItemsPerSample > kThreads << log2) {
      ++log2;
    }
    return log2;
  }

  static constexpr bool is_valid() {
    return kThreads % 32 == 0 && kThreads <= 1024 && kThreads * kCtasPerSm <= 2048 &&
           kMaxSampleVectors >= 1 && (kMaxSampleVectors & (kMaxSampleVectors - 1)) == 0 &&
           kMaxSampleVectors <= 4 && kVectorsInFlight == 4 && kThreads % kSlotsPerSegment == 0 &&
           kItemsPerSample >= 1 && kRankSlackDivisor >= 1 && kSpareRangeDivisor >= 1 &&
           kOwnPrefetchBytes % 16 == 0 && kNextPrefetchBytes % 16 == 0;
  }
};

// Rows from here on take the policy with the larger sample.
constexpr std::int64_t kRowStreamLongBytes = 512 << 10;

using RowStreamMid = RowStreamPolicy<256, 4, 2>;
using RowStreamLong = RowStreamPolicy<512, 2, 2>;
static_assert(RowStreamMid::is_valid() && RowStreamLong::is_valid());

}  // namespace deepselect::cuda
