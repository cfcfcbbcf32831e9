// Launches the gate kernel in the policy that the plan chose.
#pragma once

#include "cuda/kernels/gate.cuh"
#include "cuda/kernels/gate_lane.cuh"
#include "cuda/launch/check.h"
#include "cuda/launch/dispatch.h"
#include "cuda/launch/kernel_launch.h"
#include "cuda/launch/launch.h"

namespace deepselect::cuda {

template <class Policy>
bool is_planned(const Plan& plan) {
  return plan.row_threads == Policy::kLanes && plan.items_per_thread == Policy::kItems;
}

template <ValueType kType, bool kIsBiased>
void launch_gate_of(const LaunchContext& context) {
  constexpr bool kIsNarrow = KeyMap<kType>::kIsPacked && !kIsBiased;
  const Plan& plan = context.plan;
  const KernelShape shape{plan.grid_ctas, plan.cta_threads, 0};
  const auto launch_lanes = [&](auto policy) {
    using Policy = decltype(policy);
    if (!is_planned<Policy>(plan)) return false;
    launch_kernel(context, gate_lane_kernel<kType, kIsBiased, Policy>, shape, context.params);
    return true;
  };
  const auto launch_groups = [&](auto policy) {
    using Policy = decltype(policy);
    if (!is_planned<Policy>(plan)) return false;
    launch_kernel(context, gate_kernel<kType, kIsBiased, Policy>, shape, context.params,
                  plan.batches_per_warp);
    return true;
  };
  if (plan.row_threads == GateLane8::kLanes) {
    if constexpr (kIsNarrow) {
      if (launch_lanes(GateLane128{})) return;
    }
    dispatch_policy<GateLane8, GateLane16, GateLane32, GateLane64>(Variant::kGate, launch_lanes);
    return;
  }
  if constexpr (kIsNarrow) {
    if (launch_groups(Gate8x16{})) return;
  }
  dispatch_policy<Gate2x4, Gate4x4, Gate4x8, Gate8x8, Gate16x8, Gate32x8, Gate32x16>(Variant::kGate,
                                                                                     launch_groups);
}

}  // namespace deepselect::cuda
