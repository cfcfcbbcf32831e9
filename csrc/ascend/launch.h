// Launches of the kernels: on a device by kernels/launch_3510.asc, on the host by
// twin/launch_twin.cpp.
#pragma once

#include "ascend/plan.h"

namespace deepselect::ascend {

struct LaunchContext {
  TopkParams params;
  Plan plan;
  void* workspace;  // plan.workspace_bytes, or null
  void* stream;
};

void launch(const LaunchContext& context);

}  // namespace deepselect::ascend
