// The finish: the exact k best of the survivors in shared memory.
//
// Phases, each ended by a barrier:
//   1. range      the best and the worst survivor, and empty bins
//   2. histogram  survivors by distance from the best, in RadixCursor::kNumBins bins
//   3. prefix     each bin's start in sorted order, and the pivot's bin
//   4. output     survivors of better bins go to their bin's next place; those of the pivot's bin
//                 into a short list
//   5. rank       the list's members are ranked by comparing each with each
// A pivot bin too large for the list is divided by another histogram (2 to 4 again); composites
// are distinct, so at most six rounds, and one for inputs without large groups of near-equal
// elements.
//
// Winners come out in no order but that of their bins; sort_winners() puts them in the order asked.
#pragma once

#include <cstdint>

#include "cuda/common/block.cuh"
#include "cuda/common/composite.h"
#include "cuda/common/histogram.cuh"
#include "cuda/common/radix_cursor.h"
#include "cuda/ptx/arithmetic.cuh"
#include "cuda/ptx/shared_memory.cuh"
#include "cuda/smem/finish_scratch.h"
#include "deepselect/contract.h"

namespace deepselect::cuda {

namespace detail {

// Phase 1. Ends with a barrier.
template <int kThreads>
__device__ __forceinline__ RadixCursor survivor_range(const Composite* survivors,
                                                      std::uint32_t num_survivors,
                                                      FinishScratch& scratch) {
  if (threadIdx.x == 0) {
    scratch.list_size = 0;
    scratch.best_key = 0;
    scratch.worst_key = ~0u;
    scratch.best_low = 0;
    scratch.worst_low = ~0u;
  }
  clear_bins<kThreads>(scratch.histogram);
  std::uint32_t best_key = 0, worst_key = ~0u, best_low = 0, worst_low = ~0u;
  for (std::uint32_t i = threadIdx.x; i < num_survivors; i += kThreads) {
    const std::uint32_t key = key_of(survivors[i]);
    const auto low = static_cast<std::uint32_t>(survivors[i]);
    best_key = max(best_key, key);
    worst_key = min(worst_key, key);
    best_low = max(best_low, low);
    worst_low = min(worst_low, low);
  }
  best_key = __reduce_max_sync(kAllLanes, best_key);
  worst_key = __reduce_min_sync(kAllLanes, worst_key);
  best_low = __reduce_max_sync(kAllLanes, best_low);
  worst_low = __reduce_min_sync(kAllLanes, worst_low);
  __syncthreads();
  if (threadIdx.x % kWarpThreads == 0) {
    atomicMax(&scratch.best_key, best_key);
    atomicMin(&scratch.worst_key, worst_key);
    atomicMax(&scratch.best_low, best_low);
    atomicMin(&scratch.worst_low, worst_low);
  }
  __syncthreads();
  // Equal keys: the positions alone, so that they spread over the bins. Otherwise the low halves
  // are of different keys and any value may occur.
  const bool equal_keys = scratch.best_key == scratch.worst_key;
  const Composite high =
      (Composite{scratch.best_key} << 32) | (equal_keys ? scratch.best_low : ~0u);
  const Composite low = (Composite{scratch.worst_key} << 32) | (equal_keys ? scratch.worst_low : 0);
  return RadixCursor::over(low, high);
}

// Phase 2. No barrier.
template <int kThreads>
__device__ __forceinline__ void count_survivors(const Composite* survivors,
                                                std::uint32_t num_survivors,
                                                const RadixCursor& cursor, Histogram& histogram) {
  if (cursor.divides_keys()) {
    for (std::uint32_t i = threadIdx.x; i < num_survivors; i += kThreads) {
      const std::uint64_t bin = cursor.bin(survivors[i]);
      if (bin < RadixCursor::kNumBins) count_shared(&histogram.bins[bin]);
    }
  } else {
    for (std::uint32_t i = threadIdx.x; i < num_survivors; i += kThreads) {
      const std::uint32_t bin = cursor.bin_of_key(key_of(survivors[i]));
      if (bin < RadixCursor::kNumBins) count_shared(&histogram.bins[bin]);
    }
  }
}

// Phase 5: hands the `num_wanted` best of the list's `count` to `emit`, places from `first_place`.
template <int kThreads, class Emit>
__device__ __forceinline__ void rank_list(const FinishScratch& scratch, std::uint32_t count,
                                          std::uint32_t num_wanted, std::uint32_t first_place,
                                          Emit&& emit) {
  for (std::uint32_t i = threadIdx.x; i < count; i += kThreads) {
    const Composite composite = scratch.list[i];
    std::uint32_t rank = 0;
    for (std::uint32_t j = 0; j < count; ++j) rank += scratch.list[j] > composite;
    if (rank < num_wanted) emit(first_place + rank, composite);
  }
}

}  // namespace detail

// Phases 3 to 5 once the survivors are counted in the bins of `cursor` and find_pivot_bin() has
// found the k-th best's and left the starts: hands the `k` best to `emit(place, composite)`, each
// with one of the places [0, k), by bin. All threads of the CTA call it; `list_size` is zero; ends
// with a barrier. Returns whether one histogram was enough.
template <int kThreads, class Emit>
__device__ __forceinline__ bool finish_counted(const Composite* survivors,
                                               std::uint32_t num_survivors, std::uint32_t k,
                                               RadixCursor& cursor, FinishScratch& scratch,
                                               Emit&& emit) {
  Histogram& histogram = scratch.histogram;
  for (bool is_first = true;; is_first = false) {
    const std::uint32_t pivot_bin = histogram.pivot_bin;
    const std::uint32_t pivot_count = histogram.pivot_count;
    const std::uint32_t pivot_start = cursor.num_above() + histogram.pivot_above;
    const std::uint32_t num_wanted = k - pivot_start;
    const bool take_all = num_wanted == pivot_count;
    const bool use_list = !take_all && pivot_count <= FinishScratch::kListCapacity;

    for (std::uint32_t i = threadIdx.x; i < num_survivors; i += kThreads) {
      const Composite composite = survivors[i];
      const std::uint64_t bin = cursor.bin(composite);
      if (bin < pivot_bin || (take_all && bin == pivot_bin)) {
        emit(cursor.num_above() + atomicAdd(&histogram.bins[bin], 1u), composite);
      } else if (use_list && bin == pivot_bin) {
        scratch.list[atomicAdd(&scratch.list_size, 1u)] = composite;
      }
    }
    __syncthreads();
    if (take_all) return is_first;
    if (use_list) {
      detail::rank_list<kThreads>(scratch, pivot_count, num_wanted, pivot_start, emit);
      __syncthreads();
      return is_first;
    }
    cursor.descend(pivot_bin, histogram.pivot_above);
    clear_bins<kThreads>(histogram);
    __syncthreads();
    detail::count_survivors<kThreads>(survivors, num_survivors, cursor, histogram);
    find_pivot_bin<kThreads>(histogram, k - 1 - cursor.num_above());
  }
}

namespace detail {

// Hands survivors for which `wins` to `emit`, at places from `num_emitted` on, neighbouring ones
// within a warp, and puts those for which `belongs` on the list. Neither is true of kNoComposite.
// kBatch survivors per thread and atomic: its latency is what this costs. No barrier.
template <int kThreads, int kBatch, class Wins, class Belongs, class Emit>
__device__ __forceinline__ void emit_winners(const Composite* survivors,
                                             std::uint32_t num_survivors, FinishScratch& scratch,
                                             Wins&& wins, Belongs&& belongs, Emit&& emit) {
  const std::uint32_t lane = threadIdx.x % kWarpThreads;
#pragma unroll 1
  for (std::uint32_t base = threadIdx.x - lane; base < num_survivors; base += kThreads * kBatch) {
    Composite composites[kBatch];
    std::uint32_t winners[kBatch];
    std::uint32_t total = 0;
    bool is_any_listed = false;
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
      const std::uint32_t i = base + j * kThreads + lane;
      composites[j] = i < num_survivors ? survivors[i] : kNoComposite;
    }
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
      winners[j] = __ballot_sync(kAllLanes, wins(composites[j]));
      total += __popc(winners[j]);
      is_any_listed |= belongs(composites[j]);
    }
    if (is_any_listed) {
#pragma unroll
      for (int j = 0; j < kBatch; ++j) {
        if (!belongs(composites[j])) continue;
        scratch.list[ptx::take_at(ptx::shared_address(&scratch.list_size))] = composites[j];
      }
    }
    __syncwarp();
    if (total == 0) continue;
    std::uint32_t place = 0;
    if (lane == 0) place = ptx::take_at(ptx::shared_address(&scratch.num_emitted), total);
    place = __shfl_sync(kAllLanes, place, 0);
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
      if ((winners[j] >> lane & 1) != 0) {
        emit(place + __popc(winners[j] & ptx::lanes_below()), composites[j]);
      }
      place += __popc(winners[j]);
    }
  }
}

}  // namespace detail

// As finish_counted(), where the order does not matter: the winners of a warp get neighbouring
// places, so `emit` may well write to global memory. The bins need not hold the starts;
// `num_emitted` is zero. Ends without a barrier.
template <int kThreads, class Emit>
__device__ __forceinline__ void finish_unordered(const Composite* survivors,
                                                 std::uint32_t num_survivors, std::uint32_t k,
                                                 RadixCursor cursor, FinishScratch& scratch,
                                                 Emit&& emit) {
  Histogram& histogram = scratch.histogram;
  Composite best_left = ~Composite{0};
  for (bool is_first = true;; is_first = false) {
    const std::uint32_t pivot_count = histogram.pivot_count;
    const bool is_of_keys = is_first && !cursor.divides_keys();
    cursor.descend(histogram.pivot_bin, histogram.pivot_above);
    const std::uint32_t num_wanted = k - cursor.num_above();
    const bool take_all = num_wanted == pivot_count;
    const bool use_list = !take_all && pivot_count <= FinishScratch::kListCapacity;
    // What is better than `loser` wins. No composite is zero, so none of the bin is kNoComposite.
    const Composite bin_low = max(cursor.low(), Composite{1});
    const Composite loser = take_all ? bin_low - 1 : cursor.high();
    if (is_of_keys && key_of(bin_low) != 0) {
      const std::uint32_t loser_key = key_of(loser);
      const std::uint32_t low_key = key_of(bin_low);
      detail::emit_winners<kThreads, 4>(
          survivors, num_survivors, scratch,
          [&](Composite composite) { return key_of(composite) > loser_key; },
          [&](Composite composite) {
            return use_list && key_of(composite) - low_key <= loser_key - low_key;
          },
          emit);
    } else {
      detail::emit_winners<kThreads, 2>(
          survivors, num_survivors, scratch,
          [&](Composite composite) { return composite > loser && composite <= best_left; },
          [&](Composite composite) {
            return use_list && composite <= loser && composite >= bin_low;
          },
          emit);
    }
    if (take_all) return;
    __syncthreads();
    if (use_list) {
      detail::rank_list<kThreads>(scratch, pivot_count, num_wanted, cursor.num_above(), emit);
      return;
    }
    best_left = cursor.high();
    clear_bins<kThreads>(histogram);
    __syncthreads();
    detail::count_survivors<kThreads>(survivors, num_survivors, cursor, histogram);
    find_pivot_bin<kThreads>(histogram, k - 1 - cursor.num_above(), BinsAfter::kCleared);
  }
}

// Writes the `k` best of `survivors[0, num_survivors)` to `winners[0, k)`; 1 <= k <= num_survivors.
// All threads of the CTA call it; survivors must be complete (a barrier before), winners are
// complete after. Survivors stay as they are; the buffers must not overlap.
template <int kThreads>
__device__ void finish_select(const Composite* survivors, std::uint32_t num_survivors,
                              std::uint32_t k, Composite* winners, FinishScratch& scratch) {
  if (k == num_survivors) {
    for (std::uint32_t i = threadIdx.x; i < k; i += kThreads) winners[i] = survivors[i];
    __syncthreads();
    return;
  }
  RadixCursor cursor = detail::survivor_range<kThreads>(survivors, num_survivors, scratch);
  detail::count_survivors<kThreads>(survivors, num_survivors, cursor, scratch.histogram);
  find_pivot_bin<kThreads>(scratch.histogram, k - 1);
  finish_counted<kThreads>(
      survivors, num_survivors, k, cursor, scratch,
      [&](std::uint32_t place, Composite composite) { winners[place] = composite; });
}

// Puts `winners[0, num_winners)` into the order asked for. The buffer has room for the next power
// of two. Begins and ends complete.
template <int kThreads>
__device__ void sort_winners(Order order, Composite* winners, std::uint32_t num_winners) {
  if (order == Order::kAny || num_winners < 2) return;
  const int log2_size = 32 - __clz(static_cast<int>(num_winners - 1));
  const bool by_position = order == Order::kIndex;
  for (std::uint32_t i = threadIdx.x; i < (1u << log2_size); i += kThreads) {
    if (i >= num_winners) {
      winners[i] = kNoComposite;
    } else if (by_position) {
      winners[i] = swap_halves(winners[i]);
    }
  }
  block_sort_descending<kThreads>(winners, log2_size);
  if (!by_position) return;
  for (std::uint32_t i = threadIdx.x; i < num_winners; i += kThreads) {
    winners[i] = swap_halves(winners[i]);
  }
  __syncthreads();
}

// Orders by value what one round of finish_counted() put into `winners` by bin, no bin crowded:
// hands each to `emit(place, composite)`, places being ranks. All threads of the CTA call it;
// `cursor` and the histogram as the round left them.
template <int kThreads, class Emit>
__device__ void emit_by_value(const Composite* winners, std::uint32_t num_winners,
                              const RadixCursor& cursor, const Histogram& histogram, Emit&& emit) {
  for (std::uint32_t i = threadIdx.x; i < num_winners; i += kThreads) {
    const Composite winner = winners[i];
    const auto bin = static_cast<std::uint32_t>(cursor.bin(winner));
    // The round moved each bin's start to its end, but for a pivot bin that was ranked.
    const std::uint32_t begin = bin == 0 ? 0 : histogram.bins[bin - 1];
    const std::uint32_t end = histogram.bins[bin];
    std::uint32_t place = i;
    if (end > begin) {
      place = begin;
      for (std::uint32_t j = begin; j < end; ++j) place += winners[j] > winner;
    }
    emit(place, winner);
  }
}

}  // namespace deepselect::cuda
