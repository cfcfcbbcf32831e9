#include <algorithm>
#include <cstdint>

#include "cuda/common/router_call.h"
#include "cuda/plan/planners.h"
#include "cuda/tuning/gate.h"

namespace deepselect::cuda {
namespace {

Plan plan_gate_lane(const TopkParams& params) {
  using Policy = GateLanePolicy;
  Plan plan{};
  plan.variant = Variant::kGate;
  plan.grid_ctas = static_cast<std::uint32_t>((params.num_rows + Policy::kCtaThreads - 1) /
                                              Policy::kCtaThreads);
  plan.cta_threads = Policy::kCtaThreads;
  plan.row_threads = Policy::kLanes;
  plan.items_per_thread = Policy::kItems;
  plan.cluster_ctas = 1;
  return plan;
}

// The smallest policy that holds the row.
template <class Policy, class... Others>
Plan smallest(const TopkParams& params, const DeviceLimits& limits) {
  if constexpr (sizeof...(Others) > 0) {
    if (params.num_cols > Policy::kMaxCols) return smallest<Others...>(params, limits);
  }
  Plan plan{};
  plan.variant = Variant::kGate;
  const bool is_few = params.num_rows <= kGateFewRowsPerSm * limits.num_sms;
  plan.batches_per_warp = is_few ? 1 : Policy::kBatches;
  const std::int64_t cta_rows = Policy::kWarps * Policy::kGroups * plan.batches_per_warp;
  plan.grid_ctas = static_cast<std::uint32_t>((params.num_rows + cta_rows - 1) / cta_rows);
  plan.cta_threads = Policy::kCtaThreads;
  plan.row_threads = Policy::kLanes;
  plan.items_per_thread = Policy::kItems;
  plan.cluster_ctas = 1;
  return plan;
}

}  // namespace

bool gate_can_serve(const TopkParams& params, const DeviceLimits&) {
  return params.num_cols <= kGateMaxCols && std::min(params.k, params.num_cols) <= kGateMaxWinners;
}

Plan plan_gate(const TopkParams& params, const DeviceLimits& limits) {
  constexpr std::int64_t kLaneItems = GateLanePolicy::kItems;
  if (params.num_cols <= kLaneItems && is_router_call(params, kLaneItems)) {
    return plan_gate_lane(params);
  }
  return smallest<Gate2x4, Gate4x4, Gate8x4, Gate8x8, Gate16x8, Gate32x8, Gate32x16>(params,
                                                                                     limits);
}

}  // namespace deepselect::cuda
