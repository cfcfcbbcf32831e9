// Shared memory of the split_stream kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/common/composite.h"
#include "cuda/smem/finish_scratch.h"

namespace deepselect::cuda {

template <int kThreads>
struct alignas(16) SplitStreamSampleSmem {
  Composite best[kThreads];
};

// Of the filter: this, then groups[num_groups].
template <int kStagedSurvivors>
struct alignas(16) SplitStreamFilterSmem {
  FinishScratch scratch;
  Composite staged[kStagedSurvivors];
  std::uint32_t num_staged;
  std::uint32_t first_place;
};

// Of the finish: this, then survivors[on_chip_capacity], then winners[]. The repair uses the
// survivors' place for the groups and the staged survivors before.
struct alignas(16) SplitStreamFinishSmem {
  FinishScratch scratch;
  Composite bound;
  std::uint32_t num_survivors;
  std::uint32_t num_staged;
  std::uint32_t first_place;
  std::uint32_t is_last;
};

template <int kStagedSurvivors>
constexpr std::size_t split_stream_filter_smem_bytes(std::size_t num_groups) {
  return sizeof(SplitStreamFilterSmem<kStagedSurvivors>) + sizeof(Composite) * num_groups;
}

constexpr std::size_t split_stream_finish_smem_bytes(std::size_t on_chip_capacity,
                                                     std::size_t winner_capacity) {
  return sizeof(SplitStreamFinishSmem) + sizeof(Composite) * (on_chip_capacity + winner_capacity);
}

}  // namespace deepselect::cuda
