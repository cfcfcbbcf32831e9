// How split_stream samples a row: by the plan where the rows' lengths are known, else by the
// kernels.
#pragma once

#include <cmath>
#include <cstdint>

#include "cuda/workspace/split_stream.h"
#include "deepselect/macros.h"

namespace deepselect::cuda {

// Of a row of more than Policy::kStagedSurvivors items with `num_slots` whole slots, at any
// address: as many segments as lie in it wherever the first of them begins. 1 <= num_wanted.
//
// The bound's rank is one that fewer than num_wanted elements reach only by extraordinary chance.
template <class Policy>
DEEPSELECT_HOST_DEVICE SplitSampling split_sampling(std::uint32_t num_slots,
                                                    std::uint32_t num_wanted,
                                                    std::uint32_t log2_segment_slots,
                                                    std::uint32_t num_groups) {
  SplitSampling sampling{};
  // Where the k best are many among the slots, two slots have one between them too often.
  sampling.log2_slots = num_slots / Policy::kSlotsPerWanted >= num_wanted ? log2_segment_slots : 0;
  const std::uint32_t num_row_segments =
      (num_slots + 1 - (1u << sampling.log2_slots)) >> sampling.log2_slots;
  sampling.num_segments = Policy::num_segments(num_row_segments, num_wanted);
  sampling.bound_rank = SplitSampling::kNoRank;
  if (sampling.num_segments == 0) return sampling;
  sampling.stretch = (std::uint64_t{num_row_segments} << 32) / sampling.num_segments;
  const float mean = static_cast<float>(num_wanted) * static_cast<float>(sampling.num_segments) /
                     static_cast<float>(num_row_segments);
  const std::uint32_t rank =
      Policy::kSpareRank + static_cast<std::uint32_t>(mean + Policy::kSigmas * sqrtf(mean));
  if (rank < sampling.num_segments && rank < num_groups) sampling.bound_rank = rank;
  return sampling;
}

}  // namespace deepselect::cuda
