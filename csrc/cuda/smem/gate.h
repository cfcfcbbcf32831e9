// Shared memory of a CTA of the gate kernel.
#pragma once

#include <cstdint>

namespace deepselect::cuda {

// `Item`: a key and a position as one integer. A column belongs to a thread, a row of `winners` and
// `scores` to a row of the input.
template <class Policy, class Item>
struct GateSmem {
  Item sorted[Policy::kItems][Policy::kCtaThreads];
  Item winners[Policy::kCtaRows][Policy::kMaxWinners];
  float scores[Policy::kCtaRows][Policy::kMaxWinners];
};

}  // namespace deepselect::cuda
