// Passes of a CTA over a part of a row in global memory: count by bin, narrow to a bin, collect
// what lies in a range, hand out what reaches a bound in order of position. The parts are ranges of
// slots.
#pragma once

#include <cstdint>

#include "cuda/common/block.cuh"
#include "cuda/common/composite.h"
#include "cuda/common/histogram.cuh"
#include "cuda/common/key_map.cuh"
#include "cuda/common/radix_cursor.h"
#include "cuda/common/row_slots.cuh"
#include "cuda/common/slot_composites.cuh"

namespace deepselect::cuda {

// Adds the composites of the slots [begin, end) to the histogram. No barrier.
template <int kThreads, int kInFlight, ValueType kType>
__device__ void count_slots(const RowSlots<kType>& slots, std::uint32_t begin, std::uint32_t end,
                            const KeyMap<kType>& key_map, const RadixCursor& cursor,
                            Histogram& histogram) {
  for_each_slot<kThreads, kInFlight>(
      slots, begin, end, [&](std::uint32_t slot, std::uint32_t valid, uint4 bits) {
        const SlotComposites<kType> composites(key_map, bits, slots.first_position(slot));
#pragma unroll
        for (int i = 0; i < SlotComposites<kType>::kItems; ++i) {
          const std::uint64_t bin = cursor.bin(composites.at(i));
          if ((valid >> i & 1) != 0 && bin < RadixCursor::kNumBins) {
            count_shared(&histogram.bins[bin]);
          }
        }
      });
}

// Enters bins until at most `capacity` elements remain: in the pivot's bin, or, where
// `with_better`, in it and in all better ones. All threads of the CTA call it.
template <int kThreads, int kInFlight, ValueType kType>
__device__ RadixCursor narrow_row(const RowSlots<kType>& slots, const KeyMap<kType>& key_map,
                                  std::uint32_t num_wanted, std::uint32_t capacity,
                                  bool with_better, Histogram& histogram) {
  RadixCursor cursor(KeyMap<kType>::kKeyBits, slots.num_items());
  for (;;) {
    clear_bins<kThreads>(histogram);
    __syncthreads();
    count_slots<kThreads, kInFlight>(slots, 0, slots.num_slots(), key_map, cursor, histogram);
    find_pivot_bin<kThreads>(histogram, num_wanted - 1 - cursor.num_above());
    cursor.descend(histogram.pivot_bin, histogram.pivot_above);
    const std::uint32_t remaining = histogram.pivot_count + (with_better ? cursor.num_above() : 0);
    __syncthreads();
    if (remaining <= capacity) return cursor;
  }
}

// Appends the composites of the slots [begin, end) that lie in [low, high] to `buffer`, whose end
// is `*buffer_end` in shared memory; there must be room. No barrier.
template <int kThreads, int kInFlight, ValueType kType>
__device__ void collect_slots(const RowSlots<kType>& slots, std::uint32_t begin, std::uint32_t end,
                              const KeyMap<kType>& key_map, Composite low, Composite high,
                              Composite* buffer, std::uint32_t* buffer_end) {
  for_each_slot<kThreads, kInFlight>(
      slots, begin, end, [&](std::uint32_t slot, std::uint32_t valid, uint4 bits) {
        const SlotComposites<kType> composites(key_map, bits, slots.first_position(slot));
        const std::uint32_t hits = composites.in_range(valid, low, high);
        if (!__any_sync(kAllLanes, hits != 0)) return;
        std::uint32_t place = warp_reserve<4>(__popc(hits), buffer_end);
#pragma unroll
        for (int i = 0; i < SlotComposites<kType>::kItems; ++i) {
          if ((hits >> i & 1) != 0) buffer[place++] = composites.at(i);
        }
      });
}

// Hands the elements of the slots [begin, end) that reach `bound` to `emit(place, position, bits,
// key)` with consecutive places from `first_place`, in order of position. All threads of the CTA
// call it; `warp_totals` is two sets of one word per warp.
template <int kThreads, ValueType kType, class Emit>
__device__ void emit_slots_in_order(const RowSlots<kType>& slots, std::uint32_t begin,
                                    std::uint32_t end, const KeyMap<kType>& key_map,
                                    Composite bound, std::int64_t first_place,
                                    std::uint32_t (*warp_totals)[kWarpThreads], Emit&& emit) {
  std::int64_t base = first_place;
  std::uint32_t parity = 0;  // two sets in turn: one barrier per tile instead of two
  for (std::uint32_t tile = begin; tile < end; tile += kThreads, parity ^= 1) {
    const std::uint32_t slot = tile + threadIdx.x;
    const bool inside = slot < end;
    const SlotComposites<kType> composites(key_map, inside ? slots.load(slot) : uint4{0, 0, 0, 0},
                                           slots.first_position(slot));
    const std::uint32_t hits =
        composites.in_range(inside ? slots.valid_items(slot) : 0u, bound, ~Composite{0});
    const Prefix prefix = block_prefix<kThreads>(__popc(hits), warp_totals[parity]);
    std::int64_t place = base + prefix.before;
#pragma unroll
    for (int i = 0; i < SlotComposites<kType>::kItems; ++i) {
      if ((hits >> i & 1) == 0) continue;
      emit(place++, composites.first + i, composites.bits_at(i), key_of(composites.at(i)));
    }
    base += prefix.total;
  }
}

}  // namespace deepselect::cuda
