// One launch function per variant: from a plan to kernels on a stream. No torch.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "cuda/plan.h"
#include "cuda/workspace/weighted.h"
#include "deepselect/contract.h"

namespace deepselect::cuda {

struct LaunchContext {
  TopkParams params;
  Plan plan;
  void* workspace;            // plan.workspace_bytes of uninitialised device memory, or null
  std::int32_t device_index;  // the current device
  cudaStream_t stream;
};

// Each enqueues the whole call and returns; throws std::runtime_error that names the variant where
// CUDA refuses.
void launch_row_radix(const LaunchContext& context);
void launch_row_registers(const LaunchContext& context);
void launch_row_stream(const LaunchContext& context);
void launch_split_stream(const LaunchContext& context);
void launch_split_radix(const LaunchContext& context);
void launch_cluster_row(const LaunchContext& context);
void launch_gate(const LaunchContext& context);
void launch_gate_biased(const LaunchContext& context);  // of launch_gate(): a file of its own

// A weighted call that takes two steps: what goes round the selection.
struct WeightedContext {
  TopkParams params;
  TopkParams step;  // the selection
  WeightedScratch scratch;
  PartSum* sums;
  std::int64_t parts_per_row;
  cudaStream_t stream;
};

// Parts in which a row is summed.
std::int64_t weighted_parts_per_row(const TopkParams& params, const DeviceLimits& limits);
void launch_bias(const WeightedContext& context);
void launch_weights(const WeightedContext& context);

// Limits of a device, read once per device and process.
const DeviceLimits& device_limits(std::int32_t device_index);

// Clusters of `cluster_ctas` CTAs that the current device holds at once, one CTA per SM; 0 where it
// refuses them.
std::int32_t resident_clusters(std::int32_t cluster_ctas, std::int32_t smem_bytes_per_cta);

}  // namespace deepselect::cuda
