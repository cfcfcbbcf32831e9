// Launches of the row_registers variant for one value type: instantiated in two files, so that
// their many kernels are compiled side by side.
#pragma once

#include <cstdint>

#include "cuda/call_kind.h"
#include "cuda/kernels/row_registers.cuh"
#include "cuda/launch/check.h"
#include "cuda/launch/dispatch.h"
#include "cuda/launch/kernel_launch.h"
#include "cuda/launch/launch.h"

namespace deepselect::cuda {
namespace detail {

template <ValueType kType, class Policy, CallKind kKind>
void launch_policy(const LaunchContext& context) {
  static KernelSetup setup;
  const auto kernel = row_registers_kernel<kType, Policy, kKind>;
  setup.ensure(reinterpret_cast<const void*>(kernel), context);
  KernelShape shape{context.plan.grid_ctas, Policy::kThreads * Policy::kTeams,
                    context.plan.smem_bytes};
  shape.starts_early = true;
  launch_kernel(context, kernel, shape, context.params,
                static_cast<std::uint32_t>(context.plan.smem_bytes / Policy::kTeams));
}

// Launches the policy that the plan chose.
template <ValueType kType, class... Policies, class... Policies32Bit>
void launch_one_of(RowRegistersPolicyList<Policies...>, RowRegistersPolicyList<Policies32Bit...>,
                   const LaunchContext& context) {
  const CallKind kind = call_kind(context.params);
  const auto try_launch = [&](auto policy) {
    using Policy = decltype(policy);
    if (context.plan.row_threads != Policy::kThreads ||
        context.plan.vectors_per_thread != Policy::kVectors) {
      return false;
    }
    switch (kind) {
      case CallKind::kWholeRows:
        launch_policy<kType, Policy, CallKind::kWholeRows>(context);
        break;
      case CallKind::kWindows:
        launch_policy<kType, Policy, CallKind::kWindows>(context);
        break;
      case CallKind::kAny:
        launch_policy<kType, Policy, CallKind::kAny>(context);
        break;
    }
    return true;
  };
  if constexpr (value_bytes(kType) == 4) {
    dispatch_policy<Policies..., Policies32Bit...>(Variant::kRowRegisters, try_launch);
  } else {
    dispatch_policy<Policies...>(Variant::kRowRegisters, try_launch);
  }
}

}  // namespace detail

template <ValueType kType>
void launch_row_registers_of(const LaunchContext& context) {
  detail::launch_one_of<kType>(RowRegistersPolicies{}, RowRegistersPolicies32Bit{}, context);
}

}  // namespace deepselect::cuda
