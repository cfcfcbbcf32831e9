// Shared memory of a team of the row_registers kernel: this, then its winners: positions of 16
// bits, or composites for order "value".
#pragma once

#include <cstdint>

#include "cuda/smem/pivot_bin.h"

namespace deepselect::cuda {

// Of a team's shared memory in that of its CTA: a bin's padding and the bins' address then are in
// different bits.
constexpr std::uint32_t kBinsAlignment = 256;

// The last of the ranked elements that are selected.
struct LastRanked {
  std::uint32_t distance;
  std::uint32_t num_nearer;  // ranked elements
};

template <int kBins, bool kPadsBins, int kWarps>
struct alignas(16) RowRegistersSmem {
  // By distance from the best key, each at its place_of_bin(); then one for all beyond.
  std::uint32_t bins[place_of_bin<kPadsBins>(kBins) + 4];
  PivotBin pivot;
  std::uint64_t stage_barriers[kWarps];
  LastRanked last_ranked;
  std::uint32_t num_ranked;
  std::uint32_t warp_totals[kWarps];
  std::uint32_t warp_maxima[2][kWarps];
};

template <class Policy>
using RowRegistersSmemOf =
    RowRegistersSmem<Policy::kBins, Policy::kPadsBins, (Policy::kThreads + 31) / 32>;

}  // namespace deepselect::cuda
