// What the op needs of the device that torch runs on: torch_npu's on hardware (device_npu.cpp), the
// twin's in tests (twin/device_twin.cpp).
#pragma once

#include <cstdint>

#include "ascend/plan.h"

namespace deepselect::ascend {

DeviceLimits device_limits(std::int32_t device_index);

// The stream to launch on, an aclrtStream; everything queued before on torch's side is in it.
void* current_stream(std::int32_t device_index);

}  // namespace deepselect::ascend
