#include <algorithm>

#include "cuda/common/row_parts.h"
#include "cuda/common/split_sampling.h"
#include "cuda/plan/planners.h"
#include "cuda/smem/split_stream.h"
#include "cuda/tuning/split_stream.h"
#include "deepselect/row_view.h"

namespace deepselect::cuda {

bool split_stream_can_serve(const TopkParams& params, const DeviceLimits&) {
  return params.k <= SplitStreamPolicy::kMaxK && params.num_rows <= SplitStreamPolicy::kMaxRows;
}

namespace {

template <class Policy>
Plan plan_with(const TopkParams& params, const DeviceLimits& limits) {
  const std::int64_t row_slots = params.num_cols * value_bytes(params.value_type) / 16 + 1;
  const bool is_small = params.num_rows * row_slots * 16 <= Policy::kSmallInputBytes;
  const int log2_segment_slots = is_small ? 0 : 1;
  const std::uint32_t num_segments =
      Policy::num_segments(static_cast<std::uint32_t>(row_slots >> log2_segment_slots),
                           static_cast<std::uint32_t>(params.k));
  const std::uint32_t cta_segments = Policy::kSampleThreads >> log2_segment_slots;
  const std::int64_t winner_capacity =
      params.order == Order::kAny ? 0 : next_power_of_two(params.k);
  const std::int64_t resident_ctas = std::int64_t{limits.num_sms} * Policy::kFilterCtasPerSm;
  const bool is_one_row = params.num_rows == 1;

  SplitStreamShape shape{};
  shape.sample_ctas = static_cast<std::uint32_t>(
      std::clamp(next_power_of_two(num_segments / (cta_segments * Policy::kSampleInFlight)),
                 std::int64_t{1}, std::int64_t{Policy::kMaxSampleCtas}));
  shape.groups_per_sample_cta =
      std::min(std::uint32_t{Policy::kSampleThreads / 2}, Policy::kMaxGroups / shape.sample_ctas);
  shape.log2_segment_slots = static_cast<std::uint32_t>(log2_segment_slots);
  shape.is_ragged = !is_one_row && (params.begin.data != nullptr || params.end.data != nullptr ||
                                    params.page_table != nullptr);
  shape.has_whole_rows = !reads_row_tensors(params);
  if (shape.has_whole_rows != 0 && params.num_cols > std::int64_t{Policy::kStagedSurvivors}) {
    const std::int64_t slot_items = 16 / value_bytes(params.value_type);
    shape.sampling = split_sampling<Policy>(
        static_cast<std::uint32_t>((params.num_cols + 1 - slot_items) / slot_items),
        static_cast<std::uint32_t>(std::max(params.k, std::int64_t{1})), shape.log2_segment_slots,
        shape.num_groups());
  }
  shape.parts = static_cast<std::uint32_t>(
      shape.is_ragged ? resident_ctas
                      : std::clamp(resident_ctas / params.num_rows, std::int64_t{1},
                                   row_slots / std::int64_t{Policy::kMinPartSlots} + 1));
  // Even: survivors are read in pairs.
  shape.buffer_capacity = static_cast<std::uint32_t>(
      std::clamp(Policy::kSurvivorBuffers / params.num_rows / 2 * 2, Policy::kMinSurvivorBuffer,
                 Policy::kMaxSurvivorBuffer));

  Plan plan{};
  plan.variant = Variant::kSplitStream;
  plan.split_stream = shape;
  const auto num_rows = static_cast<std::uint32_t>(params.num_rows);
  plan.grid_ctas = shape.is_ragged ? ragged_ctas(shape.parts, num_rows) : num_rows * shape.parts;
  plan.cta_threads = Policy::kFilterThreads;
  plan.vectors_per_thread = Policy::kFilterVectors;
  plan.cluster_ctas = 1;
  plan.ctas_per_row = static_cast<std::int32_t>(shape.is_ragged ? 0 : shape.parts);
  plan.survivor_capacity = static_cast<std::int32_t>(Policy::kStagedSurvivors);
  plan.smem_bytes =
      split_stream_filter_smem_bytes<Policy>(static_cast<std::size_t>(winner_capacity));
  plan.workspace_bytes =
      SplitStreamWorkspace::num_bytes(shape, static_cast<std::size_t>(params.num_rows));
  return plan;
}

}  // namespace

Plan plan_split_stream(const TopkParams& params, const DeviceLimits& limits) {
  return params.num_rows == 1 ? plan_with<SplitStreamOneRow>(params, limits)
                              : plan_with<SplitStreamRows>(params, limits);
}

}  // namespace deepselect::cuda
