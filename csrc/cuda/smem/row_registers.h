// Shared memory of the row_registers kernel: this, then winners[winner_capacity].
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/common/composite.h"

namespace deepselect::cuda {

struct alignas(16) RowRegistersSmem {
  static constexpr int kMaxRounds = 4;  // key bytes
  static constexpr int kNumBins = 256;

  std::uint32_t bins[kMaxRounds][kNumBins];  // one histogram per round: one clearing for all
  std::uint32_t warp_totals[32];
};

constexpr std::size_t row_registers_smem_bytes(std::size_t winner_capacity) {
  return sizeof(RowRegistersSmem) + sizeof(Composite) * winner_capacity;
}

}  // namespace deepselect::cuda
