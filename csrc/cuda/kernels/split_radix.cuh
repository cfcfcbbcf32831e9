// split_radix: a row divided among many CTAs, the row read in several passes. Serves any k; made
// for k that fits on no chip, and for few rows.
//
// A batch of rows at a time; a kernel each, no CTA waits for another:
//   1. round    a histogram of the row by key, 11 bits a round: two rounds for 16-bit keys, three
//               for 32-bit keys. Every part adds its bins to the row's in global memory; the last
//               to arrive finds the pivot's bin and leaves the bins empty for the next round. Then
//               the key of the k-th best is known, and how many of its equals are taken
//   2. count    each part's elements above that key and equal to it
//   3. emit     in order of position: what lies above, and the first of the equals. Places follow
//               from the counts of the parts before
// Order "value": emit writes pairs (sort key, position) instead, which a stable radix sort puts in
// order (ties stay in order of position), and
//   4. write    turns into outputs.
// A window of k elements or fewer is all selected: no rounds, no pivot.
#pragma once

#include <cstdint>

#include "cuda/common/histogram.cuh"
#include "cuda/common/row_output.cuh"
#include "cuda/common/row_passes.cuh"
#include "cuda/common/row_slots.cuh"
#include "cuda/common/slot_composites.cuh"
#include "cuda/smem/split_radix.h"
#include "cuda/tuning/split_radix.h"
#include "cuda/workspace/split_radix.h"
#include "deepselect/row_view.h"

namespace deepselect::cuda {

namespace detail {

// What a CTA of these kernels works on.
template <ValueType kType>
struct SplitRadixPart {
  __device__ SplitRadixPart(const TopkParams& params, const SplitRadixShape& shape,
                            std::int64_t first_row)
      : batch_row(blockIdx.x / shape.parts),
        part(blockIdx.x % shape.parts),
        row(first_row + batch_row),
        view(row_view(params, row)),
        key_map(params),
        slots(params, view, row) {
    const std::uint64_t num_slots = slots.num_slots();
    begin = static_cast<std::uint32_t>(part * num_slots / shape.parts);
    end = static_cast<std::uint32_t>((part + 1) * num_slots / shape.parts);
    num_items = slots.num_items();
    num_wanted = num_wanted_of(params, num_items);
  }

  __device__ bool takes_all() const { return num_wanted == num_items; }

  std::uint32_t batch_row;
  std::uint32_t part;
  std::int64_t row;
  RowView view;
  KeyMap<kType> key_map;
  RowSlots<kType> slots;
  std::uint32_t begin;  // slots of this part
  std::uint32_t end;
  std::uint32_t num_items;  // of the row
  std::uint32_t num_wanted;
};

// Which elements are selected: keys above `key`, and the first `num_equal` of those equal to it.
struct KeyPivot {
  std::uint32_t key;
  std::uint32_t num_equal;
  bool takes_all;

  __device__ KeyPivot(const RadixCursor& cursor, std::uint32_t num_wanted, bool all)
      : key(all ? 0 : key_of(cursor.high())),
        num_equal(all ? ~0u : num_wanted - cursor.num_above()),
        takes_all(all) {}
};

// Bit i: valid item i has a key above the pivot's.
template <ValueType kType>
struct KeyHits {
  __device__ __forceinline__ KeyHits(const SlotComposites<kType>& composites, std::uint32_t valid,
                                     std::uint32_t pivot_key)
      : above(0), equal(0) {
#pragma unroll
    for (int i = 0; i < SlotComposites<kType>::kItems; ++i) {
      const std::uint32_t key = item_key<kType>(composites.keys, i);
      above |= static_cast<std::uint32_t>(key > pivot_key) << i;
      equal |= static_cast<std::uint32_t>(key == pivot_key) << i;
    }
    above &= valid;
    equal &= valid;
  }

  std::uint32_t above;
  std::uint32_t equal;
};

// Ascending: rows, then valid winners before pads, then keys from the best.
template <ValueType kType>
__device__ __forceinline__ unsigned long long sort_key(std::uint32_t batch_row, bool is_pad,
                                                       std::uint32_t key) {
  constexpr int kKeyBits = KeyMap<kType>::kKeyBits;
  return (static_cast<unsigned long long>(batch_row) << (kKeyBits + 1)) |
         (static_cast<unsigned long long>(is_pad) << kKeyBits) | (KeyMap<kType>::kMaxKey - key);
}

}  // namespace detail

template <ValueType kType, class Policy>
__global__ void __launch_bounds__(Policy::kThreads)
    split_radix_round_kernel(const __grid_constant__ TopkParams params, SplitRadixShape shape,
                             SplitRadixWorkspace workspace, std::int64_t first_row,
                             std::uint32_t round) {
  constexpr int kThreads = Policy::kThreads;
  __shared__ SplitRadixSmem smem;
  const detail::SplitRadixPart<kType> part(params, shape, first_row);
  if (part.num_wanted == 0 || part.takes_all()) return;
  SplitRadixRow& state = workspace.rows[part.batch_row];
  RadixCursor cursor =
      round == 0 ? RadixCursor(KeyMap<kType>::kKeyBits, part.num_items) : state.cursor;

  Histogram& histogram = smem.histogram;
  clear_bins<kThreads>(histogram);
  __syncthreads();
  count_slots<kThreads, Policy::kVectorsInFlight>(part.slots, part.begin, part.end, part.key_map,
                                                  cursor, histogram);
  __syncthreads();
  for (std::uint32_t bin = threadIdx.x; bin < RadixCursor::kNumBins; bin += kThreads) {
    const std::uint32_t count = histogram.bins[bin];
    if (count != 0) atomicAdd(&state.bins[bin], count);
  }
  // The ticket's fences: the bins of the others are complete for the last to arrive.
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) smem.is_last = atomicAdd(&state.num_arrived, 1u) == shape.parts - 1;
  __syncthreads();
  if (smem.is_last == 0) return;
  __threadfence();
  for (std::uint32_t bin = threadIdx.x; bin < RadixCursor::kNumBins; bin += kThreads) {
    histogram.bins[bin] = __ldcg(&state.bins[bin]);
    state.bins[bin] = 0;
  }
  find_pivot_bin<kThreads>(histogram, part.num_wanted - 1 - cursor.num_above());
  if (threadIdx.x == 0) {
    cursor.descend(histogram.pivot_bin, histogram.pivot_above);
    state.cursor = cursor;
    state.num_arrived = 0;
  }
}

template <ValueType kType, class Policy>
__global__ void __launch_bounds__(Policy::kThreads)
    split_radix_count_kernel(const __grid_constant__ TopkParams params, SplitRadixShape shape,
                             SplitRadixWorkspace workspace, std::int64_t first_row) {
  constexpr int kThreads = Policy::kThreads;
  __shared__ SplitRadixSmem smem;
  const detail::SplitRadixPart<kType> part(params, shape, first_row);
  if (part.num_wanted == 0) return;
  SplitRadixRow& state = workspace.rows[part.batch_row];
  const detail::KeyPivot pivot(state.cursor, part.num_wanted, part.takes_all());
  std::uint32_t above = 0;
  std::uint32_t equal = 0;
  bool poisons = false;
  for_each_slot<kThreads, Policy::kVectorsInFlight>(
      part.slots, part.begin, part.end, [&](std::uint32_t slot, std::uint32_t valid, uint4 bits) {
        const SlotComposites<kType> composites(part.key_map, bits, part.slots.first_position(slot));
        const detail::KeyHits<kType> hits(composites, valid, pivot.key);
        above += __popc(hits.above);
        equal += __popc(hits.equal);
        const detail::KeyHits<kType> best(composites, valid, KeyMap<kType>::kMaxKey);
        poisons |= best.equal != 0;
      });
  // NaN is selected first under the poison rule, so a row that holds one is poisoned.
  const bool is_poisoned =
      __syncthreads_or(poisons && is_poison<kType>(params, KeyMap<kType>::kMaxKey));
  const std::uint32_t part_above = block_prefix<kThreads>(above, smem.totals[0]).total;
  const std::uint32_t part_equal = block_prefix<kThreads>(equal, smem.totals[1]).total;
  if (threadIdx.x == 0) {
    workspace.part_counts[std::uint64_t{part.batch_row} * shape.parts + part.part] = {part_above,
                                                                                      part_equal};
    if (is_poisoned) state.is_poisoned = 1;
  }
}

template <ValueType kType, class Policy>
__global__ void __launch_bounds__(Policy::kThreads)
    split_radix_emit_kernel(const __grid_constant__ TopkParams params, SplitRadixShape shape,
                            SplitRadixWorkspace workspace, std::int64_t first_row) {
  constexpr int kThreads = Policy::kThreads;
  constexpr int kItems = SlotComposites<kType>::kItems;
  __shared__ SplitRadixSmem smem;
  const detail::SplitRadixPart<kType> part(params, shape, first_row);
  const SplitRadixRow& state = workspace.rows[part.batch_row];
  const RowOutput<kType> output(params, part.view, part.row);
  const std::uint64_t first_winner = std::uint64_t{part.batch_row} * shape.sort_winners;
  const bool sorts = shape.sort_winners != 0;
  const bool is_poisoned = state.is_poisoned != 0;
  if (part.part == 0) {
    if (sorts) {
      for (std::uint32_t i = part.num_wanted + threadIdx.x; i < shape.sort_winners; i += kThreads) {
        workspace.sort_keys[0][first_winner + i] = detail::sort_key<kType>(part.batch_row, true, 0);
        workspace.sort_positions[0][first_winner + i] = 0;
      }
    } else if (is_poisoned) {
      output.template write_poison<kThreads>();
    } else {
      output.template write_pads<kThreads>(part.num_wanted);
    }
  }
  if (part.num_wanted == 0 || (is_poisoned && !sorts)) return;
  const detail::KeyPivot pivot(state.cursor, part.num_wanted, part.takes_all());

  // Counts of the parts before this one.
  SplitRadixCounts before{0, 0};
  if (threadIdx.x < part.part) {
    before = workspace.part_counts[std::uint64_t{part.batch_row} * shape.parts + threadIdx.x];
  }
  std::uint32_t above_before = block_prefix<kThreads>(before.above, smem.totals[0]).total;
  std::uint32_t equal_before = block_prefix<kThreads>(before.equal, smem.totals[1]).total;
  __syncthreads();

  // Both counts of a tile in one prefix sum: they stay below 2^16.
  static_assert(kThreads * kItems < (1 << 16), "two counts in one word");
  std::uint32_t parity = 0;
  for (std::uint32_t tile = part.begin; tile < part.end; tile += kThreads, parity ^= 1) {
    const std::uint32_t slot = tile + threadIdx.x;
    const bool inside = slot < part.end;
    const SlotComposites<kType> composites(part.key_map,
                                           inside ? part.slots.load(slot) : uint4{0, 0, 0, 0},
                                           part.slots.first_position(slot));
    const detail::KeyHits<kType> hits(composites, inside ? part.slots.valid_items(slot) : 0u,
                                      pivot.key);
    const Prefix prefix = block_prefix<kThreads>(
        static_cast<std::uint32_t>(__popc(hits.above) | __popc(hits.equal) << 16),
        smem.totals[parity]);
    std::uint32_t num_above = above_before + (prefix.before & 0xFFFFu);
    std::uint32_t num_equal = equal_before + (prefix.before >> 16);
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const bool is_above = (hits.above >> i & 1) != 0;
      const bool is_equal = (hits.equal >> i & 1) != 0;
      if (is_above || (is_equal && num_equal < pivot.num_equal)) {
        const std::uint32_t place = num_above + min(num_equal, pivot.num_equal);
        const std::uint32_t position = composites.first + i;
        if (sorts) {
          workspace.sort_keys[0][first_winner + place] =
              detail::sort_key<kType>(part.batch_row, false, item_key<kType>(composites.keys, i));
          workspace.sort_positions[0][first_winner + place] = position;
        } else {
          output.write(place, position, composites.bits_at(i));
        }
      }
      num_above += is_above;
      num_equal += is_equal;
    }
    above_before += prefix.total & 0xFFFFu;
    equal_before += prefix.total >> 16;
  }
}

// Sorted pairs to outputs. `sorted` tells which of the two sets the sort left them in.
template <ValueType kType, class Policy>
__global__ void __launch_bounds__(Policy::kThreads)
    split_radix_write_kernel(const __grid_constant__ TopkParams params, SplitRadixShape shape,
                             SplitRadixWorkspace workspace, std::int64_t first_row,
                             std::uint32_t sorted) {
  constexpr int kThreads = Policy::kThreads;
  const detail::SplitRadixPart<kType> part(params, shape, first_row);
  const RowOutput<kType> output(params, part.view, part.row);
  const bool is_poisoned = workspace.rows[part.batch_row].is_poisoned != 0;
  if (part.part == 0) {
    if (is_poisoned) {
      output.template write_poison<kThreads>();
    } else {
      output.template write_pads<kThreads>(part.num_wanted);
    }
  }
  if (is_poisoned) return;
  const std::uint64_t first_winner = std::uint64_t{part.batch_row} * shape.sort_winners;
  const unsigned long long* keys = workspace.sort_keys[sorted] + first_winner;
  const std::uint32_t* positions = workspace.sort_positions[sorted] + first_winner;
  const std::uint64_t step = std::uint64_t{shape.parts} * kThreads;
  for (std::uint64_t i = std::uint64_t{part.part} * kThreads + threadIdx.x; i < part.num_wanted;
       i += step) {
    const std::uint32_t key =
        KeyMap<kType>::kMaxKey - (static_cast<std::uint32_t>(keys[i]) & KeyMap<kType>::kMaxKey);
    const std::uint32_t position = positions[i];
    BitsOf<kType> bits = 0;
    if (output.wants_values() && !part.key_map.value_of(key, &bits)) {
      bits = part.slots.item(position);
    }
    output.write(static_cast<std::int64_t>(i), position, bits);
  }
}

}  // namespace deepselect::cuda
