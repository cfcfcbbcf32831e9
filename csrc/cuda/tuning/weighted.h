// Tuning of the kernels round the selection of a weighted call. Not searched: they read or write
// each score once, and the selection between them is tuned for itself.
#pragma once

#include <cstdint>

namespace deepselect::cuda {

struct WeightedPolicy {
  static constexpr int kThreads = 256;
  // Rows of few winners: a warp each.
  static constexpr int kFewWinners = 128;
  // Columns that a CTA biases.
  static constexpr int kTileCols = 2048;
  // 16-byte slots that a thread has under way.
  static constexpr int kInFlight = 4;
  // A row is summed in parts until the device is busy, each of at least so many slots a thread.
  static constexpr std::int64_t kCtasPerSm = 4;
  static constexpr std::int64_t kMinSlotsPerThread = 4;

  static constexpr bool is_valid() {
    return kThreads % 32 == 0 && kThreads <= 1024 && kTileCols >= 1 && kInFlight >= 1 &&
           kCtasPerSm >= 1 && kMinSlotsPerThread >= 1;
  }
};
static_assert(WeightedPolicy::is_valid());

}  // namespace deepselect::cuda
