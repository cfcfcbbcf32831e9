// Shared memory of the split_radix kernels.
#pragma once

#include <cstdint>

#include "cuda/common/composite.h"
#include "cuda/smem/finish_scratch.h"

namespace deepselect::cuda {

// Of the bracket.
template <std::uint32_t kItems>
struct alignas(16) SplitRadixSampleSmem {
  FinishScratch scratch;
  Composite items[kItems];
};

// Of the filter, the rounds and the count.
template <std::uint32_t kMaxParts>
struct alignas(16) SplitRadixSmem {
  FinishScratch scratch;
  std::uint32_t totals[2][32];
  std::uint32_t part_winners[kMaxParts];  // among the candidates
  std::uint32_t num_emitted;
  std::uint32_t is_last;
};

}  // namespace deepselect::cuda
