// Launches of the row_registers variant for one value type: instantiated in two files, so that
// their many kernels are compiled side by side.
#pragma once

#include <cstdint>

#include "cuda/kernels/row_registers.cuh"
#include "cuda/launch/check.h"
#include "cuda/launch/dispatch.h"
#include "cuda/launch/kernel_launch.h"
#include "cuda/launch/launch.h"
#include "deepselect/row_view.h"

namespace deepselect::cuda {
namespace detail {

// Which kernel serves a call.
inline RowRegistersCall call_of(const TopkParams& params) {
  if (params.index_offset.data != nullptr || params.page_table != nullptr ||
      params.values != nullptr || params.raw_indices != nullptr ||
      params.index_type != IndexType::kInt32 || params.order == Order::kValue) {
    return RowRegistersCall::kAny;
  }
  const std::int64_t row_stride_bytes =
      params.input_row_stride_items * value_bytes(params.value_type);
  const bool begins_at_slots = reinterpret_cast<std::uintptr_t>(params.input) % 16 == 0 &&
                               (params.num_rows == 1 || row_stride_bytes % 16 == 0);
  return begins_at_slots && !reads_row_tensors(params) ? RowRegistersCall::kWholeRows
                                                       : RowRegistersCall::kWindows;
}

template <ValueType kType, class Policy, RowRegistersCall kCall>
void launch_policy(const LaunchContext& context) {
  static KernelSetup setup;
  const auto kernel = row_registers_kernel<kType, Policy, kCall>;
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
  const RowRegistersCall call = call_of(context.params);
  const auto try_launch = [&](auto policy) {
    using Policy = decltype(policy);
    if (context.plan.row_threads != Policy::kThreads ||
        context.plan.vectors_per_thread != Policy::kVectors) {
      return false;
    }
    switch (call) {
      case RowRegistersCall::kWholeRows:
        launch_policy<kType, Policy, RowRegistersCall::kWholeRows>(context);
        break;
      case RowRegistersCall::kWindows:
        launch_policy<kType, Policy, RowRegistersCall::kWindows>(context);
        break;
      case RowRegistersCall::kAny:
        launch_policy<kType, Policy, RowRegistersCall::kAny>(context);
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
