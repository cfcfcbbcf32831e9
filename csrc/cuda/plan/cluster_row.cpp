#include <algorithm>

#include "cuda/plan/planners.h"
#include "cuda/smem/cluster_row.h"
#include "cuda/tuning/cluster_row.h"

namespace deepselect::cuda {
namespace {

using Tuning = ClusterRowTuning;

// Whole slots: those that reach beyond the row are not among a thread's vectors.
std::int64_t row_slots(const TopkParams& params) {
  return params.num_cols * value_bytes(params.value_type) / 16;
}

std::int64_t wanted_per_cta(const TopkParams& params, std::int64_t num_ctas) {
  return (std::min(params.k, params.num_cols) + num_ctas - 1) / num_ctas;
}

// The smallest policy that holds the row in the cluster's registers, or the largest.
template <class Policy, class... Others>
std::int32_t vectors_per_thread(std::int64_t num_slots, std::int64_t num_ctas) {
  if constexpr (sizeof...(Others) > 0) {
    if (num_slots > num_ctas * Policy::kThreads * Policy::kVectors) {
      return vectors_per_thread<Others...>(num_slots, num_ctas);
    }
  }
  return Policy::kVectors;
}

std::int32_t vectors_per_thread(const TopkParams& params, std::int64_t num_ctas) {
  return vectors_per_thread<ClusterRow2, ClusterRow4, ClusterRow8, ClusterRow16>(row_slots(params),
                                                                                 num_ctas);
}

std::int64_t max_groups(const TopkParams& params, std::int64_t num_ctas) {
  return ClusterRow2::kThreads *
         std::min(vectors_per_thread(params, num_ctas), Tuning::kMaxGroupsPerThread);
}

// The largest useful cluster of which there is one for every row at once; 0 where there is none.
std::int32_t one_wave_ctas(const TopkParams& params, const DeviceLimits& limits) {
  for (std::int32_t log2 = Tuning::kMaxLog2Ctas; log2 > 0; --log2) {
    const std::int32_t num_ctas = 1 << log2;
    const bool is_useful =
        num_ctas <= Tuning::kCluster || row_slots(params) * 16 >= Tuning::kLargeClusterBytes;
    if (is_useful && num_ctas <= limits.max_cluster_ctas &&
        params.num_rows <= limits.resident_clusters[log2] &&
        max_groups(params, num_ctas) >=
            Tuning::kMinGroupsPerWanted * wanted_per_cta(params, num_ctas)) {
      return num_ctas;
    }
  }
  return 0;
}

std::int32_t cluster_ctas(const TopkParams& params, const DeviceLimits& limits) {
  const std::int32_t num_ctas = one_wave_ctas(params, limits);
  return num_ctas != 0 ? num_ctas : std::min(Tuning::kCluster, limits.max_cluster_ctas);
}

}  // namespace

bool cluster_row_can_serve(const TopkParams& params, const DeviceLimits& limits) {
  return limits.compute_capability >= 90 && limits.max_cluster_ctas > 1 &&
         params.k <= Tuning::kMaxK && params.num_rows <= kMaxInt32 >> Tuning::kMaxLog2Ctas &&
         plan_cluster_row(params, limits).smem_bytes <=
             static_cast<std::size_t>(limits.smem_bytes_per_cta);
}

bool cluster_row_in_one_wave(const TopkParams& params, const DeviceLimits& limits) {
  return cluster_row_can_serve(params, limits) && one_wave_ctas(params, limits) != 0;
}

Plan plan_cluster_row(const TopkParams& params, const DeviceLimits& limits) {
  const std::int32_t num_ctas = cluster_ctas(params, limits);
  const std::int64_t wanted_here = wanted_per_cta(params, num_ctas);

  Plan plan{};
  plan.variant = Variant::kClusterRow;
  plan.grid_ctas = static_cast<std::uint32_t>(params.num_rows * num_ctas);
  plan.cluster_ctas = num_ctas;
  plan.ctas_per_row = num_ctas;
  plan.cta_threads = ClusterRow2::kThreads;
  plan.vectors_per_thread = vectors_per_thread(params, num_ctas);

  ClusterRowShape& shape = plan.cluster_row;
  while ((1 << shape.log2_ctas) < num_ctas) ++shape.log2_ctas;
  const std::int64_t groups =
      std::min(max_groups(params, num_ctas), Tuning::kGroupsPerWanted * wanted_here);
  shape.groups_per_thread = 1;
  while (shape.groups_per_thread * std::int64_t{plan.cta_threads} < groups) {
    shape.groups_per_thread *= 2;
  }
  const std::int64_t layer_slots =
      std::int64_t{plan.cta_threads} * plan.vectors_per_thread * num_ctas;
  const std::int64_t num_layers = (row_slots(params) + layer_slots - 1) / layer_slots;
  shape.groups_take_all = num_layers > 1 && params.k * num_layers > Tuning::kMaxLayeredK;
  shape.region_capacity = static_cast<std::uint32_t>(
      std::max(
          {std::min(Tuning::kMaxSurvivorsPerWanted * wanted_here, Tuning::kSurvivors / num_ctas),
           Tuning::kMinSurvivorsPerWanted * wanted_here, Tuning::kMinRegion}) /
      2 * 2);
  shape.winner_capacity = static_cast<std::uint32_t>(
      next_power_of_two(std::max(std::min(params.k, params.num_cols), std::int64_t{2})));
  plan.survivor_capacity = static_cast<std::int32_t>(shape.region_capacity) * num_ctas;
  plan.smem_bytes = cluster_row_smem_bytes(static_cast<std::size_t>(plan.survivor_capacity),
                                           shape.winner_capacity, shape.region_capacity);
  return plan;
}

}  // namespace deepselect::cuda
