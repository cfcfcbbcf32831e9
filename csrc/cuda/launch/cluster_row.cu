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

}  // namespace

void launch_cluster_row(const LaunchContext& context) {
  dispatch_value_type(context.params.value_type, [&](auto value_type) {
    dispatch_policy<ClusterRow2, ClusterRow4, ClusterRow8, ClusterRow16>(
        Variant::kClusterRow, [&](auto policy) {
          using Policy = decltype(policy);
          const bool is_chosen = context.plan.cta_threads == Policy::kThreads &&
                                 context.plan.vectors_per_thread == Policy::kVectors;
          if (is_chosen) launch<decltype(value_type)::value, Policy>(context);
          return is_chosen;
        });
  });
}

}  // namespace deepselect::cuda
