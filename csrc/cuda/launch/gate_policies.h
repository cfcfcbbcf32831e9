// Launches the gate kernel in the policy that the plan chose.
#pragma once

#include "cuda/kernels/gate.cuh"
#include "cuda/launch/check.h"
#include "cuda/launch/dispatch.h"
#include "cuda/launch/launch.h"

namespace deepselect::cuda {

template <ValueType kType, bool kIsBiased>
void launch_gate_of(const LaunchContext& context) {
  dispatch_policy<Gate2x4, Gate4x4, Gate8x4, Gate8x8, Gate16x8, Gate32x8, Gate32x16>(
      Variant::kGate, [&](auto policy) {
        using Policy = decltype(policy);
        if (context.plan.row_threads != Policy::kLanes ||
            context.plan.items_per_thread != Policy::kItems) {
          return false;
        }
        gate_kernel<kType, kIsBiased, Policy>
            <<<context.plan.grid_ctas, Policy::kCtaThreads, 0, context.stream>>>(
                context.params, context.plan.batches_per_warp);
        check_cuda(Variant::kGate, "launch", cudaGetLastError());
        return true;
      });
}

}  // namespace deepselect::cuda
