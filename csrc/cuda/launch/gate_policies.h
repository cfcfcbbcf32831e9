// Launches the gate kernel in the policy that the plan chose.
#pragma once

#include "cuda/kernels/gate.cuh"
#include "cuda/kernels/gate_lane.cuh"
#include "cuda/launch/check.h"
#include "cuda/launch/dispatch.h"
#include "cuda/launch/kernel_launch.h"
#include "cuda/launch/launch.h"

namespace deepselect::cuda {

template <ValueType kType, bool kIsBiased>
void launch_gate_of(const LaunchContext& context) {
  const Plan& plan = context.plan;
  const KernelShape shape{plan.grid_ctas, plan.cta_threads, 0};
  if (plan.row_threads == GateLanePolicy::kLanes) {
    launch_kernel(context, gate_lane_kernel<kType, kIsBiased, GateLanePolicy>, shape,
                  context.params);
    return;
  }
  dispatch_policy<Gate2x4, Gate4x4, Gate8x4, Gate8x8, Gate16x8, Gate32x8, Gate32x16>(
      Variant::kGate, [&](auto policy) {
        using Policy = decltype(policy);
        if (plan.row_threads != Policy::kLanes || plan.items_per_thread != Policy::kItems) {
          return false;
        }
        launch_kernel(context, gate_kernel<kType, kIsBiased, Policy>, shape, context.params,
                      plan.batches_per_warp);
        return true;
      });
}

}  // namespace deepselect::cuda
