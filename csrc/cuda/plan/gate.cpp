#include <algorithm>
#include <cstdint>

#include "cuda/common/router_call.h"
#include "cuda/plan/planners.h"
#include "cuda/tuning/gate.h"

namespace deepselect::cuda {
namespace {

bool is_few_rows(const TopkParams& params, const DeviceLimits& limits) {
  return params.num_rows <= kGateFewRowsPerSm * limits.num_sms;
}

std::int64_t lane_wave_rows(const DeviceLimits& limits) {
  return std::int64_t{GateLane32::kCtaThreads} * limits.num_sms;
}

bool fills_lanes(const TopkParams& params, const DeviceLimits& limits) {
  const std::int64_t wave_rows = lane_wave_rows(limits);
  const std::int64_t num_waves = (params.num_rows + wave_rows - 1) / wave_rows;
  return params.num_rows * 100 >= num_waves * wave_rows * kGateLaneBusyPercent;
}

template <class Policy>
Plan plan_lanes(const TopkParams& params) {
  Plan plan{};
  plan.variant = Variant::kGate;
  plan.grid_ctas =
      static_cast<std::uint32_t>((params.num_rows + Policy::kCtaThreads - 1) / Policy::kCtaThreads);
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
  plan.batches_per_warp = is_few_rows(params, limits) ? 1 : Policy::kBatches;
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
  const bool is_narrow = value_bytes(params.value_type) == 2 && params.bias == nullptr;
  if (is_router_call(params, GateLane8::kMaxWinners)) {
    if (params.num_cols <= GateLane8::kItems) return plan_lanes<GateLane8>(params);
    if (params.num_cols <= GateLane16::kItems) return plan_lanes<GateLane16>(params);
    if (fills_lanes(params, limits)) {
      if (params.num_cols <= GateLane32::kItems) return plan_lanes<GateLane32>(params);
      if (params.num_cols <= GateLane64::kItems &&
          (is_narrow || params.k <= GateLane64::kFewWinners)) {
        return plan_lanes<GateLane64>(params);
      }
      if (is_narrow && params.num_cols <= GateLane128::kItems &&
          params.num_rows >= kGateLongLaneWaves * lane_wave_rows(limits)) {
        return plan_lanes<GateLane128>(params);
      }
    }
  }
  if (is_narrow && !is_few_rows(params, limits)) {
    return smallest<Gate2x4, Gate4x4, Gate4x8, Gate8x8, Gate8x16, Gate32x8, Gate32x16>(params,
                                                                                       limits);
  }
  return smallest<Gate2x4, Gate4x4, Gate4x8, Gate8x8, Gate16x8, Gate32x8, Gate32x16>(params,
                                                                                     limits);
}

}  // namespace deepselect::cuda
