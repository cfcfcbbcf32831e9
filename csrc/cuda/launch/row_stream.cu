#include "cuda/kernels/row_stream.cuh"

#include "cuda/launch/check.h"
#include "cuda/launch/dispatch.h"
#include "cuda/launch/launch.h"

namespace deepselect::cuda {
namespace {

template <ValueType kType, class Policy>
void launch(const LaunchContext& context) {
  static KernelSetup setup;
  const auto kernel = row_stream_kernel<kType, Policy>;
  setup.ensure(reinterpret_cast<const void*>(kernel), context);
  kernel<<<context.plan.grid_ctas, Policy::kThreads, context.plan.smem_bytes, context.stream>>>(
      context.params, static_cast<std::uint32_t>(context.plan.survivor_capacity),
      static_cast<std::uint32_t>(context.plan.resident_ctas));
  check_cuda(Variant::kRowStream, "launch", cudaGetLastError());
}

// Launches the policy that the plan chose.
template <ValueType kType, class... Policies>
void launch_one_of(const LaunchContext& context) {
  const auto is_chosen = [&](int threads, int tile_vectors) {
    return context.plan.cta_threads == threads && context.plan.vectors_per_thread == tile_vectors;
  };
  static_cast<void>(((is_chosen(Policies::kThreads, Policies::kTileVectors) &&
                      (launch<kType, Policies>(context), true)) ||
                     ...));
}

}  // namespace

void launch_row_stream(const LaunchContext& context) {
  dispatch_value_type(context.params.value_type, [&](auto value_type) {
    launch_one_of<decltype(value_type)::value, RowStreamMid, RowStreamMidLargeK, RowStreamLong,
                  RowStreamHuge>(context);
  });
}

}  // namespace deepselect::cuda

DEEPSELECT_EXPORT_PASS_COUNTS()
