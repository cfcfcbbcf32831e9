// Global memory of a split_stream call: per row the counters, the bests of the sample's groups, and
// two buffers of survivors (the second for the repair).
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/common/composite.h"
#include "deepselect/macros.h"

namespace deepselect::cuda {

struct SplitStreamCounters {
  std::uint32_t num_survivors;  // appended or refused for want of room
  std::uint32_t num_repaired;   // the same of the second buffer
  std::uint32_t num_arrived;    // parts that have finished the repair
  std::uint32_t reserved;
};

// How a call is divided; fixed by the plan.
struct SplitStreamShape {
  std::uint32_t sample_ctas;       // per row
  std::uint32_t filter_ctas;       // per row
  std::uint32_t finish_ctas;       // per row; all but one only take part in a repair
  std::uint32_t buffer_capacity;   // survivors of a row in global memory
  std::uint32_t on_chip_capacity;  // survivors in the finish's shared memory

  static constexpr std::uint32_t kGroupsPerSampleCta = 32;

  DEEPSELECT_HOST_DEVICE constexpr std::uint32_t num_groups() const {
    return sample_ctas * kGroupsPerSampleCta;
  }
};

struct SplitStreamWorkspace {
  SplitStreamCounters* counters;  // [num_rows]
  Composite* groups;              // [num_rows][num_groups]
  Composite* survivors;           // [num_rows][2][buffer_capacity]

  static constexpr std::size_t num_bytes(const SplitStreamShape& shape, std::size_t num_rows) {
    return num_rows *
           (sizeof(SplitStreamCounters) +
            sizeof(Composite) * (shape.num_groups() + std::size_t{2} * shape.buffer_capacity));
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
