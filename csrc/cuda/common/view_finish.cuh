// The finish over survivors that lie in several regions of shared memory, for one row that the
// whole device waits for: phases as in finish.cuh, in as few and as short steps as possible.
//
// Survivors stay in registers between the histogram and the output. The addition to a bin tells a
// survivor's rank among the bin's, so its place is a look-up of the bin's start.
#pragma once

#include <cstdint>

#include "cuda/common/block.cuh"
#include "cuda/common/composite.h"
#include "cuda/common/finish.cuh"
#include "cuda/common/histogram.cuh"
#include "cuda/common/radix_cursor.h"
#include "cuda/smem/finish_scratch.h"

namespace deepselect::cuda {

// The survivors that one thread looks at.
struct SurvivorView {
  const Composite* data;
  std::uint32_t first;
  std::uint32_t end;
  std::uint32_t step;

  template <class Body>
  __device__ __forceinline__ void for_each(Body&& body) const {
    for (std::uint32_t i = first; i < end; i += step) body(data[i]);
  }
};

// The pivot's bin of a histogram, for a rank from 0, and what find_pivot_bin() leaves with kStarts.
// Two barriers less one, and one warp-wide sum instead of a second prefix sum.
template <int kThreads>
__device__ __forceinline__ void find_pivot_soon(Histogram& histogram, std::uint32_t rank) {
  constexpr std::uint32_t kWarps = kThreads / kWarpThreads;
  constexpr std::uint32_t kBinsPerThread = RadixCursor::kNumBins / kThreads;
  static_assert(kBinsPerThread >= 1 && kBinsPerThread * kThreads == RadixCursor::kNumBins,
                "all bins, and all threads have some");
  const std::uint32_t lane = threadIdx.x % kWarpThreads;
  const std::uint32_t warp = threadIdx.x / kWarpThreads;
  __syncthreads();
  std::uint32_t counts[kBinsPerThread];
  std::uint32_t* bins = histogram.bins + threadIdx.x * kBinsPerThread;
  std::uint32_t sum = 0;
#pragma unroll
  for (std::uint32_t i = 0; i < kBinsPerThread; ++i) {
    counts[i] = bins[i];
    sum += counts[i];
  }
  const Prefix in_warp = warp_prefix(sum);
  if (lane == kWarpThreads - 1) histogram.warp_totals[warp] = in_warp.before + sum;
  __syncthreads();
  std::uint32_t above =
      in_warp.before +
      __reduce_add_sync(kAllLanes, lane < warp && lane < kWarps ? histogram.warp_totals[lane] : 0u);
  std::uint32_t largest = 0;  // of the bins up to the pivot's
#pragma unroll
  for (std::uint32_t i = 0; i < kBinsPerThread; ++i) {
    const std::uint32_t count = counts[i];
    if (above <= rank) {
      largest = max(largest, count);
      if (rank - above < count) {
        histogram.pivot_bin = threadIdx.x * kBinsPerThread + i;
        histogram.pivot_above = above;
        histogram.pivot_count = count;
      }
    }
    bins[i] = above;
    above += count;
  }
  if (largest > Histogram::kCrowdedBin) histogram.is_crowded = 1;
  __syncthreads();
}

namespace detail {

// As rank_list(), a warp per member.
template <int kThreads, class Emit>
__device__ __forceinline__ void rank_list_by_warps(const FinishScratch& scratch,
                                                   std::uint32_t count, std::uint32_t num_wanted,
                                                   std::uint32_t first_place, Emit&& emit) {
  const std::uint32_t lane = threadIdx.x % kWarpThreads;
#pragma unroll 1
  for (std::uint32_t i = threadIdx.x / kWarpThreads; i < count; i += kThreads / kWarpThreads) {
    const Composite composite = scratch.list[i];
    std::uint32_t rank = 0;
#pragma unroll 1
    for (std::uint32_t base = 0; base < count; base += kWarpThreads) {
      const std::uint32_t j = base + lane;
      rank += __popc(__ballot_sync(kAllLanes, j < count && scratch.list[j] > composite));
    }
    if (lane == 0 && rank < num_wanted) emit(first_place + rank, composite);
  }
}

// As finish_counted(), counting too; the winners come in no order.
template <int kThreads>
__device__ __noinline__ void place_in_rounds(SurvivorView view, std::uint32_t k, RadixCursor cursor,
                                             Composite* winners, FinishScratch& scratch) {
  Histogram& histogram = scratch.histogram;
  const auto emit = [&](std::uint32_t place, Composite winner) { winners[place] = winner; };
  for (;;) {
    view.for_each([&](Composite composite) {
      const std::uint64_t bin = cursor.bin(composite);
      if (bin < RadixCursor::kNumBins) count_shared(&histogram.bins[bin]);
    });
    find_pivot_soon<kThreads>(histogram, k - 1 - cursor.num_above());
    const std::uint32_t pivot_bin = histogram.pivot_bin;
    const std::uint32_t pivot_count = histogram.pivot_count;
    const std::uint32_t pivot_start = cursor.num_above() + histogram.pivot_above;
    const std::uint32_t num_wanted = k - pivot_start;
    const bool take_all = num_wanted == pivot_count;
    const bool use_list = !take_all && pivot_count <= FinishScratch::kListCapacity;
    view.for_each([&](Composite composite) {
      const std::uint64_t bin = cursor.bin(composite);
      if (bin < pivot_bin || (take_all && bin == pivot_bin)) {
        emit(cursor.num_above() + atomicAdd(&histogram.bins[bin], 1u), composite);
      } else if (use_list && bin == pivot_bin) {
        scratch.list[atomicAdd(&scratch.list_size, 1u)] = composite;
      }
    });
    __syncthreads();
    if (take_all) return;
    if (use_list) {
      rank_list_by_warps<kThreads>(scratch, pivot_count, num_wanted, pivot_start, emit);
      __syncthreads();
      return;
    }
    cursor.descend(pivot_bin, histogram.pivot_above);
    clear_bins<kThreads>(histogram);
    __syncthreads();
  }
}

}  // namespace detail

// Puts the `k` best into `winners`. All threads of the CTA call it; every survivor is in the
// cursor's bins, at most kBatch per thread; the bins are empty, a barrier before; `list_size` is
// zero. Ends with a barrier. Returns whether the winners of each bin lie together from the bin's
// start on, few enough for emit_ranked(); otherwise they come in no order.
template <int kThreads, int kBatch>
__device__ __forceinline__ bool place_batch(const SurvivorView& view, std::uint32_t k,
                                            RadixCursor cursor, Composite* winners,
                                            FinishScratch& scratch) {
  Histogram& histogram = scratch.histogram;
  Composite composites[kBatch];
  std::uint32_t bins[kBatch];
  std::uint32_t ranks[kBatch];
#pragma unroll
  for (int j = 0; j < kBatch; ++j) {
    const std::uint32_t i = view.first + j * view.step;
    composites[j] = i < view.end ? view.data[i] : kNoComposite;
  }
#pragma unroll
  for (int j = 0; j < kBatch; ++j) {
    bins[j] = RadixCursor::kNumBins;
    ranks[j] = 0;
    if (view.first + j * view.step < view.end) {
      bins[j] = static_cast<std::uint32_t>(cursor.bin(composites[j]));
      ranks[j] = atomicAdd(&histogram.bins[bins[j]], 1u);
    }
  }
  find_pivot_soon<kThreads>(histogram, k - 1);
  const std::uint32_t pivot_bin = histogram.pivot_bin;
  const std::uint32_t pivot_count = histogram.pivot_count;
  const std::uint32_t pivot_start = histogram.pivot_above;
  const std::uint32_t num_wanted = k - pivot_start;
  const bool take_all = num_wanted == pivot_count;
  const bool use_list = !take_all && pivot_count <= FinishScratch::kListCapacity;
  const bool is_crowded = histogram.is_crowded != 0;
  const std::uint32_t end_bin = pivot_bin + (take_all ? 1 : 0);
#pragma unroll
  for (int j = 0; j < kBatch; ++j) {
    if (bins[j] < end_bin) {
      winners[histogram.bins[bins[j]] + ranks[j]] = composites[j];
    } else if (use_list && bins[j] == pivot_bin) {
      scratch.list[ranks[j]] = composites[j];
    }
  }
  __syncthreads();
  if (take_all) return !is_crowded;
  if (use_list) {
    detail::rank_list_by_warps<kThreads>(
        scratch, pivot_count, num_wanted, pivot_start,
        [&](std::uint32_t place, Composite winner) { winners[place] = winner; });
    __syncthreads();
    return !is_crowded;
  }
  cursor.descend(pivot_bin, pivot_start);
  clear_bins<kThreads>(histogram);
  __syncthreads();
  detail::place_in_rounds<kThreads>(view, k, cursor, winners, scratch);
  return false;
}

// The same for any number of survivors; `most` is the largest number that a thread looks at.
template <int kThreads>
__device__ __forceinline__ bool place_winners(const SurvivorView& view, std::uint32_t most,
                                              std::uint32_t k, const RadixCursor& cursor,
                                              Composite* winners, FinishScratch& scratch) {
  if (most <= 2) return place_batch<kThreads, 2>(view, k, cursor, winners, scratch);
  if (most <= 8) return place_batch<kThreads, 8>(view, k, cursor, winners, scratch);
  detail::place_in_rounds<kThreads>(view, k, cursor, winners, scratch);
  return false;
}

// Hands each of the winners that place_winners() has ordered by bin to `emit(place, composite)`,
// places being ranks. All threads of the CTA call it; `cursor` as it was given there.
template <int kThreads, class Emit>
__device__ __forceinline__ void emit_ranked(const Composite* winners, std::uint32_t k,
                                            const RadixCursor& cursor, const Histogram& histogram,
                                            Emit&& emit) {
#pragma unroll 1
  for (std::uint32_t i = threadIdx.x; i < k; i += kThreads) {
    const Composite winner = winners[i];
    const auto bin = static_cast<std::uint32_t>(cursor.bin(winner));
    const std::uint32_t begin = histogram.bins[bin];
    const std::uint32_t end =
        bin + 1 < RadixCursor::kNumBins ? min(histogram.bins[bin + 1], k) : k;
    std::uint32_t place = begin;
    for (std::uint32_t j = begin; j < end; ++j) place += winners[j] > winner;
    emit(place, winner);
  }
}

}  // namespace deepselect::cuda
