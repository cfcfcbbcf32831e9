// Tuning of the split_radix variant. Not searched.
#pragma once

#include <cstdint>

#include "deepselect/macros.h"

namespace deepselect::cuda {

struct SplitRadixPolicy {
  static constexpr int kThreads = 512;
  static constexpr int kVectorsInFlight = 4;
  static constexpr int kHitsInFlight = 2;
  static constexpr std::uint32_t kPrefetchBytes = 32768;  // of a part, while the bracket is awaited
  static constexpr int kCandidatesInFlight = 8;
  static constexpr int kCtasPerSm = 2;           // parts of all rows together, per SM
  static constexpr int kMinSlotsPerPart = 1024;  // 16 KB: what a part's fixed costs are worth
  static constexpr int kMaxParts = 512;          // of a row: one per thread of a prefix sum

  // The bracket's sample: one slot in kSlotsPerSample, but so many of a row. The k-th best lies
  // outside where the sample is off by more than kSigmas standard deviations.
  static constexpr std::uint32_t kSlotsPerSample = 16;
  static constexpr std::uint32_t kMinSampleSlots = 256;
  static constexpr std::uint32_t kMaxSampleItems = 8192;
  static constexpr float kSigmas = 4.0f;
  static constexpr float kSpareRank = 4.0f;
  static constexpr std::uint32_t kRankSlackDivisor = 32;  // the lower bound may let more through
  // Room for candidates: this share of a row, within bounds.
  static constexpr std::int64_t kItemsPerCandidate = 8;
  static constexpr std::int64_t kMinCandidates = std::int64_t{1} << 14;
  static constexpr std::int64_t kMaxCandidates = std::int64_t{1} << 20;

  // Winners of a row that one CTA sorts by value; more are sorted by the whole device.
  static constexpr int kSortThreads = 512;
  static constexpr int kSortDigitBits = 5;
  static constexpr std::int64_t kMaxBlockSorted = 12288;

  // Rows are served in batches, so that the workspace stays bounded.
  static constexpr std::int64_t kMaxBatchRows = 4096;
  static constexpr std::int64_t kMaxBatchCandidates = std::int64_t{1} << 25;
  static constexpr std::int64_t kMaxBatchWinners = std::int64_t{1} << 27;  // where they are sorted

  // How many of a row's slots are sampled.
  DEEPSELECT_HOST_DEVICE static constexpr std::uint32_t num_sampled(std::uint32_t num_slots,
                                                                    std::uint32_t items_per_slot) {
    const std::uint32_t most =
        num_slots < kMaxSampleItems / items_per_slot ? num_slots : kMaxSampleItems / items_per_slot;
    const std::uint32_t wanted = num_slots / kSlotsPerSample > kMinSampleSlots
                                     ? num_slots / kSlotsPerSample
                                     : kMinSampleSlots;
    return wanted < most ? wanted : most;
  }

  static constexpr bool is_valid() {
    return kThreads % 32 == 0 && kThreads <= 1024 && kMaxParts <= kThreads &&
           kVectorsInFlight >= 1 && kMinSlotsPerPart >= 1 && kMaxBatchRows >= 1 &&
           kMaxBatchCandidates >= kMaxCandidates && kMaxBlockSorted % kSortThreads == 0;
  }
};
static_assert(SplitRadixPolicy::is_valid());

}  // namespace deepselect::cuda
