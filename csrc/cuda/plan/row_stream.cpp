#include <algorithm>
#include <cmath>

#include "cuda/common/sample_rank.h"
#include "cuda/plan/planners.h"
#include "cuda/smem/row_stream.h"
#include "cuda/tuning/row_stream.h"

namespace deepselect::cuda {
namespace {

std::int64_t winner_capacity(const TopkParams& params) {
  return params.order == Order::kAny ? 0 : next_power_of_two(params.k);
}

template <class Policy>
std::int64_t max_survivors(const TopkParams& params, const DeviceLimits& limits) {
  const auto fixed_bytes = static_cast<std::int64_t>(row_stream_smem_bytes(
      Policy::kStageBytes, 0, static_cast<std::size_t>(winner_capacity(params))));
  return (limits.smem_bytes_per_cta - fixed_bytes) / std::int64_t{sizeof(Composite)};
}

// The sample's bytes are those of the survivors.
template <class Policy>
constexpr std::int64_t kMinSurvivors =
    std::int64_t{Policy::kSampleBytes} / std::int64_t{sizeof(Composite)};

// So many that a row of the call's full length has more only by bad luck; shorter rows have fewer.
template <class Policy>
std::int64_t survivor_capacity(const TopkParams& params) {
  const std::int64_t items_per_slot = 16 / value_bytes(params.value_type);
  const std::int64_t num_slots = params.num_cols / items_per_slot + 1;
  const std::int64_t num_sampled =
      std::int64_t{Policy::kThreads} * items_per_slot
      << Policy::log2_sample_vectors(static_cast<std::uint32_t>(num_slots));
  const std::int64_t num_wanted = std::min(params.k, params.num_cols);
  if (num_wanted == 0) return kMinSurvivors<Policy>;
  const double rank =
      sample_rank(static_cast<std::uint32_t>(num_wanted), static_cast<std::uint32_t>(num_sampled),
                  static_cast<std::uint32_t>(params.num_cols), Policy::kRankSigmas, 1.0f);
  const double with_slack = rank + rank / Policy::kRankSlackDivisor + 1;
  const double most = with_slack + Policy::kCapacitySigmas * std::sqrt(with_slack);
  const double expected =
      most * static_cast<double>(params.num_cols) / static_cast<double>(num_sampled);
  const std::int64_t room =
      std::max(num_wanted, static_cast<std::int64_t>(expected)) + Policy::kSpareSurvivors;
  return std::max(room, kMinSurvivors<Policy>);
}

template <class Policy>
Plan plan_with(const TopkParams& params, const DeviceLimits& limits) {
  Plan plan{};
  plan.variant = Variant::kRowStream;
  plan.grid_ctas = static_cast<std::uint32_t>(params.num_rows);
  plan.cta_threads = Policy::kThreads;
  plan.cluster_ctas = 1;
  plan.ctas_per_row = 1;
  plan.survivor_capacity = static_cast<std::int32_t>(
      std::min(survivor_capacity<Policy>(params), max_survivors<Policy>(params, limits)));
  plan.smem_bytes =
      row_stream_smem_bytes(Policy::kStageBytes, static_cast<std::size_t>(plan.survivor_capacity),
                            static_cast<std::size_t>(winner_capacity(params)));
  const auto by_smem = static_cast<std::int32_t>(
      static_cast<std::size_t>(limits.smem_bytes_per_sm) / (plan.smem_bytes + kReservedSmemBytes));
  plan.resident_ctas = limits.num_sms * std::clamp(by_smem, 1, Policy::kCtasPerSm);
  return plan;
}

template <class Policy>
bool can_serve_with(const TopkParams& params, const DeviceLimits& limits) {
  return params.k <= Policy::kMaxK &&
         std::max(params.k, kMinSurvivors<Policy>) <= max_survivors<Policy>(params, limits);
}

// Calls `use` with the policy that the call takes.
template <class Use>
auto with_policy(const TopkParams& params, const DeviceLimits& limits, Use&& use) {
  using Choice = RowStreamChoice;
  const std::int64_t row_bytes = params.num_cols * value_bytes(params.value_type);
  const bool are_few = params.num_rows <= Choice::kFewRowsPerSm * limits.num_sms;
  return row_bytes >= Choice::kLongBytes || are_few ? use(RowStreamFew{}) : use(RowStreamMany{});
}

}  // namespace

bool row_stream_can_serve(const TopkParams& params, const DeviceLimits& limits) {
  return with_policy(params, limits,
                     [&](auto policy) { return can_serve_with<decltype(policy)>(params, limits); });
}

Plan plan_row_stream(const TopkParams& params, const DeviceLimits& limits) {
  return with_policy(params, limits,
                     [&](auto policy) { return plan_with<decltype(policy)>(params, limits); });
}

}  // namespace deepselect::cuda
