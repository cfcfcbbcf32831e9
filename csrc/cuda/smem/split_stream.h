// Shared memory of the split_stream kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/common/composite.h"
#include "cuda/common/radix_cursor.h"
#include "cuda/common/row_parts.h"
#include "cuda/smem/finish_scratch.h"
#include "cuda/smem/pivot_bin.h"

namespace deepselect::cuda {

template <int kThreads>
struct alignas(16) SplitStreamSampleSmem {
  Composite best[kThreads];
};

// Of the filter: this, then the stage of its tiles, and at last winners[] in its place, where an
// order is asked for.
template <std::uint32_t kStagedSurvivors>
struct alignas(16) SplitStreamFilterSmem {
  FinishScratch finish;
  PivotBin bound_bin;
  Composite bound;
  RadixCursor cursor;  // from the bound up, for the finish
  union {
    RaggedScratch ragged;  // first
    Composite staged[kStagedSurvivors];
  };
  std::uint32_t best_sampled;  // key
  std::uint32_t num_staged;
  std::uint32_t first_place;
  std::uint32_t num_survivors;
  std::uint32_t is_last;
};

template <class Policy>
constexpr std::size_t split_stream_filter_smem_bytes(std::size_t winner_capacity) {
  const std::size_t winner_bytes = sizeof(Composite) * winner_capacity;
  const std::size_t stage_bytes = Policy::kStageBytes;
  return sizeof(SplitStreamFilterSmem<Policy::kStagedSurvivors>) +
         (winner_bytes > stage_bytes ? winner_bytes : stage_bytes);
}

}  // namespace deepselect::cuda
