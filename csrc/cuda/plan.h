// Which variant serves a call, and with what resources: a pure function of the call and the
// device's limits, tested without a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "cuda/variant.h"
#include "cuda/workspace/split_radix.h"
#include "cuda/workspace/split_stream.h"
#include "deepselect/contract.h"

namespace deepselect::cuda {

// What a plan may depend on, read once per device.
struct DeviceLimits {
  std::int32_t compute_capability;  // 90 for sm_90
  std::int32_t num_sms;
  std::int32_t smem_bytes_per_cta;  // opt-in maximum
  std::int32_t smem_bytes_per_sm;
  std::int32_t max_cluster_ctas;  // non-portable size included; 0 where clusters do not exist
  // Clusters of 1 << i CTAs that the device holds at once, one CTA per SM; 0 where it refuses them.
  std::int32_t resident_clusters[5];
};

// Shared memory that every resident CTA takes beside its own.
constexpr std::size_t kReservedSmemBytes = 1024;

// How the cluster_row variant divides a row.
struct ClusterRowShape {
  std::int32_t log2_ctas;           // of a cluster
  std::uint32_t region_capacity;    // survivors of a CTA, even
  std::uint32_t winner_capacity;    // a power of two, no less than k
  std::uint32_t groups_per_thread;  // whose bests make the bound
  bool groups_take_all;             // of a row, also what registers do not hold
};

struct Plan {
  Variant variant;
  std::uint32_t grid_ctas;
  std::int32_t cta_threads;
  std::int32_t row_threads;         // that share a row, where several rows share a CTA
  std::int32_t vectors_per_thread;  // 16-byte vectors of the row, where the policy has a choice
  std::int32_t cluster_ctas;        // 1: no cluster
  std::int32_t ctas_per_row;        // 0: a CTA serves more than one row
  std::int32_t survivor_capacity;   // composites that the on-chip buffer holds
  std::int32_t resident_ctas;       // on the device at once, where the kernel wants to know
  std::size_t smem_bytes;           // dynamic shared memory of a CTA
  std::size_t workspace_bytes;      // global memory for the call, 256-byte aligned
  SplitStreamShape split_stream;    // of that variant alone
  SplitRadixShape split_radix;      // likewise
  ClusterRowShape cluster_row;      // likewise
};

// Whether `variant` can serve the call at all (not whether it should).
bool can_serve(Variant variant, const TopkParams& params, const DeviceLimits& limits);

// The plan for a checked call with num_rows >= 1 and k >= 1. A forced variant must be able to serve
// the call; throws std::runtime_error that names the variant otherwise.
Plan make_plan(const TopkParams& params, const DeviceLimits& limits,
               std::optional<Variant> forced = std::nullopt);

}  // namespace deepselect::cuda
