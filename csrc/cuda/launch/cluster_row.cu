#include "cuda/kernels/cluster_row.cuh"

#include "cuda/launch/check.h"
#include "cuda/launch/dispatch.h"
#include "cuda/launch/kernel_launch.h"
#include "cuda/launch/launch.h"

namespace deepselect::cuda {
namespace {

template <ValueType kType, class Policy>
void launch(const LaunchContext& context) {
  static KernelSetup setup;
  const auto kernel = cluster_row_kernel<kType, Policy>;
  setup.ensure(reinterpret_cast<const void*>(kernel), context, true);
  KernelShape shape{context.plan.grid_ctas, Policy::kThreads, context.plan.smem_bytes};
  shape.cluster_ctas = context.plan.cluster_ctas;
  shape.starts_early = true;
  launch_kernel(context, kernel, shape, context.params, context.plan.cluster_row);
}

template <ValueType kType, class... Policies>
void launch_one_of(const LaunchContext& context) {
  const auto is_chosen = [&](int threads, int vectors) {
    return context.plan.cta_threads == threads && context.plan.vectors_per_thread == vectors;
  };
  static_cast<void>(((is_chosen(Policies::kThreads, Policies::kVectors) &&
                      (launch<kType, Policies>(context), true)) ||
                     ...));
}

}  // namespace

void launch_cluster_row(const LaunchContext& context) {
  dispatch_value_type(context.params.value_type, [&](auto value_type) {
    launch_one_of<decltype(value_type)::value, ClusterRow2, ClusterRow4, ClusterRow8, ClusterRow16>(
        context);
  });
}

}  // namespace deepselect::cuda
