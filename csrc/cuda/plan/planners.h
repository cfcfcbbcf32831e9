// The planners of variants that have a file of their own: whether it can serve a call, and the
// plan.
#pragma once

#include <cstdint>

#include "cuda/plan.h"
#include "deepselect/contract.h"

namespace deepselect::cuda {

// What a buffer that is sorted in place needs.
inline std::int64_t next_power_of_two(std::int64_t x) {
  std::int64_t power = 1;
  while (power < x) power *= 2;
  return power;
}

bool row_registers_can_serve(const TopkParams& params, const DeviceLimits& limits);
Plan plan_row_registers(const TopkParams& params, const DeviceLimits& limits);

bool row_stream_can_serve(const TopkParams& params, const DeviceLimits& limits);
Plan plan_row_stream(const TopkParams& params, const DeviceLimits& limits);

bool split_stream_can_serve(const TopkParams& params, const DeviceLimits& limits);
Plan plan_split_stream(const TopkParams& params, const DeviceLimits& limits);

bool gate_can_serve(const TopkParams& params, const DeviceLimits& limits);
Plan plan_gate(const TopkParams& params, const DeviceLimits& limits);

bool split_radix_can_serve(const TopkParams& params, const DeviceLimits& limits);
Plan plan_split_radix(const TopkParams& params, const DeviceLimits& limits);

bool cluster_row_can_serve(const TopkParams& params, const DeviceLimits& limits);
// Whether the device also holds the clusters of all rows at once.
bool cluster_row_in_one_wave(const TopkParams& params, const DeviceLimits& limits);
Plan plan_cluster_row(const TopkParams& params, const DeviceLimits& limits);

}  // namespace deepselect::cuda
