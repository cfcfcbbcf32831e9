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

}  // namespace deepselect::cuda
