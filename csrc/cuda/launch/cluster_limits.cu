#include <cuda_runtime_api.h>

#include "cuda/launch/launch.h"

namespace deepselect::cuda {
namespace {

__global__ void probe_kernel() {}

}  // namespace

std::int32_t resident_clusters(std::int32_t cluster_ctas, std::int32_t smem_bytes_per_cta) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = static_cast<unsigned>(cluster_ctas);
  attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(cluster_ctas));
  config.blockDim = dim3(32);
  // All of the shared memory that a CTA may have: two do not share a multiprocessor.
  config.dynamicSmemBytes = static_cast<std::size_t>(smem_bytes_per_cta);
  config.attrs = &attribute;
  config.numAttrs = 1;
  int num_clusters = 0;
  const bool is_known =
      cudaFuncSetAttribute(probe_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           smem_bytes_per_cta) == cudaSuccess &&
      cudaFuncSetAttribute(probe_kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) ==
          cudaSuccess &&
      cudaOccupancyMaxActiveClusters(&num_clusters, probe_kernel, &config) == cudaSuccess;
  // Clears the error of a refusal, which would be reported again by an unrelated call.
  if (!is_known) cudaGetLastError();
  return is_known ? num_clusters : 0;
}

}  // namespace deepselect::cuda
