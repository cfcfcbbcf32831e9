#include "cuda/kernels/split_stream.cuh"

#include "cuda/launch/check.h"
#include "cuda/launch/dispatch.h"
#include "cuda/launch/kernel_launch.h"
#include "cuda/launch/launch.h"

namespace deepselect::cuda {
namespace {

template <ValueType kType, class Policy>
void launch(const LaunchContext& context) {
  const TopkParams& params = context.params;
  const Plan& plan = context.plan;
  const SplitStreamShape& shape = plan.split_stream;
  const auto num_rows = static_cast<std::uint32_t>(params.num_rows);
  const auto workspace = SplitStreamWorkspace::at(context.workspace, shape, num_rows);
  const auto sample = split_stream_sample_kernel<kType, Policy>;
  const auto filter = split_stream_filter_kernel<kType, Policy>;
  static KernelSetup sample_setup;
  static KernelSetup filter_setup;
  // A multiprocessor has to be idle to change its share of shared memory: the filter would not
  // start beside a sample that runs with another.
  sample_setup.ensure(reinterpret_cast<const void*>(sample), context, false,
                      Policy::kSmemCarveoutPercent);
  filter_setup.ensure(reinterpret_cast<const void*>(filter), context, false,
                      Policy::kSmemCarveoutPercent);

  KernelShape launch_shape{num_rows * shape.sample_ctas, Policy::kSampleThreads, 0};
  launch_kernel(context, sample, launch_shape, params, shape, workspace);
  launch_shape = {plan.grid_ctas, plan.cta_threads, plan.smem_bytes};
  launch_shape.starts_early = true;
  launch_kernel(context, filter, launch_shape, params, shape, workspace);
}

}  // namespace

void launch_split_stream(const LaunchContext& context) {
  dispatch_value_type(context.params.value_type, [&](auto value_type) {
    dispatch_policy<SplitStreamOneRow, SplitStreamRows>(Variant::kSplitStream, [&](auto policy) {
      using Policy = decltype(policy);
      const bool is_chosen = context.plan.vectors_per_thread == Policy::kFilterVectors;
      if (is_chosen) launch<decltype(value_type)::value, Policy>(context);
      return is_chosen;
    });
  });
}

}  // namespace deepselect::cuda

DEEPSELECT_EXPORT_PASS_COUNTS()
