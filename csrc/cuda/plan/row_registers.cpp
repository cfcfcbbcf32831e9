#include <cstdint>

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

std::int64_t winner_capacity(const TopkParams& params) {
  const std::int64_t num_winners = params.k < params.num_cols ? params.k : params.num_cols;
  return params.order == Order::kValue ? next_power_of_two(num_winners) : num_winners;
}

struct Shape {
  std::int32_t threads;
  std::int32_t vectors;
};

// The smallest policy that holds the row.
template <class Policy, class... Others>
Shape smallest(std::int64_t num_slots) {
  if constexpr (sizeof...(Others) > 0) {
    if (num_slots > Policy::kMaxSlots) return smallest<Others...>(num_slots);
  }
  return {Policy::kThreads, Policy::kVectors};
}

}  // namespace

bool row_registers_can_serve(const TopkParams& params, const DeviceLimits& limits) {
  return max_slots(params) <= RowRegisters512x4::kMaxSlots &&
         row_registers_smem_bytes(static_cast<std::size_t>(winner_capacity(params))) <=
             static_cast<std::size_t>(limits.smem_bytes_per_cta);
}

Plan plan_row_registers(const TopkParams& params, const DeviceLimits& limits) {
  const std::int64_t num_slots = max_slots(params);
  const bool for_latency =
      params.num_rows <= kRowRegistersLatencyRowsPerSm * std::int64_t{limits.num_sms};
  const Shape shape =
      for_latency
          ? smallest<RowRegisters256x1, RowRegisters512x1, RowRegisters1024x1, RowRegisters1024x2>(
                num_slots)
          : smallest<RowRegisters32x1, RowRegisters32x4, RowRegisters64x4, RowRegisters128x4,
                     RowRegisters256x4, RowRegisters512x4>(num_slots);
  Plan plan{};
  plan.variant = Variant::kRowRegisters;
  plan.grid_ctas = static_cast<std::uint32_t>(params.num_rows);
  plan.cta_threads = shape.threads;
  plan.vectors_per_thread = shape.vectors;
  plan.cluster_ctas = 1;
  plan.ctas_per_row = 1;
  plan.smem_bytes = row_registers_smem_bytes(static_cast<std::size_t>(winner_capacity(params)));
  return plan;
}

}  // namespace deepselect::cuda
