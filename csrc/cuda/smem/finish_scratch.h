// What the finish needs beside the survivors and the winners.
#pragma once

#include <cstdint>

#include "cuda/common/composite.h"
#include "cuda/smem/histogram.h"

namespace deepselect::cuda {

struct FinishScratch {
  static constexpr std::uint32_t kListCapacity = 128;

  Histogram histogram;
  Composite list[kListCapacity];
  std::uint32_t list_size;
  std::uint32_t num_emitted;
  std::uint32_t best_key;
  std::uint32_t worst_key;
  std::uint32_t best_low;  // over the low halves of the composites
  std::uint32_t worst_low;
};

}  // namespace deepselect::cuda
