// Every CUDA call of a launch is checked where it is made; the error names the variant.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "cuda/launch/launch.h"

namespace deepselect::cuda {

[[noreturn]] void raise_cuda_error(Variant variant, const char* what, cudaError_t status);

inline void check_cuda(Variant variant, const char* what, cudaError_t status) {
  if (status != cudaSuccess) raise_cuda_error(variant, what, status);
}

// Lets a kernel use more than 48 KB of dynamic shared memory (and clusters beyond the portable
// size), once per device: the attributes cost microseconds of host time, too much for every call.
// One static instance per kernel.
class KernelSetup {
 public:
  // `smem_carveout_percent` of an SM's memory are asked for as shared memory; negative: the driver
  // chooses.
  void ensure(const void* kernel, const LaunchContext& context,
              bool allow_non_portable_cluster = false, std::int32_t smem_carveout_percent = -1);

 private:
  static constexpr std::int32_t kMaxDevices = 64;
  // Setting an attribute twice is harmless, so a race of two first calls needs no lock.
  std::array<std::atomic<bool>, kMaxDevices> done_{};
};

}  // namespace deepselect::cuda
