// split_radix where the bracket failed: a row's pivot by a radix search over all of its elements.
//
//   round    a histogram of the row by key, 11 bits a round: two rounds for 16-bit keys, three for
//            32-bit keys. Every part adds its bins to the row's in global memory; the last to
//            arrive finds the pivot's bin and leaves the bins empty for the next round. Then the
//            key of the k-th best is known, and how many of its equals are taken
//   count    each part's elements above that key and equal to it
//
// Both are launched for every call and leave the rows alone whose pivot is known.
#pragma once

#include <cstdint>

#include "cuda/common/block.cuh"
#include "cuda/common/histogram.cuh"
#include "cuda/common/row_passes.cuh"
#include "cuda/common/split_radix_part.cuh"
#include "cuda/ptx/launch_control.cuh"
#include "cuda/tuning/split_radix.h"

namespace deepselect::cuda {

template <ValueType kType, class Policy>
__global__ void __launch_bounds__(Policy::kThreads)
    split_radix_round_kernel(const __grid_constant__ TopkParams params, SplitRadixShape shape,
                             SplitRadixWorkspace workspace, std::int64_t first_row,
                             std::uint32_t round) {
  constexpr int kThreads = Policy::kThreads;
  constexpr bool kIsPacked = KeyMap<kType>::kIsPacked;
  __shared__ SplitRadixSmem<Policy::kMaxParts> smem;
  ptx::launch_dependents();
  ptx::wait_for_dependencies();
  SplitRadixRow& state = workspace.rows[blockIdx.x / shape.parts];
  if (state.is_resolved != 0) return;
  const SplitRadixPart<kType> part(params, shape, first_row);
  RadixCursor cursor =
      round == 0 ? RadixCursor(KeyMap<kType>::kKeyBits, part.slots.num_items()) : state.cursor;

  Histogram& histogram = smem.scratch.histogram;
  clear_bins<kThreads>(histogram);
  __syncthreads();
  count_slots<kThreads, Policy::kVectorsInFlight>(part.slots, part.begin, part.end, part.key_map,
                                                  cursor, histogram);
  __syncthreads();
  for (std::uint32_t bin = threadIdx.x; bin < RadixCursor::kNumBins; bin += kThreads) {
    const std::uint32_t count = histogram.bins[bin];
    if (count != 0) atomicAdd(&state.bins[bin], count);
  }
  if (!arrives_last(shape.parts, state, smem)) return;
  for (std::uint32_t bin = threadIdx.x; bin < RadixCursor::kNumBins; bin += kThreads) {
    histogram.bins[bin] = __ldcg(&state.bins[bin]);
    state.bins[bin] = 0;
  }
  find_pivot_bin<kThreads>(histogram, part.num_wanted - 1 - cursor.num_above());
  if (threadIdx.x != 0) return;
  cursor.descend(histogram.pivot_bin, histogram.pivot_above);
  state.cursor = cursor;
  if (round + 1 == (kIsPacked ? 2u : 3u)) {
    state.pivot.loser = cursor.high();
    state.pivot.equal = cursor.low();
    state.pivot.num_equal = part.num_wanted - cursor.num_above();
  }
}

template <ValueType kType, class Policy>
__global__ void __launch_bounds__(Policy::kThreads)
    split_radix_count_kernel(const __grid_constant__ TopkParams params, SplitRadixShape shape,
                             SplitRadixWorkspace workspace, std::int64_t first_row) {
  constexpr int kThreads = Policy::kThreads;
  __shared__ SplitRadixSmem<Policy::kMaxParts> smem;
  ptx::launch_dependents();
  ptx::wait_for_dependencies();
  const SplitRadixRow& state = workspace.rows[blockIdx.x / shape.parts];
  if (state.is_resolved != 0) return;
  const SplitRadixPart<kType> part(params, shape, first_row);
  const SplitRadixPivot pivot = state.pivot;
  std::uint32_t above = 0;
  std::uint32_t equal = 0;
  for_each_slot<kThreads, Policy::kVectorsInFlight>(
      part.slots, part.begin, part.end, [&](std::uint32_t slot, std::uint32_t valid, uint4 bits) {
        const SlotComposites<kType> composites(part.key_map, bits, part.slots.first_position(slot));
        above += __popc(composites.better(valid, pivot.loser));
        equal += __popc(composites.in_range(valid, pivot.equal, pivot.loser));
      });
  const std::uint32_t part_above = block_prefix<kThreads>(above, smem.totals[0]).total;
  const std::uint32_t part_equal = block_prefix<kThreads>(equal, smem.totals[1]).total;
  if (threadIdx.x == 0) {
    workspace.counts_of(shape, part.batch_row)[part.part] = {part_above, part_equal};
  }
}

}  // namespace deepselect::cuda
