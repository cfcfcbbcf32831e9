#include <algorithm>
#include <cstdint>

#include "cuda/common/composite.h"
#include "cuda/plan/planners.h"
#include "cuda/smem/row_registers.h"
#include "cuda/tuning/row_registers.h"

namespace deepselect::cuda {
namespace {

// Slots that a row can take: one more than its bytes fill where windows or rows may begin inside
// one.
std::int64_t max_slots(const TopkParams& params) {
  const std::int64_t item_bytes = value_bytes(params.value_type);
  const std::int64_t full_slots = (params.num_cols * item_bytes + 15) / 16;
  const bool is_aligned =
      reinterpret_cast<std::uintptr_t>(params.input) % 16 == 0 &&
      (params.num_rows == 1 || params.input_row_stride_items * item_bytes % 16 == 0) &&
      params.begin.data == nullptr;
  return full_slots + (is_aligned ? 0 : 1);
}

std::size_t winner_bytes(const TopkParams& params) {
  const std::int64_t num_winners = std::min(params.k, params.num_cols);
  const std::size_t bytes =
      params.order == Order::kValue
          ? sizeof(Composite) * static_cast<std::size_t>(next_power_of_two(num_winners))
          : sizeof(std::uint16_t) * static_cast<std::size_t>(num_winners);
  return (bytes + 15) / 16 * 16;
}

struct Shape {
  std::int32_t threads;
  std::int32_t vectors;
  std::int32_t teams;
  std::size_t smem_bytes;   // of a team, without winners
  std::size_t stage_bytes;  // that the row takes before its winners do
};

// The smallest policy that holds the row.
template <class Policy, class... Others>
Shape smallest(std::int64_t num_slots) {
  if constexpr (sizeof...(Others) > 0) {
    if (num_slots > Policy::kMaxSlots) return smallest<Others...>(num_slots);
  }
  return {Policy::kThreads, Policy::kVectors, Policy::kTeams, sizeof(RowRegistersSmemOf<Policy>),
          Policy::kIsStaged ? 16 * static_cast<std::size_t>(Policy::kMaxSlots) : 0};
}

Shape shape_of(const TopkParams& params, const DeviceLimits& limits) {
  const std::int64_t num_slots = max_slots(params);
  const bool is_sorted = params.order == Order::kValue;  // by a CTA
  if (params.num_rows <= limits.num_sms) {
    if (!is_sorted && num_slots <= RowRegisters32x1::kMaxSlots) {
      return smallest<RowRegisters32x1>(num_slots);
    }
    return smallest<RowRegisters128x1, RowRegisters256x1, RowRegisters512x1, RowRegisters512x2,
                    RowRegisters1024x2, RowRegisters1024x4>(num_slots);
  }
  if (num_slots > RowRegisters512x4::kMaxSlots) {
    return value_bytes(params.value_type) == 4 ? smallest<RowRegisters512x8>(num_slots)
                                               : smallest<RowRegisters1024x4>(num_slots);
  }
  if (params.num_rows <= kRowRegistersPairRowsPerSm * std::int64_t{limits.num_sms}) {
    if (!is_sorted && num_slots <= RowRegisters32x1::kMaxSlots) {
      return smallest<RowRegisters32x1>(num_slots);
    }
    return smallest<RowRegisters256x1, RowRegisters512x1, RowRegisters512x2, RowRegisters512x4>(
        num_slots);
  }
  if (is_sorted) {
    return smallest<RowRegisters64x4, RowRegisters128x4, RowRegisters256x4, RowRegisters512x4>(
        num_slots);
  }
  return smallest<RowRegisters16x2, RowRegisters32x4, RowRegisters64x4, RowRegisters128x4,
                  RowRegisters256x4, RowRegisters512x4>(num_slots);
}

std::size_t team_smem_bytes(const Shape& shape, const TopkParams& params) {
  const std::size_t bytes = shape.smem_bytes + std::max(shape.stage_bytes, winner_bytes(params));
  return (bytes + kBinsAlignment - 1) / kBinsAlignment * kBinsAlignment;
}

// Calls that wait for each row's latency: as much shared memory as leaves a multiprocessor so many
// CTAs and no more. The device puts a call's CTAs where the one before has left room, two on one
// multiprocessor beside an idle one.
std::size_t spreading_smem_bytes(const Shape& shape, const TopkParams& params,
                                 const DeviceLimits& limits) {
  if (shape.teams > 1 || params.num_rows > kRowRegistersPairRowsPerSm * limits.num_sms) return 0;
  const std::int32_t ctas_per_sm =
      params.num_rows <= limits.num_sms ? 1 : static_cast<std::int32_t>(kRowRegistersPairRowsPerSm);
  const std::int32_t bytes =
      std::min(limits.smem_bytes_per_sm / (ctas_per_sm + 1), limits.smem_bytes_per_cta);
  return static_cast<std::size_t>(bytes) / kBinsAlignment * kBinsAlignment;
}

}  // namespace

bool row_registers_can_serve(const TopkParams& params, const DeviceLimits& limits) {
  if (max_slots(params) > kRowRegistersMaxSlots) return false;
  const Shape shape = shape_of(params, limits);
  return static_cast<std::size_t>(shape.teams) * team_smem_bytes(shape, params) <=
         static_cast<std::size_t>(limits.smem_bytes_per_cta);
}

Plan plan_row_registers(const TopkParams& params, const DeviceLimits& limits) {
  const Shape shape = shape_of(params, limits);
  Plan plan{};
  plan.variant = Variant::kRowRegisters;
  plan.grid_ctas = static_cast<std::uint32_t>((params.num_rows + shape.teams - 1) / shape.teams);
  plan.cta_threads = shape.threads * shape.teams;
  plan.row_threads = shape.threads;
  plan.vectors_per_thread = shape.vectors;
  plan.cluster_ctas = 1;
  plan.ctas_per_row = shape.teams == 1 ? 1 : 0;
  plan.smem_bytes = std::max(static_cast<std::size_t>(shape.teams) * team_smem_bytes(shape, params),
                             spreading_smem_bytes(shape, params, limits));
  return plan;
}

}  // namespace deepselect::cuda
