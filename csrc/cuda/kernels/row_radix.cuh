// row_radix: one CTA per row, the row read from global memory in every pass. Serves any shape, any
// k and every architecture from sm_80 on.
//
// k <= kMaxSharedK:
//   1. narrow    histograms of the row (RadixCursor) until at most `survivor_capacity` elements
//                reach the bin of the k-th best. Usually one pass, and none where the row itself
//                fits; a row of equal values takes two or three, since the composite order goes on
//                by position
//   2. collect   those elements into shared memory
//   3. finish    the k best of them, put in order, written out
// Larger k:
//   1. narrow    until the pivot's bin alone fits
//   2. pivot     collect that bin, select in it: now the k-th best element is known exactly
//   3. emit      the elements that reach it, in order of position, to the outputs
// A window of k elements or fewer needs no narrowing: everything is selected.
//
// Limits: order "value" needs k <= kMaxSharedK.
#pragma once

#include <cstdint>

#include "cuda/common/finish.cuh"
#include "cuda/common/row_output.cuh"
#include "cuda/common/row_passes.cuh"
#include "cuda/common/row_slots.cuh"
#include "cuda/smem/row_radix.h"
#include "cuda/tuning/row_radix.h"
#include "deepselect/row_view.h"

namespace deepselect::cuda {

template <ValueType kType, class Policy>
__global__ void __launch_bounds__(Policy::kThreads, 1)
    row_radix_kernel(const __grid_constant__ TopkParams params, std::uint32_t survivor_capacity) {
  constexpr int kThreads = Policy::kThreads;
  extern __shared__ __align__(16) unsigned char dynamic_smem[];
  auto& smem = *reinterpret_cast<RowRadixSmem*>(dynamic_smem);
  auto* survivors = reinterpret_cast<Composite*>(dynamic_smem + sizeof(RowRadixSmem));
  Composite* winners = survivors + survivor_capacity;

  const std::int64_t row = blockIdx.x;
  const RowView view = row_view(params, row);
  const KeyMap<kType> key_map(params);
  const RowSlots<kType> slots(params, view, row);
  const RowOutput<kType> output(params, view, row);
  const std::uint32_t num_items = slots.num_items();
  const std::uint32_t num_wanted = num_wanted_of(params, num_items);
  if (num_wanted == 0) {
    output.template write_pads<kThreads>(0);
    return;
  }
  if (threadIdx.x == 0) smem.num_survivors = 0;
  __syncthreads();

  if (params.k <= Policy::kMaxSharedK) {
    Composite bound = kNoComposite;
    if (num_items > survivor_capacity) {
      bound = narrow_row<kThreads, Policy::kVectorsInFlight>(
                  slots, key_map, num_wanted, survivor_capacity, true, smem.finish.histogram)
                  .low();
    }
    collect_slots<kThreads, Policy::kVectorsInFlight>(
        slots, 0, slots.num_slots(), key_map, bound, ~Composite{0}, survivors, &smem.num_survivors);
    __syncthreads();
    finish_select<kThreads>(survivors, smem.num_survivors, num_wanted, winners, smem.finish);
    sort_winners<kThreads>(params.order, winners, num_wanted);
    write_winners<kThreads>(params, key_map, slots, output, winners, num_wanted);
    return;
  }

  Composite pivot = kNoComposite;
  if (num_items > num_wanted) {
    const RadixCursor cursor = narrow_row<kThreads, Policy::kVectorsInFlight>(
        slots, key_map, num_wanted, survivor_capacity, false, smem.finish.histogram);
    collect_slots<kThreads, Policy::kVectorsInFlight>(slots, 0, slots.num_slots(), key_map,
                                                      cursor.low(), cursor.high(), survivors,
                                                      &smem.num_survivors);
    if (threadIdx.x == 0) smem.pivot = ~Composite{0};
    __syncthreads();
    const std::uint32_t num_in_bin = num_wanted - cursor.num_above();
    finish_select<kThreads>(survivors, smem.num_survivors, num_in_bin, winners, smem.finish);
    for (std::uint32_t i = threadIdx.x; i < num_in_bin; i += kThreads) {
      atomicMin(reinterpret_cast<unsigned long long*>(&smem.pivot),
                static_cast<unsigned long long>(winners[i]));
    }
    __syncthreads();
    pivot = smem.pivot;
  }
  bool poisoned = false;
  emit_slots_in_order<kThreads>(
      slots, 0, slots.num_slots(), key_map, pivot, 0, smem.emit_totals,
      [&](std::int64_t place, std::uint32_t position, BitsOf<kType> bits, std::uint32_t key) {
        poisoned |= is_poison<kType>(params, key);
        output.write(place, position, bits);
      });
  if (__syncthreads_or(poisoned)) {
    output.template write_poison<kThreads>();
    return;
  }
  output.template write_pads<kThreads>(num_wanted);
}

}  // namespace deepselect::cuda
