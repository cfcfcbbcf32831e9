// The op on NPU tensors: device guard, plan, workspace, launch. Torch knows NPUs as PrivateUse1.
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/library.h>

#include "ascend/device.h"
#include "ascend/launch.h"
#include "op/entry.h"

namespace deepselect {
namespace {

// Memory of torch's allocator, in order on the current stream: freed on return, and reused only by
// later work of the same stream.
op::Tensor allocate_workspace(std::size_t num_bytes, std::int32_t device_index) {
  const auto size = static_cast<std::int64_t>(num_bytes);
  const std::int64_t stride = 1;
  AtenTensorHandle handle = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(1, &size, &stride, aoti_torch_dtype_uint8(),
                                                  aoti_torch_device_type_privateuse1(),
                                                  device_index, &handle));
  return op::Tensor(handle);
}

struct AscendBackend {
  static constexpr BackendLimits kLimits = kAscendLimits;

  static void run(const TopkParams& params, std::int32_t device_index) {
    const torch::stable::accelerator::DeviceGuard guard(device_index);
    ascend::LaunchContext context{};
    context.params = params;
    context.plan = ascend::make_plan(params, ascend::device_limits(device_index));
    context.stream = ascend::current_stream(device_index);
    if (context.plan.workspace_bytes == 0) return ascend::launch(context);
    const op::Tensor workspace = allocate_workspace(context.plan.workspace_bytes, device_index);
    context.workspace = workspace.mutable_data_ptr();
    ascend::launch(context);
  }
};

STABLE_TORCH_LIBRARY_IMPL(deepselect, PrivateUse1, m) {
  op::register_backend<AscendBackend>(m);
}

}  // namespace
}  // namespace deepselect
