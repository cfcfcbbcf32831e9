#include "cuda/kernels/row_radix.cuh"

#include "cuda/launch/check.h"
#include "cuda/launch/dispatch.h"
#include "cuda/launch/kernel_launch.h"
#include "cuda/launch/launch.h"

namespace deepselect::cuda {

void launch_row_radix(const LaunchContext& context) {
  dispatch_value_type(context.params.value_type, [&](auto value_type) {
    static KernelSetup setup;
    const auto kernel = row_radix_kernel<decltype(value_type)::value, RowRadixPolicy>;
    setup.ensure(reinterpret_cast<const void*>(kernel), context);
    launch_kernel(context, kernel,
                  {context.plan.grid_ctas, RowRadixPolicy::kThreads, context.plan.smem_bytes},
                  context.params, static_cast<std::uint32_t>(context.plan.survivor_capacity));
  });
}

}  // namespace deepselect::cuda
