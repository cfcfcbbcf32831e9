// Launches of the row_registers variant for one value type: instantiated in two files, so that
// their many kernels are compiled side by side.
#pragma once

#include <cstdint>

#include "cuda/kernels/row_registers.cuh"
#include "cuda/launch/check.h"
#include "cuda/launch/kernel_launch.h"
#include "cuda/launch/launch.h"
#include "deepselect/row_view.h"

namespace deepselect::cuda {
namespace detail {

// Whether indices of whole rows are all there is to write, and rows begin at whole slots: the
// kernel then comes without what the rest needs.
inline bool is_plain_call(const TopkParams& params) {
  const std::int64_t row_stride_bytes =
      params.input_row_stride_items * value_bytes(params.value_type);
  return !reads_row_tensors(params) && params.values == nullptr && params.raw_indices == nullptr &&
         params.index_type == IndexType::kInt32 && params.order != Order::kValue &&
         reinterpret_cast<std::uintptr_t>(params.input) % 16 == 0 &&
         (params.num_rows == 1 || row_stride_bytes % 16 == 0);
}

template <ValueType kType, class Policy, bool kIsPlain>
void launch_policy(const LaunchContext& context) {
  static KernelSetup setup;
  const auto kernel = row_registers_kernel<kType, Policy, kIsPlain>;
  setup.ensure(reinterpret_cast<const void*>(kernel), context);
  KernelShape shape{context.plan.grid_ctas, Policy::kThreads * Policy::kTeams,
                    context.plan.smem_bytes};
  shape.starts_early = true;
  launch_kernel(context, kernel, shape, context.params,
                static_cast<std::uint32_t>(context.plan.smem_bytes / Policy::kTeams));
}

// Launches the policy that the plan chose; false where it is none of these.
template <ValueType kType, class... Policies>
bool launch_one_of(RowRegistersPolicyList<Policies...>, const LaunchContext& context) {
  const bool is_plain = is_plain_call(context.params);
  const auto is_chosen = [&](int threads, int vectors) {
    return context.plan.row_threads == threads && context.plan.vectors_per_thread == vectors;
  };
  return ((is_chosen(Policies::kThreads, Policies::kVectors) &&
           (is_plain ? launch_policy<kType, Policies, true>(context)
                     : launch_policy<kType, Policies, false>(context),
            true)) ||
          ...);
}

}  // namespace detail

template <ValueType kType>
void launch_row_registers_of(const LaunchContext& context) {
  const bool is_launched = detail::launch_one_of<kType>(RowRegistersPolicies{}, context);
  if constexpr (value_bytes(kType) == 4) {
    if (!is_launched) detail::launch_one_of<kType>(RowRegistersPolicies32Bit{}, context);
  }
}

}  // namespace deepselect::cuda
