#include <algorithm>

#include "cuda/plan/planners.h"
#include "cuda/tuning/split_radix.h"

namespace deepselect::cuda {

bool split_radix_can_serve(const TopkParams&, const DeviceLimits&) {
  return true;
}

Plan plan_split_radix(const TopkParams& params, const DeviceLimits& limits) {
  using Policy = SplitRadixPolicy;
  const std::int64_t row_slots = params.num_cols * value_bytes(params.value_type) / 16 + 1;
  const std::int64_t num_sorted =
      params.order == Order::kValue ? std::min(params.k, params.num_cols) : 0;
  const std::int64_t num_candidates = std::clamp(params.num_cols / Policy::kItemsPerCandidate,
                                                 Policy::kMinCandidates, Policy::kMaxCandidates);
  std::int64_t batch_rows = std::min(
      {params.num_rows, Policy::kMaxBatchRows, Policy::kMaxBatchCandidates / num_candidates});
  if (num_sorted != 0) {
    batch_rows = std::clamp(Policy::kMaxBatchWinners / num_sorted, std::int64_t{1}, batch_rows);
  }
  const std::int64_t max_parts =
      std::min(std::int64_t{limits.num_sms} * Policy::kCtasPerSm / batch_rows,
               std::int64_t{Policy::kMaxParts});
  const std::int64_t useful_parts =
      (row_slots + Policy::kMinSlotsPerPart - 1) / Policy::kMinSlotsPerPart;

  SplitRadixShape shape{};
  shape.parts =
      static_cast<std::uint32_t>(std::max(std::min(max_parts, useful_parts), std::int64_t{1}));
  shape.batch_rows = static_cast<std::uint32_t>(batch_rows);
  shape.candidate_capacity = static_cast<std::uint32_t>(num_candidates);
  shape.sort_winners = static_cast<std::uint32_t>(num_sorted);
  shape.sorts_by_row = num_sorted <= Policy::kMaxBlockSorted;

  Plan plan{};
  plan.variant = Variant::kSplitRadix;
  plan.split_radix = shape;
  plan.grid_ctas = shape.batch_rows * shape.parts;
  plan.cta_threads = Policy::kThreads;
  plan.cluster_ctas = 1;
  plan.ctas_per_row = static_cast<std::int32_t>(shape.parts);
  plan.workspace_bytes = SplitRadixWorkspace::num_bytes(shape);
  return plan;
}

}  // namespace deepselect::cuda
