#include <algorithm>

#include "cuda/plan/planners.h"
#include "cuda/smem/cluster_row.h"
#include "cuda/tuning/cluster_row.h"

namespace deepselect::cuda {
namespace {

using Tuning = ClusterRowTuning;

std::int64_t row_bytes(const TopkParams& params) {
  return params.num_cols * value_bytes(params.value_type);
}

// 0: none fits.
std::int32_t cluster_ctas(const TopkParams& params, const DeviceLimits& limits) {
  if (limits.compute_capability < 90) return 0;
  std::int32_t num_ctas = Tuning::kCluster;
  if (row_bytes(params) >= Tuning::kLargeClusterBytes &&
      params.num_rows <= limits.resident_clusters[4]) {
    num_ctas = Tuning::kLargeCluster;
  }
  num_ctas = std::min(num_ctas, limits.max_cluster_ctas);
  return num_ctas > 1 ? num_ctas : 0;
}

// The smallest policy that holds the row in the cluster's registers, or the largest.
template <class Policy, class... Others>
std::int32_t vectors_per_thread(std::int64_t num_slots, std::int32_t num_ctas) {
  if constexpr (sizeof...(Others) > 0) {
    if (num_slots > std::int64_t{Policy::kThreads} * Policy::kVectors * num_ctas) {
      return vectors_per_thread<Others...>(num_slots, num_ctas);
    }
  }
  return Policy::kVectors;
}

}  // namespace

bool cluster_row_can_serve(const TopkParams& params, const DeviceLimits& limits) {
  return params.k <= Tuning::kMaxK && cluster_ctas(params, limits) != 0 &&
         params.num_rows <= kMaxInt32 / Tuning::kLargeCluster &&
         plan_cluster_row(params, limits).smem_bytes <=
             static_cast<std::size_t>(limits.smem_bytes_per_cta);
}

Plan plan_cluster_row(const TopkParams& params, const DeviceLimits& limits) {
  const std::int32_t num_ctas = cluster_ctas(params, limits);
  const std::int64_t num_wanted = std::min(params.k, params.num_cols);
  const std::int64_t wanted_here = (num_wanted + num_ctas - 1) / num_ctas;

  Plan plan{};
  plan.variant = Variant::kClusterRow;
  plan.grid_ctas = static_cast<std::uint32_t>(params.num_rows * num_ctas);
  plan.cluster_ctas = num_ctas;
  plan.ctas_per_row = num_ctas;
  plan.cta_threads = ClusterRow2::kThreads;
  plan.vectors_per_thread = vectors_per_thread<ClusterRow2, ClusterRow4, ClusterRow8, ClusterRow16>(
      row_bytes(params) / 16 + 1, num_ctas);

  ClusterRowShape& shape = plan.cluster_row;
  while ((1 << shape.log2_ctas) < num_ctas) ++shape.log2_ctas;
  shape.groups_per_thread = 1;
  while (shape.groups_per_thread < static_cast<std::uint32_t>(std::min(plan.vectors_per_thread, 4)) &&
         std::int64_t{plan.cta_threads} * shape.groups_per_thread <
             Tuning::kGroupsPerWanted * wanted_here) {
    shape.groups_per_thread *= 2;
  }
  shape.region_capacity = static_cast<std::uint32_t>(
      std::max(std::min(Tuning::kMaxSurvivorsPerWanted * wanted_here, Tuning::kSurvivors / num_ctas),
               std::max(Tuning::kMinRegion, Tuning::kMinSurvivorsPerWanted * wanted_here)) /
      2 * 2);
  plan.survivor_capacity = static_cast<std::int32_t>(shape.region_capacity) * num_ctas;
  shape.winner_capacity = static_cast<std::uint32_t>(
      std::max(next_power_of_two(std::max(num_wanted, std::int64_t{1})), std::int64_t{2}));
  plan.smem_bytes = cluster_row_smem_bytes(static_cast<std::size_t>(plan.survivor_capacity),
                                           shape.winner_capacity, shape.region_capacity);
  return plan;
}

}  // namespace deepselect::cuda
