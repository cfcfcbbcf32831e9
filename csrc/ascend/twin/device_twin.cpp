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

// For tests (tests/ascend_twin.py): the architecture that later calls run on.
extern "C" [[gnu::visibility("default")]] void deepselect_twin_use_dav(int number) {
  using deepselect::ascend::Architecture;
  deepselect::twin::device().architecture =
      number == 2201 ? Architecture::kDav2201 : Architecture::kDav3510;
}
