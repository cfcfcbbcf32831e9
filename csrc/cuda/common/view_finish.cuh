// The finish over survivors that lie in several regions of shared memory, for one row that the
// whole device waits for: phases as in finish.cuh, in as few and as short steps as possible.
//
// Survivors stay in registers between the histogram and the output. The addition to a bin tells a
// survivor's rank among the bin's, so its place is a look-up of the bin's start. There are as few
// bins as suffice, by one half of the composites: by key, and by position where too many have the
// key of the k-th best. A bin that is too full is divided by another round.
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

// What is known of survivors, or of composites with their halves exchanged.
struct SurvivorRange {
  Composite low;            // none is worse
  std::uint32_t best_key;   // few have a better one
  std::uint32_t max_key;    // none has
  std::uint32_t num_items;  // positions of the window; 0: the low halves may be anything
};

// The bins of composites of a range, bin 0 the best, by either half of them.
class HalfBins {
 public:
  static constexpr int kLog2Bins = 9;
  static constexpr std::uint32_t kBins = 1u << kLog2Bins;

  // By key, and what is better than the best key in bin 0; by position where all keys but those are
  // the best one.
  __device__ __forceinline__ explicit HalfBins(const SurvivorRange& range)
      : best_key_(range.best_key), by_position_(key_of(range.low) == range.best_key) {
    top_ = by_position_ ? ~0u : best_key_;
    const std::uint32_t bottom =
        by_position_ ? max(static_cast<std::uint32_t>(range.low), ~(range.num_items - 1))
                     : key_of(range.low);
    shift_ = max(32 - kLog2Bins - __clz(static_cast<int>(top_ - bottom)), 0);
  }

  __device__ __forceinline__ std::uint32_t bin(Composite composite) const {
    const std::uint32_t key = key_of(composite);
    if (key >= best_key_ && !(by_position_ && key == best_key_)) return 0;
    return (top_ - (by_position_ ? static_cast<std::uint32_t>(composite) : key)) >> shift_;
  }

  // The bins of what is in one of these, of more than one key or position each.
  __device__ __forceinline__ bool can_divide() const { return shift_ > 0; }
  __device__ __forceinline__ HalfBins inside(std::uint32_t bin) const {
    HalfBins divided(*this);
    divided.top_ -= bin << shift_;
    divided.shift_ = max(shift_ - kLog2Bins, 0);
    return divided;
  }

  // Whether a bin is of one key, and that key.
  __device__ __forceinline__ bool is_of_one_key() const { return !by_position_ && shift_ == 0; }
  __device__ __forceinline__ std::uint32_t key_of_bin(std::uint32_t bin) const {
    return top_ - bin;
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

__device__ __forceinline__ RadixCursor cursor_of(const SurvivorRange& range) {
  return RadixCursor::above(range.low, RadixCursor::best_of_key(range.best_key), range.max_key,
                            range.num_items);
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

// place_winners() for at most kBatch survivors per thread.
template <int kThreads, int kBatch>
__device__ __forceinline__ bool place_batch(const SurvivorView& view, std::uint32_t k,
                                            const SurvivorRange& range, Composite* winners,
                                            FinishScratch& scratch) {
  Histogram& histogram = scratch.histogram;
  HalfBins half_bins(range);
  Composite composites[kBatch];
  std::uint32_t bins[kBatch];  // HalfBins::kBins: placed, or lost
  std::uint32_t ranks[kBatch];
#pragma unroll
  for (int j = 0; j < kBatch; ++j) {
    const std::uint32_t i = view.first + j * view.step;
    composites[j] = i < view.end ? view.data[i] : kNoComposite;
    bins[j] = i < view.end ? half_bins.bin(composites[j]) : HalfBins::kBins;
  }
  std::uint32_t num_above = 0;  // winners in better bins than those of this round
  for (bool is_first = true;; is_first = false) {
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
      ranks[j] = bins[j] < HalfBins::kBins ? atomicAdd(&histogram.bins[bins[j]], 1u) : 0;
    }
    find_half_bin<kThreads>(histogram, k - 1 - num_above);
    const std::uint32_t pivot_bin = histogram.pivot_bin;
    const std::uint32_t pivot_count = histogram.pivot_count;
    const std::uint32_t pivot_start = num_above + histogram.pivot_above;
    const std::uint32_t num_wanted = k - pivot_start;
    const bool take_all = num_wanted == pivot_count;
    const bool use_list = !take_all && pivot_count <= FinishScratch::kListCapacity;
    const bool is_ordered = is_first && histogram.is_crowded == 0;
    const std::uint32_t end_bin = pivot_bin + (take_all ? 1 : 0);
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
      if (bins[j] < end_bin) {
        winners[num_above + histogram.bins[bins[j]] + ranks[j]] = composites[j];
      } else if (use_list && bins[j] == pivot_bin) {
        scratch.list[ranks[j]] = composites[j];
      }
    }
    __syncthreads();
    if (take_all) return is_ordered;
    if (use_list) {
      rank_list_by_warps<kThreads>(
          scratch, pivot_count, num_wanted, pivot_start,
          [&](std::uint32_t place, Composite winner) { winners[place] = winner; });
      __syncthreads();
      return is_ordered;
    }
    if (half_bins.can_divide()) {
      half_bins = half_bins.inside(pivot_bin);
    } else if (half_bins.is_of_one_key()) {
      const std::uint32_t key = half_bins.key_of_bin(pivot_bin);
      half_bins = HalfBins({max(range.low, Composite{key} << 32), key, key, range.num_items});
    } else {
      break;  // what is better than the best key counts as it, and may be many
    }
    num_above = pivot_start;
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
      bins[j] = bins[j] == pivot_bin ? half_bins.bin(composites[j]) : HalfBins::kBins;
    }
    clear_bins<kThreads>(histogram);
    __syncthreads();
  }
  place_in_rounds<kThreads>(view, k, cursor_of(range), winners, scratch);
  return false;
}

}  // namespace detail

// Puts the `k` best into `winners`; `most` is the largest number of survivors that a thread looks
// at. All threads of the CTA call it; the bins are empty, a barrier before. Ends with a barrier.
// Returns whether the winners of each bin of HalfBins(range) lie together from the bin's start on,
// few enough for emit_ranked(); otherwise they come in no order.
template <int kThreads>
__device__ __noinline__ bool place_winners(SurvivorView view, std::uint32_t most, std::uint32_t k,
                                           SurvivorRange range, Composite* winners,
                                           FinishScratch& scratch) {
  if (most <= 2) return detail::place_batch<kThreads, 2>(view, k, range, winners, scratch);
  if (most <= 8) return detail::place_batch<kThreads, 8>(view, k, range, winners, scratch);
  if (most <= 16) return detail::place_batch<kThreads, 16>(view, k, range, winners, scratch);
  detail::place_in_rounds<kThreads>(view, k, detail::cursor_of(range), winners, scratch);
  return false;
}

// Hands each of the winners that place_winners() has ordered by bin to `emit(place, composite)`,
// places being ranks. All threads of the CTA call it; `range` as it was given there.
template <int kThreads, class Emit>
__device__ __forceinline__ void emit_ranked(const Composite* winners, std::uint32_t k,
                                            const SurvivorRange& range, const Histogram& histogram,
                                            Emit&& emit) {
  const HalfBins half_bins(range);
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
