#include "cuda/plan.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "cuda/plan/planners.h"
#include "cuda/smem/row_radix.h"
#include "cuda/tuning/choice.h"
#include "cuda/tuning/row_radix.h"

namespace deepselect::cuda {
namespace {

// ---- row_radix --------------------------------------------------------------------------------

bool row_radix_can_serve(const TopkParams& params, const DeviceLimits&) {
  return params.k <= RowRadixPolicy::kMaxSharedK || params.order != Order::kValue;
}

Plan plan_row_radix(const TopkParams& params, const DeviceLimits&) {
  using Policy = RowRadixPolicy;
  Plan plan{};
  plan.variant = Variant::kRowRadix;
  plan.grid_ctas = static_cast<std::uint32_t>(params.num_rows);
  plan.cta_threads = Policy::kThreads;
  plan.cluster_ctas = 1;
  plan.ctas_per_row = 1;
  std::int64_t winner_capacity = Policy::kPivotSurvivors;
  plan.survivor_capacity = Policy::kPivotSurvivors;
  if (params.k <= Policy::kMaxSharedK) {
    plan.survivor_capacity = static_cast<std::int32_t>(params.k) + Policy::kSpareSurvivors;
    winner_capacity = next_power_of_two(params.k);
  }
  plan.smem_bytes = row_radix_smem_bytes(static_cast<std::size_t>(plan.survivor_capacity),
                                         static_cast<std::size_t>(winner_capacity));
  return plan;
}

// ---- the table of variants --------------------------------------------------------------------

struct VariantPlanner {
  bool (*can_serve)(const TopkParams& params, const DeviceLimits& limits);
  Plan (*plan)(const TopkParams& params, const DeviceLimits& limits);
};

VariantPlanner planner_of(Variant variant) {
  switch (variant) {
    case Variant::kRowRadix:
      return {&row_radix_can_serve, &plan_row_radix};
    case Variant::kRowRegisters:
      return {&row_registers_can_serve, &plan_row_registers};
    case Variant::kSplitStream:
      return {&split_stream_can_serve, &plan_split_stream};
    case Variant::kSplitRadix:
      return {&split_radix_can_serve, &plan_split_radix};
    case Variant::kRowStream:
      return {&row_stream_can_serve, &plan_row_stream};
    case Variant::kClusterRow:
      return {&cluster_row_can_serve, &plan_cluster_row};
    case Variant::kGate:
      return {&gate_can_serve, &plan_gate};
  }
  throw std::runtime_error("deepselect.topk: unknown CUDA variant");
}

Variant choose(const TopkParams& params, const DeviceLimits& limits) {
  if (is_weighted(params)) return Variant::kGate;  // others see a weighted call's plain step
  const auto row_bytes =
      static_cast<double>(params.num_cols) * static_cast<double>(value_bytes(params.value_type));
  // In order of value, which is how gate finds winners: 3 to 5 times row_registers' speed (H200,
  // 16384 x 256 to 65536 x 512, k 8 and 32), which has a CTA sort every row.
  if (params.order == Order::kValue && gate_can_serve(params, limits)) return Variant::kGate;
  using Short = RowRegistersChoice;
  const bool can_stream = row_stream_can_serve(params, limits);
  const bool is_streamed = can_stream && row_bytes > Short::kStreamedBytes &&
                           params.num_rows > Short::kStreamedRowsPerSm * limits.num_sms &&
                           params.k <= Short::kStreamedK;
  const bool is_short = !is_streamed && (params.num_cols <= Short::kMaxCols ||
                                         params.num_rows <= Short::kRowsPerSm * limits.num_sms);
  const bool sorts_many = params.order == Order::kValue && params.k > Short::kMaxSortedK;
  if (is_short && !sorts_many && row_registers_can_serve(params, limits)) {
    return Variant::kRowRegisters;
  }
  const double row_stream_us = RowStreamTime::us(params.num_rows, row_bytes, limits.num_sms);
  const double split_stream_us = SplitStreamTime::us(params.num_rows, row_bytes, params.k);
  if (cluster_row_in_one_wave(params, limits)) {
    const Plan plan = plan_cluster_row(params, limits);
    const double cluster_row_us = ClusterRowTime::us(params.num_rows, row_bytes, plan.cluster_ctas,
                                                     plan.cluster_row.groups_take_all);
    if (cluster_row_us < std::min(row_stream_us, split_stream_us)) return Variant::kClusterRow;
  }
  if (split_stream_can_serve(params, limits) && (!can_stream || split_stream_us < row_stream_us)) {
    return Variant::kSplitStream;
  }
  return can_stream ? Variant::kRowStream : Variant::kSplitRadix;
}

}  // namespace

bool can_serve(Variant variant, const TopkParams& params, const DeviceLimits& limits) {
  return planner_of(variant).can_serve(params, limits);
}

Plan make_plan(const TopkParams& params, const DeviceLimits& limits,
               std::optional<Variant> forced) {
  const Variant variant = forced ? *forced : choose(params, limits);
  if (!can_serve(variant, params, limits)) {
    throw std::runtime_error(std::string("deepselect.topk: CUDA variant ") + variant_name(variant) +
                             " cannot serve this call");
  }
  return planner_of(variant).plan(params, limits);
}

}  // namespace deepselect::cuda
