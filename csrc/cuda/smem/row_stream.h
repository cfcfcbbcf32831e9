// Shared memory of the row_stream kernel: this, then the stage, then survivors[survivor_capacity],
// then winners[] where an order is asked for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/common/composite.h"
#include "cuda/common/radix_cursor.h"
#include "cuda/smem/finish_scratch.h"

namespace deepselect::cuda {

struct alignas(16) RowStreamSmem {
  FinishScratch finish;  // its histogram serves sample and filter as well
  std::uint32_t warp_worst[32];
  std::uint32_t warp_best[32];
  RadixCursor cursor;           // of the filter's bound
  Composite high;               // where the next pass's bins begin
  bool is_high_known;           // whether the k-th best is no better
  std::uint32_t num_survivors;  // counted, also those that the buffer had no room for
};

constexpr std::size_t row_stream_smem_bytes(std::size_t stage_bytes, std::size_t survivor_capacity,
                                            std::size_t winner_capacity) {
  return sizeof(RowStreamSmem) + stage_bytes +
         sizeof(Composite) * (survivor_capacity + winner_capacity);
}

}  // namespace deepselect::cuda
