// How a call is laid out on a device: which tier of k, how many cores, how rows are cut. A pure
// function, tested without a device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ascend/dispatch.h"
#include "ascend/kernels/row_paged/work.h"
#include "deepselect/contract.h"

namespace deepselect::ascend {

struct DeviceLimits {
  Architecture architecture;
  std::uint32_t num_vector_cores;
};

struct Plan {
  std::uint32_t max_k;       // the tier: least of kTiers that holds k
  std::uint32_t num_slices;  // per row; more than one: row_paged_merge follows
  std::uint32_t num_blocks;
  std::uint32_t num_merge_blocks;
  std::size_t workspace_bytes;
};

// A slice must be worth the k entries that it leaves behind, and a second launch.
constexpr std::int64_t kMinSliceItems = 16384;

constexpr std::uint32_t tier_of(std::int64_t k) {
  for (std::uint32_t max_k : kTiers) {
    if (k <= max_k) return max_k;
  }
  return 0;
}

// How many entries of slices a merge can take.
constexpr std::uint32_t candidate_capacity(Architecture architecture, ValueType type,
                                           std::uint32_t max_k) {
  std::uint32_t capacity = 0;
  dispatch(architecture, type, max_k,
           [&](auto config) { capacity = decltype(config)::Tuning::kCandidateItems; });
  return capacity;
}

constexpr std::int64_t at_most(std::int64_t x, std::int64_t limit) {
  return x < limit ? x : limit;
}

// Requires num_rows >= 1 and 1 <= k <= kAscendLimits.max_k.
constexpr Plan make_plan(const TopkParams& params, const DeviceLimits& limits) {
  const std::int64_t num_cores = limits.num_vector_cores;
  const int item_bytes = value_bytes(params.value_type);
  Plan plan{};
  plan.max_k = tier_of(params.k);
  // The merge takes all slices of a row at once.
  std::int64_t num_slices =
      at_most(num_cores / params.num_rows,
              candidate_capacity(limits.architecture, params.value_type, plan.max_k) /
                  slice_entries(params.k));
  num_slices = at_most(num_slices, params.num_cols / kMinSliceItems);
  num_slices = at_most(num_slices, params.num_cols / (4 * params.k));
  plan.num_slices = static_cast<std::uint32_t>(num_slices > 1 ? num_slices : 1);
  plan.num_blocks =
      static_cast<std::uint32_t>(at_most(params.num_rows * plan.num_slices, num_cores));
  if (plan.num_slices > 1) {
    plan.num_merge_blocks = static_cast<std::uint32_t>(at_most(params.num_rows, num_cores));
    plan.workspace_bytes = static_cast<std::size_t>(params.num_rows) * plan.num_slices *
                           slice_bytes(params.k, item_bytes);
  }
  return plan;
}

}  // namespace deepselect::ascend
