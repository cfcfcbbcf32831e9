// The op on CUDA tensors: device guard, stream, plan, workspace, launch. For every variant V there
// is also a private op deepselect::_topk_V with topk's schema, which forces it, and
// deepselect::_chosen_variant names the one that a call would take.
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>

#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "cuda/launch/launch.h"
#include "cuda/plan.h"
#include "op/entry.h"

namespace deepselect {
namespace {

using cuda::Variant;

cudaStream_t current_stream(std::int32_t device_index) {
  void* stream = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_current_cuda_stream(device_index, &stream));
  return static_cast<cudaStream_t>(stream);
}

// Memory of torch's allocator, in order on the current stream: freed on return, and reused only by
// later work of the same stream.
op::Tensor allocate_workspace(std::size_t num_bytes, std::int32_t device_index) {
  const auto size = static_cast<std::int64_t>(num_bytes);
  const std::int64_t stride = 1;
  AtenTensorHandle handle = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(1, &size, &stride, aoti_torch_dtype_uint8(),
                                                  aoti_torch_device_type_cuda(), device_index,
                                                  &handle));
  return op::Tensor(handle);
}

void launch(const cuda::LaunchContext& context) {
  switch (context.plan.variant) {
    case Variant::kRowRadix:
      return cuda::launch_row_radix(context);
    case Variant::kRowRegisters:
      return cuda::launch_row_registers(context);
    case Variant::kRowStream:
      return cuda::launch_row_stream(context);
    case Variant::kSplitStream:
      return cuda::launch_split_stream(context);
    case Variant::kSplitRadix:
      return cuda::launch_split_radix(context);
    case Variant::kClusterRow:
      return cuda::launch_cluster_row(context);
    case Variant::kGate:
      return cuda::launch_gate(context);
  }
}

void run(const TopkParams& params, std::int32_t device_index, std::optional<Variant> forced);

// A weighted call that no single kernel serves: the plain selection of what is compared, then the
// values of the positions.
void run_in_steps(const TopkParams& params, std::int32_t device_index,
                  std::optional<Variant> forced) {
  cuda::WeightedContext context{};
  context.params = params;
  context.parts_per_row = cuda::weighted_parts_per_row(params, cuda::device_limits(device_index));
  context.stream = current_stream(device_index);
  const cuda::WeightedWorkspace layout(params, context.parts_per_row);
  const op::Tensor workspace = allocate_workspace(layout.num_bytes(), device_index);
  context.scratch = layout.scratch(workspace.mutable_data_ptr());
  context.sums = layout.sums(workspace.mutable_data_ptr());
  context.step = selection_step(params, context.scratch);
  if (params.bias != nullptr) cuda::launch_bias(context);
  run(context.step, device_index, forced);
  if (params.values != nullptr) cuda::launch_weights(context);
}

void run(const TopkParams& params, std::int32_t device_index, std::optional<Variant> forced) {
  const torch::stable::accelerator::DeviceGuard guard(device_index);
  const cuda::DeviceLimits& limits = cuda::device_limits(device_index);
  const bool is_gate = forced.value_or(Variant::kGate) == Variant::kGate;
  if (is_weighted(params) && !(is_gate && cuda::can_serve(Variant::kGate, params, limits))) {
    return run_in_steps(params, device_index, forced);
  }
  cuda::LaunchContext context{};
  context.params = params;
  context.plan = cuda::make_plan(params, limits, forced);
  context.device_index = device_index;
  context.stream = current_stream(device_index);
  if (context.plan.workspace_bytes == 0) return launch(context);
  const op::Tensor workspace = allocate_workspace(context.plan.workspace_bytes, device_index);
  context.workspace = workspace.mutable_data_ptr();
  launch(context);
}

struct CudaBackend {
  static constexpr BackendLimits kLimits = kCudaLimits;
  static void run(const TopkParams& params, std::int32_t device_index) {
    deepselect::run(params, device_index, std::nullopt);
  }
};

template <Variant kVariant>
struct ForcedBackend {
  static constexpr BackendLimits kLimits = kCudaLimits;
  static void run(const TopkParams& params, std::int32_t device_index) {
    deepselect::run(params, device_index, kVariant);
  }
};

// What a plan depends on, and no more of topk's arguments.
constexpr const char kChosenVariantSchema[] =
    "_chosen_variant(Tensor input, SymInt k, Tensor? begin=None, Tensor? end=None, *, "
    "str order=\"any\") -> str";

std::string chosen_variant(const op::Tensor& input, std::int64_t k, std::optional<op::Tensor> begin,
                           std::optional<op::Tensor> end, StringHandle order) {
  const op::StringArgument order_name(order);
  const std::optional<op::Tensor> absent;
  const op::TopkArguments arguments{input,  k,         begin,  end,         absent,
                                    absent, absent,    absent, 1,           order_name.view(),
                                    true,   "largest", -1,     std::nullopt};
  const TopkParams params = op::describe_inputs(arguments, kCudaLimits);
  const cuda::DeviceLimits& limits = cuda::device_limits(input.get_device_index());
  return cuda::variant_name(cuda::make_plan(params, limits).variant);
}

using AllVariants = std::make_index_sequence<std::size(cuda::kAllVariants)>;

template <std::size_t... kIndices>
void define_all_forced(torch::stable::detail::StableLibrary& library,
                       std::index_sequence<kIndices...>) {
  (op::define_variant(library, cuda::variant_name(cuda::kAllVariants[kIndices])), ...);
}

template <std::size_t... kIndices>
void implement_all_forced(torch::stable::detail::StableLibrary& library,
                          std::index_sequence<kIndices...>) {
  (op::register_variant<ForcedBackend<cuda::kAllVariants[kIndices]>>(
       library, cuda::variant_name(cuda::kAllVariants[kIndices])),
   ...);
}

STABLE_TORCH_LIBRARY_FRAGMENT(deepselect, m) {
  define_all_forced(m, AllVariants{});
  m.def(kChosenVariantSchema);
}

STABLE_TORCH_LIBRARY_IMPL(deepselect, CUDA, m) {
  op::register_backend<CudaBackend>(m);
  implement_all_forced(m, AllVariants{});
  m.impl("_chosen_variant", TORCH_BOX(&chosen_variant));
}

}  // namespace
}  // namespace deepselect
