// The finish of a row straight to its outputs, from survivors in shared or global memory.
#pragma once

#include <cstdint>

#include "cuda/common/finish.cuh"
#include "cuda/common/key_map.cuh"
#include "cuda/common/row_output.cuh"
#include "cuda/common/row_slots.cuh"

namespace deepselect::cuda {

// Adds survivors to the bins of `cursor`, with several loads under way. No barrier.
template <int kThreads>
__device__ __forceinline__ void count_far_survivors(const Composite* survivors,
                                                    std::uint32_t num_survivors,
                                                    const RadixCursor& cursor,
                                                    Histogram& histogram) {
  constexpr int kInFlight = 8;
  for (std::uint32_t base = threadIdx.x; base < num_survivors; base += kThreads * kInFlight) {
    Composite composites[kInFlight];
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      const std::uint32_t i = base + j * kThreads;
      composites[j] = i < num_survivors ? survivors[i] : kNoComposite;
    }
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      const std::uint64_t bin = cursor.bin(composites[j]);
      if (composites[j] != kNoComposite && bin < RadixCursor::kNumBins) {
        count_shared(&histogram.bins[bin]);
      }
    }
  }
}

// Writes the row from the `num_wanted` best of the survivors, which the bins of `cursor` count;
// 1 <= num_wanted <= num_survivors. `winners` has room for the next power of two where an order is
// asked for. All threads of the CTA call it, without a barrier since the counting.
template <int kThreads, ValueType kType>
__device__ __forceinline__ void write_best(const TopkParams& params, const KeyMap<kType>& key_map,
                                           const RowSlots<kType>& slots,
                                           const RowOutput<kType>& output,
                                           const Composite* survivors, std::uint32_t num_survivors,
                                           std::uint32_t num_wanted, RadixCursor& cursor,
                                           Composite* winners, FinishScratch& scratch) {
  const bool poisons = is_floating(kType) && params.nan_rule == NanRule::kPoison;
  bool is_poisoned = false;
  const auto emit = [&](std::uint32_t place, Composite winner) {
    if (poisons) is_poisoned |= key_of(winner) == KeyMap<kType>::kMaxKey;
    output.write(place, winner, key_map, slots);
  };
  if (params.order == Order::kAny) {
    find_pivot_bin<kThreads>(scratch.histogram, num_wanted - 1, BinsAfter::kCleared);
    finish_unordered<kThreads>(survivors, num_survivors, num_wanted, cursor, scratch, emit);
  } else {
    find_pivot_bin<kThreads>(scratch.histogram, num_wanted - 1);
    const bool is_crowded = scratch.histogram.is_crowded != 0;
    const bool in_one_round = finish_counted<kThreads>(
        survivors, num_survivors, num_wanted, cursor, scratch,
        [&](std::uint32_t place, Composite winner) { winners[place] = winner; });
    if (params.order == Order::kValue && in_one_round && !is_crowded) {
      emit_by_value<kThreads>(winners, num_wanted, cursor, scratch.histogram, emit);
    } else {
      sort_winners<kThreads>(params.order, winners, num_wanted);
#pragma unroll 1
      for (std::uint32_t i = threadIdx.x; i < num_wanted; i += kThreads) emit(i, winners[i]);
    }
  }
  output.template write_pads<kThreads>(num_wanted);
  if (poisons && __syncthreads_or(is_poisoned)) output.template write_poison<kThreads>();
}

}  // namespace deepselect::cuda
