// Tuning of the row_radix variant. The same values for every architecture: this is the variant that
// serves what no other does, not one that is tuned for speed.
#pragma once

namespace deepselect::cuda {

struct RowRadixPolicy {
  static constexpr int kThreads = 512;
  static constexpr int kVectorsInFlight = 4;    // 16-byte loads per thread before the first use
  static constexpr int kMaxSharedK = 4096;      // above: winners go straight to the outputs
  static constexpr int kSpareSurvivors = 2048;  // buffer beyond k: the narrowing stops earlier
  static constexpr int kPivotSurvivors = 3072;  // buffer where only the pivot is searched on chip

  static constexpr bool is_valid() {
    return kThreads % 32 == 0 && kThreads <= 1024 && kVectorsInFlight >= 1 && kMaxSharedK >= 1 &&
           kSpareSurvivors >= 1 && kPivotSurvivors >= 1;
  }
};
static_assert(RowRadixPolicy::is_valid());

}  // namespace deepselect::cuda
