// Global memory of a split_stream call: per row the counters, the bests of the sample's groups, and
// the survivors.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/common/composite.h"
#include "deepselect/macros.h"

namespace deepselect::cuda {

struct SplitStreamCounters {
  std::uint32_t num_survivors;  // appended or refused for want of room
  std::uint32_t num_arrived;    // parts that have filtered
};

// How a call is divided; fixed by the plan.
struct SplitStreamShape {
  std::uint32_t sample_ctas;            // per row
  std::uint32_t groups_per_sample_cta;  // each leaves its best element
  std::uint32_t parts;                  // of a row; where lengths are known on the device alone: of
                                        // all rows together, about
  std::uint32_t is_ragged;              // the latter
  std::uint32_t buffer_capacity;        // survivors of a row in global memory

  DEEPSELECT_HOST_DEVICE constexpr std::uint32_t num_groups() const {
    return sample_ctas * groups_per_sample_cta;
  }
};

struct SplitStreamWorkspace {
  SplitStreamCounters* counters;  // [num_rows]
  Composite* groups;              // [num_rows][num_groups]
  Composite* survivors;           // [num_rows][buffer_capacity]

  static constexpr std::size_t num_bytes(const SplitStreamShape& shape, std::size_t num_rows) {
    return num_rows *
           (sizeof(SplitStreamCounters) +
            sizeof(Composite) * (shape.num_groups() + std::size_t{shape.buffer_capacity}));
  }

  static SplitStreamWorkspace at(void* base, const SplitStreamShape& shape, std::size_t num_rows) {
    SplitStreamWorkspace workspace{};
    workspace.counters = static_cast<SplitStreamCounters*>(base);
    workspace.groups = reinterpret_cast<Composite*>(workspace.counters + num_rows);
    workspace.survivors = workspace.groups + num_rows * shape.num_groups();
    return workspace;
  }
};

}  // namespace deepselect::cuda
