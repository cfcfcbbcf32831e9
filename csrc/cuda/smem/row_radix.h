// Shared memory of the row_radix kernel: this, then survivors[survivor_capacity], then winners[].
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/common/composite.h"
#include "cuda/smem/finish_scratch.h"

namespace deepselect::cuda {

struct alignas(16) RowRadixSmem {
  FinishScratch finish;  // its histogram serves the passes over the row as well
  std::uint32_t emit_totals[2][32];
  Composite pivot;
  std::uint32_t num_survivors;
};

constexpr std::size_t row_radix_smem_bytes(std::size_t survivor_capacity,
                                           std::size_t winner_capacity) {
  return sizeof(RowRadixSmem) + sizeof(Composite) * (survivor_capacity + winner_capacity);
}

}  // namespace deepselect::cuda
