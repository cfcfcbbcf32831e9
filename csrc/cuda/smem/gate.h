// Shared memory of a CTA of the gate kernel.
#pragma once

namespace deepselect::cuda {

// Of all scores in a window: the maximum, and the sum of exp(score - maximum).
struct WindowSoftmax {
  float max;
  float sum;
};

// `Item`: a key and a position as one integer. The last of a thread's sorted items is none.
template <class Policy, class Item>
struct GateSmem {
  Item sorted[Policy::kBatches][Policy::kItems + 1][Policy::kCtaThreads];
  Item winners[Policy::kCtaRows][Policy::kMaxWinners];
  float scores[Policy::kCtaRows][Policy::kMaxWinners];
  WindowSoftmax windows[Policy::kCtaRows];
};

// Of the kernel with a lane per row: the rows as they lie in memory. Their distance is an odd
// number of 16-byte vectors, so that neighbouring lanes read vectors from different banks.
template <class Policy, class Bits>
struct GateLaneSmem {
  static constexpr int kRowBytes = Policy::kItems * static_cast<int>(sizeof(Bits));
  static constexpr int kRowPitchBytes = (kRowBytes / 16 | 1) * 16;
  static_assert(kRowBytes % 16 == 0, "whole vectors");

  struct alignas(16) Row {
    Bits items[kRowPitchBytes / sizeof(Bits)];
  };
  Row rows[Policy::kCtaThreads];
};

}  // namespace deepselect::cuda
