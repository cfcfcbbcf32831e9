// Tuning of the split_radix variant. Not searched.
#pragma once

#include <cstdint>

namespace deepselect::cuda {

struct SplitRadixPolicy {
  static constexpr int kThreads = 512;
  static constexpr int kVectorsInFlight = 4;
  static constexpr int kCtasPerSm = 3;           // parts of all rows together, per SM
  static constexpr int kMinSlotsPerPart = 4096;  // 64 KB: what a part's fixed costs are worth
  static constexpr int kMaxParts = 512;          // of a row: one per thread of a prefix sum

  // Rows are served in batches, so that the workspace stays bounded.
  static constexpr std::int64_t kMaxBatchRows = 4096;
  static constexpr std::int64_t kMaxBatchWinners = std::int64_t{1} << 27;  // where they are sorted

  static constexpr bool is_valid() {
    return kThreads % 32 == 0 && kThreads <= 1024 && kMaxParts <= kThreads &&
           kVectorsInFlight >= 1 && kMinSlotsPerPart >= 1 && kMaxBatchRows >= 1;
  }
};
static_assert(SplitRadixPolicy::is_valid());

}  // namespace deepselect::cuda
