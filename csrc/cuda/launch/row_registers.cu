#include "cuda/kernels/row_registers.cuh"

#include "cuda/launch/check.h"
#include "cuda/launch/dispatch.h"
#include "cuda/launch/launch.h"

namespace deepselect::cuda {
namespace {

template <ValueType kType, class Policy>
void launch(const LaunchContext& context) {
  static KernelSetup setup;
  const auto kernel = row_registers_kernel<kType, Policy>;
  setup.ensure(reinterpret_cast<const void*>(kernel), context);
  constexpr int kCtaThreads = Policy::kThreads * Policy::kTeams;
  kernel<<<context.plan.grid_ctas, kCtaThreads, context.plan.smem_bytes, context.stream>>>(
      context.params, static_cast<std::uint32_t>(context.plan.smem_bytes / Policy::kTeams));
  check_cuda(Variant::kRowRegisters, "launch", cudaGetLastError());
}

// Launches the policy that the plan chose; false where it is none of these.
template <ValueType kType, class... Policies>
bool launch_one_of(const LaunchContext& context) {
  const auto is_chosen = [&](int threads, int vectors) {
    return context.plan.row_threads == threads && context.plan.vectors_per_thread == vectors;
  };
  return ((is_chosen(Policies::kThreads, Policies::kVectors) &&
           (launch<kType, Policies>(context), true)) ||
          ...);
}

}  // namespace

void launch_row_registers(const LaunchContext& context) {
  dispatch_value_type(context.params.value_type, [&](auto value_type) {
    constexpr ValueType kType = decltype(value_type)::value;
    launch_one_of<kType, RowRegisters32x1, RowRegisters32x4, RowRegisters64x4, RowRegisters128x4,
                  RowRegisters256x4, RowRegisters512x4, RowRegisters256x1, RowRegisters512x1,
                  RowRegisters1024x1, RowRegisters1024x2>(context);
  });
}

}  // namespace deepselect::cuda
