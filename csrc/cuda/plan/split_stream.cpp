#include <algorithm>

#include "cuda/plan/planners.h"
#include "cuda/smem/split_stream.h"
#include "cuda/tuning/split_stream.h"

namespace deepselect::cuda {

bool split_stream_can_serve(const TopkParams& params, const DeviceLimits&) {
  return params.k <= SplitStreamPolicy::kMaxK && params.num_rows <= SplitStreamPolicy::kMaxRows;
}

Plan plan_split_stream(const TopkParams& params, const DeviceLimits& limits) {
  using Policy = SplitStreamPolicy;
  const std::int64_t row_slots = params.num_cols * value_bytes(params.value_type) / 16 + 1;
  const std::int64_t sampled_segments = row_slots / 8 / Policy::kSparsestSample;
  const std::int64_t tile_slots = std::int64_t{Policy::kFilterThreads} * Policy::kFilterInFlight;
  const std::int64_t row_tiles = (row_slots + tile_slots - 1) / tile_slots;
  const std::int64_t winner_capacity = next_power_of_two(params.k);
  const std::int64_t smem_left =
      limits.smem_bytes_per_cta - static_cast<std::int64_t>(split_stream_finish_smem_bytes(
                                      0, static_cast<std::size_t>(winner_capacity)));

  SplitStreamShape shape{};
  shape.sample_ctas = static_cast<std::uint32_t>(
      std::clamp(sampled_segments / Policy::kSegmentsPerSampleCta,
                 std::int64_t{params.k > Policy::kSmallK ? Policy::kMinSampleCtasLargeK
                                                         : Policy::kMinSampleCtas},
                 std::int64_t{Policy::kMaxSampleCtas}));
  shape.filter_ctas = static_cast<std::uint32_t>(
      std::clamp(std::int64_t{limits.num_sms} * Policy::kFilterCtasPerSm / params.num_rows,
                 std::int64_t{1}, row_tiles));
  shape.finish_ctas =
      static_cast<std::uint32_t>(std::max(limits.num_sms / params.num_rows, std::int64_t{1}));
  shape.buffer_capacity = static_cast<std::uint32_t>(
      std::max(std::int64_t{Policy::kMinSurvivorBuffer}, Policy::kSurvivorBufferPerK * params.k));
  shape.on_chip_capacity = static_cast<std::uint32_t>(
      std::min(std::int64_t{Policy::kOnChipSurvivors},
               smem_left / static_cast<std::int64_t>(sizeof(Composite))));

  Plan plan{};
  plan.variant = Variant::kSplitStream;
  plan.split_stream = shape;
  plan.grid_ctas = static_cast<std::uint32_t>(params.num_rows) * shape.filter_ctas;
  plan.cta_threads = Policy::kFilterThreads;
  plan.cluster_ctas = 1;
  plan.ctas_per_row = static_cast<std::int32_t>(shape.filter_ctas);
  plan.survivor_capacity = static_cast<std::int32_t>(shape.on_chip_capacity);
  plan.smem_bytes = split_stream_finish_smem_bytes(shape.on_chip_capacity,
                                                   static_cast<std::size_t>(winner_capacity));
  plan.workspace_bytes =
      SplitStreamWorkspace::num_bytes(shape, static_cast<std::size_t>(params.num_rows));
  return plan;
}

}  // namespace deepselect::cuda
