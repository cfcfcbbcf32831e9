#include "cuda/call_kind.h"
#include "cuda/kernels/row_stream.cuh"
#include "cuda/launch/check.h"
#include "cuda/launch/dispatch.h"
#include "cuda/launch/kernel_launch.h"
#include "cuda/launch/launch.h"

namespace deepselect::cuda {
namespace {

template <ValueType kType, class Policy, CallKind kKind>
void launch_kind(const LaunchContext& context) {
  static KernelSetup setup;
  const auto kernel = row_stream_kernel<kType, Policy, kKind>;
  setup.ensure(reinterpret_cast<const void*>(kernel), context);
  const Plan& plan = context.plan;
  KernelShape shape{plan.grid_ctas, plan.cta_threads, plan.smem_bytes};
  shape.starts_early = true;
  launch_kernel(context, kernel, shape, context.params,
                static_cast<std::uint32_t>(plan.survivor_capacity),
                static_cast<std::uint32_t>(plan.resident_ctas));
}

template <ValueType kType, class Policy>
void launch(const LaunchContext& context) {
  // All but the last want no order.
  const bool is_any_order = context.params.order == Order::kAny;
  switch (is_any_order ? call_kind(context.params) : CallKind::kAny) {
    case CallKind::kWholeRows:
      return launch_kind<kType, Policy, CallKind::kWholeRows>(context);
    case CallKind::kWindows:
      return launch_kind<kType, Policy, CallKind::kWindows>(context);
    case CallKind::kAny:
      return launch_kind<kType, Policy, CallKind::kAny>(context);
  }
}

}  // namespace

void launch_row_stream(const LaunchContext& context) {
  dispatch_value_type(context.params.value_type, [&](auto value_type) {
    dispatch_policy<RowStreamMany, RowStreamFew>(Variant::kRowStream, [&](auto policy) {
      using Policy = decltype(policy);
      const bool is_chosen = context.plan.cta_threads == Policy::kThreads;
      if (is_chosen) launch<decltype(value_type)::value, Policy>(context);
      return is_chosen;
    });
  });
}

}  // namespace deepselect::cuda

DEEPSELECT_EXPORT_PASS_COUNTS()
