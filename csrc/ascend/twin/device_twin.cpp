// The device that the op sees over the twin: host memory, no streams.
#include "ascend/device.h"
#include "ascend/twin/launch_twin.h"

namespace deepselect::ascend {

DeviceLimits device_limits(std::int32_t /*device_index*/) {
  return {twin::device().architecture, twin::device().num_vector_cores};
}

void* current_stream(std::int32_t /*device_index*/) {
  return nullptr;
}

}  // namespace deepselect::ascend
