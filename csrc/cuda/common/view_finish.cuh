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

// The bins of composites of a range, bin 0 the best, by either half of them.
class HalfBins {
 public:
  static constexpr int kLog2Bins = 9;
  static constexpr std::uint32_t kBins = 1u << kLog2Bins;

  // Of composites from `low` up: by key, and what is better than `best_key` in bin 0; by position
  // where all keys but those are `best_key`. The window has `num_items` positions.
  __device__ __forceinline__ HalfBins(Composite low, std::uint32_t best_key,
                                      std::uint32_t num_items)
      : best_key_(best_key), by_position_(key_of(low) == best_key) {
    const auto low_position = static_cast<std::uint32_t>(low);
    top_ = by_position_ ? ~0u : best_key;
    const std::uint32_t bottom = by_position_ ? max(low_position, ~(num_items - 1)) : key_of(low);
    shift_ = max(32 - kLog2Bins - __clz(static_cast<int>(top_ - bottom)), 0);
  }

  __device__ __forceinline__ std::uint32_t bin(Composite composite) const {
    const std::uint32_t key = key_of(composite);
    if (key >= best_key_ && !(by_position_ && key == best_key_)) return 0;
    return (top_ - (by_position_ ? static_cast<std::uint32_t>(composite) : key)) >> shift_;
  }

 private:
  std::uint32_t best_key_;
  std::uint32_t top_;
  std::int32_t shift_;
  bool by_position_;
};

namespace detail {

// As rank_list(), a warp per member.
template <int kThreads, class Emit>
__device__ __forceinline__ void rank_list_by_warps(const FinishScratch& scratch,
                                                   std::uint32_t count, std::uint32_t num_wanted,
                                                   std::uint32_t first_place, Emit&& emit) {
  constexpr int kChunks = FinishScratch::kListCapacity / kWarpThreads;
  const std::uint32_t lane = threadIdx.x % kWarpThreads;
  const std::uint32_t warp = threadIdx.x / kWarpThreads;
  if (warp >= count) return;
  Composite others[kChunks];
#pragma unroll
  for (int c = 0; c < kChunks; ++c) {
    const std::uint32_t j = c * kWarpThreads + lane;
    others[c] = j < count ? scratch.list[j] : kNoComposite;
  }
#pragma unroll 2
  for (std::uint32_t i = warp; i < count; i += kThreads / kWarpThreads) {
    const Composite composite = scratch.list[i];
    std::uint32_t rank = 0;
#pragma unroll
    for (int c = 0; c < kChunks; ++c) {
      if (c * kWarpThreads < count) {
        rank += __popc(__ballot_sync(kAllLanes, others[c] > composite));
      }
    }
    if (lane == 0 && rank < num_wanted) emit(first_place + rank, composite);
  }
}

// As finish_counted(), clearing and counting too; the winners come in no order.
template <int kThreads>
__device__ __noinline__ void place_in_rounds(SurvivorView view, std::uint32_t k, RadixCursor cursor,
                                             Composite* winners, FinishScratch& scratch) {
  Histogram& histogram = scratch.histogram;
  const auto emit = [&](std::uint32_t place, Composite winner) { winners[place] = winner; };
  if (threadIdx.x == 0) scratch.list_size = 0;
  for (;;) {
    clear_bins<kThreads>(histogram);
    __syncthreads();
    view.for_each([&](Composite composite) {
      const std::uint64_t bin = cursor.bin(composite);
      if (bin < RadixCursor::kNumBins) count_shared(&histogram.bins[bin]);
    });
    find_pivot_bin<kThreads>(histogram, k - 1 - cursor.num_above());
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
  }
}

// The pivot's bin of a histogram of HalfBins, for a rank from 0, and what find_pivot_bin() leaves
// with kStarts.
template <int kThreads>
__device__ __forceinline__ void find_half_bin(Histogram& histogram, std::uint32_t rank) {
  constexpr std::uint32_t kBinsPerThread =
      HalfBins::kBins <= kThreads ? 1 : HalfBins::kBins / kThreads;
  const std::uint32_t lane = threadIdx.x % kWarpThreads;
  const std::uint32_t warp = threadIdx.x / kWarpThreads;
  __syncthreads();
  const bool is_active = threadIdx.x * kBinsPerThread < HalfBins::kBins;
  std::uint32_t* bins = histogram.bins + threadIdx.x * kBinsPerThread;
  std::uint32_t counts[kBinsPerThread];
  std::uint32_t sum = 0;
#pragma unroll
  for (std::uint32_t i = 0; i < kBinsPerThread; ++i) {
    counts[i] = is_active ? bins[i] : 0;
    sum += counts[i];
  }
  const std::uint32_t in_warp = warp_prefix(sum).before;
  if (lane == kWarpThreads - 1) histogram.warp_totals[warp] = in_warp + sum;
  __syncthreads();
  // One sum per warp of the totals before it: as quick as loads get, where a second prefix sum is
  // five shuffles more.
  std::uint32_t above =
      in_warp + __reduce_add_sync(kAllLanes, lane < warp ? histogram.warp_totals[lane] : 0u);
#pragma unroll
  for (std::uint32_t i = 0; i < kBinsPerThread; ++i) {
    const std::uint32_t count = counts[i];
    if (rank - above < count) {  // modulo 2^32: not where above > rank
      histogram.pivot_bin = threadIdx.x * kBinsPerThread + i;
      histogram.pivot_above = above;
      histogram.pivot_count = count;
    }
    if (count > Histogram::kCrowdedBin && above <= rank) histogram.is_crowded = 1;
    if (is_active) bins[i] = above;
    above += count;
  }
  __syncthreads();
}

}  // namespace detail

// Puts the `k` best into `winners`. All threads of the CTA call it; at most kBatch survivors per
// thread; the first HalfBins::kBins bins are empty and `is_crowded` is zero, a barrier before.
// Ends with a barrier. Returns whether the winners of each bin lie together from the bin's start
// on, few enough for emit_ranked(); otherwise they come in no order.
template <int kThreads, int kBatch, class MakeCursor>
__device__ __forceinline__ bool place_batch(const SurvivorView& view, std::uint32_t k,
                                            const HalfBins& half_bins, MakeCursor&& make_cursor,
                                            Composite* winners, FinishScratch& scratch) {
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
    bins[j] = HalfBins::kBins;
    ranks[j] = 0;
    if (view.first + j * view.step < view.end) {
      bins[j] = half_bins.bin(composites[j]);
      ranks[j] = atomicAdd(&histogram.bins[bins[j]], 1u);
    }
  }
  detail::find_half_bin<kThreads>(histogram, k - 1);
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
  detail::place_in_rounds<kThreads>(view, k, make_cursor(), winners, scratch);
  return false;
}

// The same for any number of survivors; `most` is the largest number that a thread looks at.
// `make_cursor()` makes a RadixCursor over all of them.
template <int kThreads, class MakeCursor>
__device__ __forceinline__ bool place_winners(const SurvivorView& view, std::uint32_t most,
                                              std::uint32_t k, const HalfBins& half_bins,
                                              MakeCursor&& make_cursor, Composite* winners,
                                              FinishScratch& scratch) {
  if (most <= 2) {
    return place_batch<kThreads, 2>(view, k, half_bins, make_cursor, winners, scratch);
  }
  if (most <= 8) {
    return place_batch<kThreads, 8>(view, k, half_bins, make_cursor, winners, scratch);
  }
  detail::place_in_rounds<kThreads>(view, k, make_cursor(), winners, scratch);
  return false;
}

// Hands each of the winners that place_winners() has ordered by bin to `emit(place, composite)`,
// places being ranks. All threads of the CTA call it; `half_bins` as they were given there.
template <int kThreads, class Emit>
__device__ __forceinline__ void emit_ranked(const Composite* winners, std::uint32_t k,
                                            const HalfBins& half_bins, const Histogram& histogram,
                                            Emit&& emit) {
#pragma unroll 1
  for (std::uint32_t i = threadIdx.x; i < k; i += kThreads) {
    const Composite winner = winners[i];
    const std::uint32_t bin = half_bins.bin(winner);
    const std::uint32_t begin = histogram.bins[bin];
    const std::uint32_t end = bin + 1 < HalfBins::kBins ? min(histogram.bins[bin + 1], k) : k;
    std::uint32_t place = begin;
#pragma unroll 4
    for (std::uint32_t j = begin; j < end; ++j) place += winners[j] > winner;
    emit(place, winner);
  }
}

}  // namespace deepselect::cuda
