// row_registers: a team of threads per row, the row in registers, read once. For short rows. A team
// is a CTA, or, in a CTA of several, a warp or a part of one.
//
//   1. load       each thread takes neighbouring 16-byte slots, as keys
//   2. distances  from the row's best key: what is wanted lies near zero, whatever the values are
//   3. rounds     a histogram of the distances over a range of kBins << shift, then the bin of the
//                 k-th best. The first range begins at zero and spans kFirstOctaves octaves, or,
//                 where k is about half of the row, the values of both signs but those near zero;
//                 the next is what occurs in the bin found, or begins at the first distance beyond
//                 where it was none. Ends when a bin is one distance, or wanted whole, or of few
//                 elements: those are ranked by comparing each with each. Mostly one round
//   4. winners    a prefix sum over the threads gives each winner its place in order of position,
//                 so that of the last distance the lowest positions win
//   5. output     from positions in shared memory, or directly where few are neighbours anyway; for
//                 order "value" from sorted composites
//
// Histograms of hot bins are fine: same-address additions of a warp are merged by the hardware.
// That also makes a bin for all that is out of range cheaper than leaving it out. Those to
// different addresses of one bank follow one another, which is why bins are padded
// (smem/pivot_bin.h).
//
// A window that is wanted whole is not looked at, unless for NaN; warps beyond a window's end only
// share what is the team's work.
//
// Launched early (ptx/launch_control.cuh): the bins are emptied and addresses computed while the
// kernel before ends; nothing of it is read or overwritten before the wait.
//
// Limits: the window fits into the policy's registers; order "value" needs a team that is a CTA.
#pragma once

#include <cstdint>

#include "cuda/call_kind.h"
#include "cuda/common/composite.h"
#include "cuda/common/finish.cuh"
#include "cuda/common/key_map.cuh"
#include "cuda/common/row_output.cuh"
#include "cuda/common/row_slots.cuh"
#include "cuda/kernels/register_row.cuh"
#include "cuda/ptx/bulk_load.cuh"
#include "cuda/ptx/launch_control.cuh"
#include "cuda/smem/row_registers.h"
#include "cuda/tuning/row_registers.h"
#include "deepselect/row_view.h"

namespace deepselect::cuda {

template <CallKind kKind, class Policy>
constexpr RowLoad row_load() {
  if (kKind != CallKind::kWholeRows) return RowLoad::kWindow;
  return Policy::kIsStaged && ptx::kHasBulkLoads ? RowLoad::kStaged : RowLoad::kWhole;
}

template <ValueType kType, class Policy, CallKind kKind>
__device__ __forceinline__ void serve_row(const TopkParams& params, std::uint32_t team_smem_bytes) {
  using Row = RegisterRow<kType, Policy, row_load<kKind, Policy>()>;
  using Team = typename Row::Team;
  constexpr int kThreads = Policy::kThreads;
  constexpr std::uint32_t kMaxKey = KeyMap<kType>::kMaxKey;
  extern __shared__ __align__(kBinsAlignment) unsigned char dynamic_smem[];
  const std::uint32_t team = Policy::kTeams == 1 ? 0 : threadIdx.x / kThreads;
  unsigned char* team_smem = dynamic_smem + team * team_smem_bytes;
  auto& smem = *reinterpret_cast<typename Row::Smem*>(team_smem);
  unsigned char* winners = team_smem + sizeof(typename Row::Smem);

  const std::int64_t row = std::int64_t{blockIdx.x} * Policy::kTeams + team;
  if (Policy::kTeams > 1 && row >= params.num_rows) return;
  ptx::launch_dependents();
  Row::clear(smem);
  // Where a row's bounds and table are not read from memory, all up to its first element is done
  // while the kernel before this one ends.
  if (reads_row_tensors(params)) ptx::wait_for_dependencies();
  const RowView view = row_view(params, row);
  const KeyMap<kType> key_map(params);
  const RowSlots<kType> slots(params, view, row);
  if constexpr (kKind == CallKind::kWholeRows) __builtin_assume(slots.first_whole() == 0);
  // Made where it is used: its addresses would take registers all along.
  const auto output_of_row = [&] { return RowOutput<kType>(params, view, row); };
  const std::uint32_t num_items = slots.num_items();
  const std::uint32_t num_wanted = num_wanted_of(params, num_items);
  ptx::wait_for_dependencies();
  if (kKind == CallKind::kWindows && num_wanted == num_items &&
      (num_items == 0 || params.nan_rule != NanRule::kPoison)) {
    output_of_row().template write_all_plain<kThreads>(num_items, Team::rank());
    return;
  }
  if (num_wanted == 0) {
    output_of_row().template write_pads<kThreads>(0, Team::rank());
    return;
  }
  Row register_row(slots, key_map, smem, reinterpret_cast<uint4*>(winners));
  if (is_poison<kType>(params, register_row.best_key())) {
    output_of_row().template write_poison<kThreads>(Team::rank());
    return;
  }
  DistanceSelection selection{0, kMaxKey, num_items, false};
  if (num_wanted < num_items) {
    if constexpr (Team::kWarps == 1) Team::sync();
    selection = register_row.select(num_wanted, num_items, smem);
  }
  const RowOutput<kType> output = output_of_row();
  if (Policy::kTeams == 1 && params.order == Order::kValue) {
    auto* composites = reinterpret_cast<Composite*>(winners);
    register_row.emit_selected(
        selection, false, slots, key_map, smem, [&](std::uint32_t place, std::uint32_t position) {
          // Read again rather than looked up: registers cannot be indexed.
          composites[place] = composite_key(key_map.key(slots.item(position)), position);
        });
    __syncthreads();
    sort_winners<kThreads>(params.order, composites, num_wanted);
    write_winners<kThreads>(params, key_map, slots, output, composites, num_wanted);
    return;
  }
  // A warp's winners have neighbouring places: where they are few, its stores do without a detour
  // through shared memory and another barrier.
  if (Policy::kVectors <= 2 && output.is_plain() && num_wanted <= kThreads) {
    register_row.emit_selected(
        selection, false, slots, key_map, smem,
        [&](std::uint32_t place, std::uint32_t position) { output.write_plain(place, position); });
    if (num_wanted < params.k) output.template write_pads<kThreads>(num_wanted, Team::rank());
    return;
  }
  auto* positions = reinterpret_cast<std::uint16_t*>(winners);
  const bool many = num_wanted > num_items / 4;
  register_row.emit_selected(selection, many, slots, key_map, smem,
                             [&](std::uint32_t place, std::uint32_t position) {
                               positions[place] = static_cast<std::uint16_t>(position);
                             });
  Team::sync();
  output.template write_positions<kThreads>(positions, num_wanted, slots, Team::rank());
  if (num_wanted < params.k) output.template write_pads<kThreads>(num_wanted, Team::rank());
}

// What may be asked for beside positions takes registers: rather a CTA less than spills.
template <CallKind kKind, class Policy>
constexpr int ctas_per_sm() {
  return Policy::kCtasPerSm - (kKind == CallKind::kAny && Policy::kRegisters < 56 ? 1 : 0);
}

template <ValueType kType, class Policy, CallKind kKind>
__global__ void __launch_bounds__(Policy::kThreads* Policy::kTeams, (ctas_per_sm<kKind, Policy>()))
    row_registers_kernel(const __grid_constant__ TopkParams params, std::uint32_t team_smem_bytes) {
  if constexpr (kKind == CallKind::kAny) {
    serve_row<kType, Policy, kKind>(params, team_smem_bytes);
  } else {
    serve_row<kType, Policy, kKind>(params_of<kKind>(params), team_smem_bytes);
  }
}

}  // namespace deepselect::cuda
