#include "cuda/launch/check.h"

#include <iterator>
#include <mutex>
#include <stdexcept>
#include <string>

namespace deepselect::cuda {
namespace {

std::int32_t attribute(cudaDeviceAttr name, std::int32_t device_index) {
  int value = 0;
  const cudaError_t status = cudaDeviceGetAttribute(&value, name, device_index);
  if (status != cudaSuccess) {
    throw std::runtime_error(std::string("deepselect.topk: cannot read the limits of cuda:") +
                             std::to_string(device_index) + ": " + cudaGetErrorString(status));
  }
  return value;
}

DeviceLimits read_limits(std::int32_t device_index) {
  DeviceLimits limits{};
  limits.compute_capability = 10 * attribute(cudaDevAttrComputeCapabilityMajor, device_index) +
                              attribute(cudaDevAttrComputeCapabilityMinor, device_index);
  limits.num_sms = attribute(cudaDevAttrMultiProcessorCount, device_index);
  limits.smem_bytes_per_cta = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, device_index);
  limits.smem_bytes_per_sm = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device_index);
  if (attribute(cudaDevAttrClusterLaunch, device_index) != 0) {
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(std::size(limits.resident_clusters));
         ++i) {
      limits.resident_clusters[i] = resident_clusters(1 << i, limits.smem_bytes_per_cta);
      if (limits.resident_clusters[i] > 0) limits.max_cluster_ctas = 1 << i;
    }
  }
  return limits;
}

}  // namespace

void raise_cuda_error(Variant variant, const char* what, cudaError_t status) {
  // Clears an error that is not sticky, so that it is not reported again by an unrelated call.
  cudaGetLastError();
  throw std::runtime_error(std::string("deepselect.topk: CUDA variant ") + variant_name(variant) +
                           ": " + what + ": " + cudaGetErrorString(status));
}

void KernelSetup::ensure(const void* kernel, const LaunchContext& context,
                         bool allow_non_portable_cluster) {
  const std::int32_t device = context.device_index;
  const bool is_known = device < kMaxDevices;
  if (is_known && done_[device].load(std::memory_order_acquire)) return;
  cudaFuncAttributes attributes{};
  check_cuda(context.plan.variant, "cudaFuncGetAttributes",
             cudaFuncGetAttributes(&attributes, kernel));
  const std::int32_t dynamic_bytes = device_limits(device).smem_bytes_per_cta -
                                     static_cast<std::int32_t>(attributes.sharedSizeBytes);
  check_cuda(
      context.plan.variant, "cudaFuncSetAttribute",
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, dynamic_bytes));
  if (allow_non_portable_cluster) {
    check_cuda(context.plan.variant, "cudaFuncSetAttribute",
               cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  }
  if (is_known) done_[device].store(true, std::memory_order_release);
}

const DeviceLimits& device_limits(std::int32_t device_index) {
  constexpr std::int32_t kMaxDevices = 64;
  static std::array<std::once_flag, kMaxDevices> once;
  static std::array<DeviceLimits, kMaxDevices> limits;
  if (device_index < 0 || device_index >= kMaxDevices) {
    throw std::runtime_error("deepselect.topk: device index " + std::to_string(device_index) +
                             " is outside [0, " + std::to_string(kMaxDevices) + ")");
  }
  std::call_once(once[device_index], [&] { limits[device_index] = read_limits(device_index); });
  return limits[device_index];
}

}  // namespace deepselect::cuda
