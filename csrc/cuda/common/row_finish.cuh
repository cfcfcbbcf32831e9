// The finish of a row straight to its outputs, from survivors in shared memory; and how they come
// there from global memory.
#pragma once

#include <cstdint>

#include "cuda/common/finish.cuh"
#include "cuda/common/key_map.cuh"
#include "cuda/common/row_output.cuh"
#include "cuda/common/row_slots.cuh"

namespace deepselect::cuda {

namespace detail {

// Calls `body(i, data[i])` for all items, with several loads under way. All threads of the CTA call
// it; `data` is aligned to 16 bytes.
template <int kThreads, class Body>
__device__ __forceinline__ void for_each_far(const Composite* data, std::uint32_t num_items,
                                             Body&& body) {
  constexpr int kInFlight = 8;
  const auto* pairs = reinterpret_cast<const ulonglong2*>(data);
  const std::uint32_t num_pairs = num_items / 2;
  for (std::uint32_t base = threadIdx.x; base < num_pairs; base += kThreads * kInFlight) {
    ulonglong2 loaded[kInFlight];
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      if (base + j * kThreads < num_pairs) loaded[j] = pairs[base + j * kThreads];
    }
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      const std::uint32_t pair = base + j * kThreads;
      if (pair >= num_pairs) continue;
      body(2 * pair, Composite{loaded[j].x});
      body(2 * pair + 1, Composite{loaded[j].y});
    }
  }
  if (num_items % 2 != 0 && threadIdx.x == 0) body(num_items - 1, data[num_items - 1]);
}

}  // namespace detail

// Brings the survivors that may be among the `num_wanted` best, `capacity` at most and no fewer
// than num_wanted, from global to shared memory, and counts them in the bins of `cursor`: returns
// how many. `far` is aligned to 16 bytes; `*num_near` in shared memory. All threads of the CTA call
// it with empty bins, a barrier after they were cleared.
template <int kThreads>
__device__ std::uint32_t gather_survivors(const Composite* far, std::uint32_t num_far,
                                          std::uint32_t num_wanted, Composite* near,
                                          std::uint32_t capacity, std::uint32_t* num_near,
                                          RadixCursor* cursor, FinishScratch& scratch) {
  Histogram& histogram = scratch.histogram;
  const auto count = [&](Composite composite) {
    const std::uint64_t bin = cursor->bin(composite);
    if (bin < RadixCursor::kNumBins) count_shared(&histogram.bins[bin]);
  };
  if (num_far <= capacity) {
    detail::for_each_far<kThreads>(
        far, num_far, [&](std::uint32_t i, Composite composite) { near[i] = composite; });
    __syncthreads();
    // Not with the loads: sixteen times the instructions, for some three survivors of a thread.
#pragma unroll 1
    for (std::uint32_t i = threadIdx.x; i < num_far; i += kThreads) count(near[i]);
    return num_far;
  }
  for (std::uint32_t num_reaching = num_far; num_reaching > capacity;) {
    detail::for_each_far<kThreads>(far, num_far,
                                   [&](std::uint32_t, Composite composite) { count(composite); });
    find_pivot_bin<kThreads>(histogram, num_wanted - 1 - cursor->num_above(), BinsAfter::kCleared);
    cursor->descend(histogram.pivot_bin, histogram.pivot_above);
    num_reaching = cursor->num_above() + histogram.pivot_count;
  }
  if (threadIdx.x == 0) *num_near = 0;
  __syncthreads();
  detail::for_each_far<kThreads>(far, num_far, [&](std::uint32_t, Composite composite) {
    if (composite >= cursor->low()) near[atomicAdd(num_near, 1u)] = composite;
  });
  __syncthreads();
  const std::uint32_t count_near = *num_near;
  *cursor = detail::survivor_range<kThreads>(near, count_near, scratch);
  detail::count_survivors<kThreads>(near, count_near, *cursor, histogram);
  return count_near;
}

// Writes the row from the `num_wanted` best of the survivors, which the bins of `cursor` count;
// 1 <= num_wanted <= num_survivors. kIsBinFound: find_pivot_bin() has found the last one's bin, and
// cleared the bins for order "any", else left the starts; otherwise that is done here, without a
// barrier since the counting. `winners` has room for the next power of two where an order is asked
// for. All threads of the CTA call it.
template <int kThreads, bool kIsBinFound, ValueType kType>
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
    if constexpr (!kIsBinFound) {
      find_pivot_bin<kThreads>(scratch.histogram, num_wanted - 1, BinsAfter::kCleared);
    }
    finish_unordered<kThreads>(survivors, num_survivors, num_wanted, cursor, scratch, emit);
  } else {
    if constexpr (!kIsBinFound) find_pivot_bin<kThreads>(scratch.histogram, num_wanted - 1);
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
