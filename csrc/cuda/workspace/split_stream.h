// Global memory of a split_stream call: per row the survivors, the bests of the sample's groups,
// and a counter.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/common/composite.h"
#include "deepselect/macros.h"

namespace deepselect::cuda {

// How a row is sampled: segments of its whole slots, one in each of equally long stretches.
struct SplitSampling {
  static constexpr std::uint32_t kNoRank = ~0u;

  std::uint64_t stretch;  // in segments, with 32 bits behind the point
  std::uint32_t num_segments;
  std::uint32_t log2_slots;  // of a segment, 0 or 1
  std::uint32_t bound_rank;  // of the bound among the groups' bests; kNoRank: too few for one
};

// How a call is divided; fixed by the plan.
struct SplitStreamShape {
  SplitSampling sampling;               // of every row, where has_whole_rows
  std::uint32_t sample_ctas;            // per row
  std::uint32_t groups_per_sample_cta;  // each leaves its best element
  std::uint32_t log2_segment_slots;     // of a sampled segment, 0 or 1: at most so many
  std::uint32_t parts;                  // of a row; where lengths are known on the device alone: of
                                        // all rows together, about
  std::uint32_t is_ragged;              // the latter
  std::uint32_t has_whole_rows;         // and nothing else of a row is on the device: no views
  std::uint32_t buffer_capacity;        // survivors of a row in global memory

  DEEPSELECT_HOST_DEVICE constexpr std::uint32_t num_groups() const {
    return sample_ctas * groups_per_sample_cta;
  }
};

struct SplitStreamWorkspace {
  Composite* survivors;  // [num_rows][buffer_capacity]
  Composite* groups;     // [num_rows][num_groups]
  // [num_rows]: survivors appended, or refused for want of room, and 2^32 for each part that has
  // filtered. One number, so that the last part learns both at once.
  unsigned long long* counters;

  static constexpr std::size_t num_bytes(const SplitStreamShape& shape, std::size_t num_rows) {
    return num_rows *
           (sizeof(unsigned long long) +
            sizeof(Composite) * (shape.num_groups() + std::size_t{shape.buffer_capacity}));
  }

  static SplitStreamWorkspace at(void* base, const SplitStreamShape& shape, std::size_t num_rows) {
    SplitStreamWorkspace workspace{};
    workspace.survivors = static_cast<Composite*>(base);
    workspace.groups = workspace.survivors + num_rows * shape.buffer_capacity;
    workspace.counters =
        reinterpret_cast<unsigned long long*>(workspace.groups + num_rows * shape.num_groups());
    return workspace;
  }
};

}  // namespace deepselect::cuda
