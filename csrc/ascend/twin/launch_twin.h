// Running a launch on the twin, core after core.
#pragma once

#include <cstdint>

#include "ascend/launch.h"
#include "ascend/twin/machine.h"

namespace deepselect::twin {

// What launch() runs on: as many cores as this, and where their counts go. Null: nowhere.
struct Device {
  ascend::Architecture architecture = ascend::Architecture::kDav3510;
  std::uint32_t num_vector_cores = 4;
  Counts* counts = nullptr;             // sum over cores
  Counts* slowest_core_scan = nullptr;  // of the core that copied most in, first launch
};

Device& device();

}  // namespace deepselect::twin
