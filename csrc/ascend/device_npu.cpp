// The device side of torch_npu and of the CANN runtime.
#include <acl/acl.h>
#include <torch_npu/csrc/core/npu/NPUStream.h>

#include <stdexcept>
#include <string>

#include "ascend/device.h"

namespace deepselect::ascend {
namespace {

// DEEPSELECT_ASCEND_ARCH, as the build passes it on.
constexpr Architecture kArchitecture =
    DEEPSELECT_DAV == 2201 ? Architecture::kDav2201 : Architecture::kDav3510;

}  // namespace

DeviceLimits device_limits(std::int32_t device_index) {
  std::int64_t num_cores = 0;
  const aclError error = aclrtGetDeviceInfo(static_cast<std::uint32_t>(device_index),
                                            ACL_DEV_ATTR_VECTOR_CORE_NUM, &num_cores);
  if (error != ACL_SUCCESS || num_cores < 1) {
    throw std::runtime_error(
        "deepselect.topk: npu: the number of vector cores cannot be read, "
        "aclrtGetDeviceInfo gave " +
        std::to_string(error));
  }
  return {kArchitecture, static_cast<std::uint32_t>(num_cores)};
}

// stream() flushes torch_npu's task queue first; stream(false) would overtake queued operations.
void* current_stream(std::int32_t device_index) {
  return c10_npu::getCurrentNPUStream(static_cast<c10::DeviceIndex>(device_index)).stream();
}

}  // namespace deepselect::ascend
