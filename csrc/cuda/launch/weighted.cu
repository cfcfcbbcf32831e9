#include <algorithm>
#include <stdexcept>
#include <string>

#include "cuda/kernels/weighted.cuh"
#include "cuda/launch/dispatch.h"
#include "cuda/launch/launch.h"

namespace deepselect::cuda {
namespace {

void check_launch(const char* kernel) {
  const cudaError_t status = cudaGetLastError();
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string("deepselect.topk: CUDA kernel ") + kernel +
                           ": launch: " + cudaGetErrorString(status));
}

template <ValueType kType, int kThreads>
void launch_weights_kernel(const WeightedContext& context) {
  weights_kernel<kType, kThreads>
      <<<static_cast<unsigned>(context.params.num_rows), kThreads, 0, context.stream>>>(
          context.params, context.step, context.sums,
          static_cast<std::uint32_t>(context.parts_per_row));
  check_launch("weights");
}

}  // namespace

std::int64_t weighted_parts_per_row(const TopkParams& params, const DeviceLimits& limits) {
  using Policy = WeightedPolicy;
  const std::int64_t num_slots = params.num_cols * value_bytes(params.value_type) / 16 + 1;
  const std::int64_t worthwhile = num_slots / (Policy::kThreads * Policy::kMinSlotsPerThread);
  const std::int64_t wanted = Policy::kCtasPerSm * limits.num_sms / params.num_rows;
  return std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(worthwhile, 1));
}

void launch_bias(const WeightedContext& context) {
  const TopkParams& params = context.params;
  if (params.num_cols == 0) return;
  const std::int64_t tiles_per_row =
      (params.num_cols + WeightedPolicy::kTileCols - 1) / WeightedPolicy::kTileCols;
  dispatch_score_type(params.value_type, [&](auto value_type) {
    bias_kernel<decltype(value_type)::value>
        <<<static_cast<unsigned>(params.num_rows * tiles_per_row), WeightedPolicy::kThreads, 0,
           context.stream>>>(params, context.scratch.compared,
                             static_cast<std::uint32_t>(tiles_per_row));
    check_launch("bias");
  });
}

void launch_weights(const WeightedContext& context) {
  const TopkParams& params = context.params;
  dispatch_score_type(params.value_type, [&](auto value_type) {
    constexpr ValueType kType = decltype(value_type)::value;
    if (params.weights == Weights::kSoftmax) {
      window_kernel<kType><<<static_cast<unsigned>(params.num_rows * context.parts_per_row),
                             WeightedPolicy::kThreads, 0, context.stream>>>(
          params, context.sums, static_cast<std::uint32_t>(context.parts_per_row));
      check_launch("window");
    }
    if (params.k <= WeightedPolicy::kFewWinners) {
      launch_weights_kernel<kType, kWarpThreads>(context);
    } else {
      launch_weights_kernel<kType, WeightedPolicy::kThreads>(context);
    }
  });
}

}  // namespace deepselect::cuda
