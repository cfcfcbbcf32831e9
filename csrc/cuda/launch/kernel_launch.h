// A launch with attributes, checked.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "cuda/launch/check.h"

namespace deepselect::cuda {

struct KernelShape {
  std::uint32_t grid_ctas;
  std::int32_t cta_threads;
  std::size_t smem_bytes;
  std::int32_t cluster_ctas = 1;
  // Programmatic dependent launch: the kernel may start while its predecessor in the stream ends,
  // and calls ptx::wait_for_dependencies() before it relies on anything of it.
  bool starts_early = false;
};

template <class... Parameters>
void launch_kernel(const LaunchContext& context, void (*kernel)(Parameters...),
                   const KernelShape& shape, const Parameters&... arguments) {
  cudaLaunchAttribute attributes[2];
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(shape.grid_ctas);
  config.blockDim = dim3(static_cast<unsigned>(shape.cta_threads));
  config.dynamicSmemBytes = shape.smem_bytes;
  config.stream = context.stream;
  config.attrs = attributes;
  if (shape.cluster_ctas > 1) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = static_cast<unsigned>(shape.cluster_ctas);
    attribute.val.clusterDim.y = 1;
    attribute.val.clusterDim.z = 1;
  }
  if (shape.starts_early && device_limits(context.device_index).compute_capability >= 90) {
    cudaLaunchAttribute& attribute = attributes[config.numAttrs++];
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
  }
  check_cuda(context.plan.variant, "launch",
             cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...));
}

}  // namespace deepselect::cuda
