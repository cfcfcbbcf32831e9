// split_stream: a row divided among many CTAs of the grid, read once. For one huge row, for a few
// long ones, and for rows of which few are long.
//
//   1. sample   sample_ctas CTAs per row read segments of one or two 16-byte slots at pseudo-random
//               places, one in each of equally many stretches of the row. The segments are dealt
//               out to groups; each group's best composite goes to global memory
//   2. filter   the row's parts, a CTA each, on their own: the bound is the group best of a rank
//               that makes fewer than k survivors next to impossible; what reaches it goes to a
//               list in shared memory and then to the row's buffer in global memory
//   3. finish   the part that arrives last (an atomic ticket; nobody waits) writes the k best of
//               the survivors. A row of one part is finished from shared memory
//
// The filter starts under programmatic dependent launch, once the sample's loads are on their way.
// So that the memory hardly idles until the bound is known, it loads its first tile of one row, or
// asks for that of several to be brought into L2 and loads it behind the groups' bests.
//
// What runs once in a call is instructions that no multiprocessor has at hand: some ten cycles
// each. So the plan works out what it can, and the way to the bound is short.
//
// Of a segment only the best element counts, so the number of groups with one of the k best is at
// most Poisson distributed with mean k * sampled / all, whatever the order of the elements. The
// bound is a composite, so that ties cost nothing. It only decides the speed: where it was wrong -
// fewer survivors than wanted, or more than the buffer holds - the last part searches the row alone
// as row_radix does.
//
// Where the rows' lengths are on the device alone, the parts are divided by them (ragged_part()).
#pragma once

#include <cstdint>

#include "cuda/common/hit_mask.cuh"
#include "cuda/common/part_filter.cuh"
#include "cuda/common/pass_counts.cuh"
#include "cuda/common/ragged_parts.cuh"
#include "cuda/common/rank_bound.cuh"
#include "cuda/common/row_finish.cuh"
#include "cuda/common/row_output.cuh"
#include "cuda/common/row_passes.cuh"
#include "cuda/common/row_slots.cuh"
#include "cuda/common/sample_hash.cuh"
#include "cuda/common/slot_composites.cuh"
#include "cuda/common/split_sampling.h"
#include "cuda/ptx/launch_control.cuh"
#include "cuda/smem/split_stream.h"
#include "cuda/tuning/split_stream.h"
#include "cuda/workspace/split_stream.h"
#include "deepselect/row_view.h"

namespace deepselect::cuda {

namespace detail {

// A row's window. Where `shape` tells that it is the whole row, nothing has to be read.
__device__ __forceinline__ RowView split_row_view(const TopkParams& params,
                                                  const SplitStreamShape& shape, std::int64_t row) {
  if (shape.has_whole_rows == 0) return row_view(params, row);
  RowView view{};
  view.end = params.num_cols;
  return view;
}

// How a row is sampled; not at all where it has no more items than a CTA has room for.
template <class Policy, ValueType kType>
__device__ __forceinline__ SplitSampling sampling_of(const RowSlots<kType>& slots,
                                                     const TopkParams& params,
                                                     const SplitStreamShape& shape) {
  if (shape.has_whole_rows != 0) return shape.sampling;
  const std::uint32_t num_slots = slots.end_whole() - min(slots.first_whole(), slots.end_whole());
  return split_sampling<Policy>(num_slots, max(num_wanted_of(params, slots.num_items()), 1u),
                                shape.log2_segment_slots, shape.num_groups());
}

// The first slot of a sampled segment: anywhere in the segment's stretch of the row, whose segments
// begin at `first_slot`.
__device__ __forceinline__ std::uint32_t sampled_slot(const SplitSampling& sampling,
                                                      std::uint32_t first_slot,
                                                      std::uint32_t segment) {
  const auto begin = static_cast<std::uint32_t>(segment * sampling.stretch >> 32);
  const auto end = static_cast<std::uint32_t>((segment + 1) * sampling.stretch >> 32);
  const std::uint32_t hash = sample_hash(segment);
  return first_slot + ((begin + __umulhi(hash, end - begin)) << sampling.log2_slots);
}

// Bins for the finish: from the bound up to somewhat above the best of the sample.
template <class Policy, ValueType kType>
__device__ __forceinline__ RadixCursor finish_bins(Composite bound, std::uint32_t best_sampled,
                                                   std::uint32_t num_items) {
  constexpr std::uint32_t kMaxKey = KeyMap<kType>::kMaxKey;
  const std::uint64_t range = best_sampled - key_of(bound);
  const std::uint64_t expected = best_sampled + range * Policy::kSpareRanges;
  const std::uint32_t best_key =
      expected < kMaxKey ? static_cast<std::uint32_t>(expected) : kMaxKey;
  return RadixCursor::above(bound, RadixCursor::best_of_key(best_key), kMaxKey, num_items);
}

}  // namespace detail

template <ValueType kType, class Policy>
__global__ void __launch_bounds__(Policy::kSampleThreads)
    split_stream_sample_kernel(const __grid_constant__ TopkParams params, SplitStreamShape shape,
                               SplitStreamWorkspace workspace) {
  constexpr std::uint32_t kThreads = Policy::kSampleThreads;
  __shared__ SplitStreamSampleSmem<kThreads> smem;

  // Everything before this kernel has ended: it was launched without the attribute.
  // The CTAs of a row are a power of two.
  const std::int64_t row = blockIdx.x >> (31 - __clz(static_cast<int>(shape.sample_ctas)));
  const std::uint32_t part = blockIdx.x & (shape.sample_ctas - 1);
  const RowView view = detail::split_row_view(params, shape, row);
  const RowSlots<kType> slots(params, view, row);
  if (part == 0 && threadIdx.x == 0) workspace.counters[row] = 0;
  if (slots.num_items() <= Policy::kStagedSurvivors) return;

  const KeyMap<kType> key_map(params);
  const SplitSampling sampling = detail::sampling_of<Policy>(slots, params, shape);
  const std::uint32_t log2_slots = sampling.log2_slots;
  const std::uint32_t first_slot = slots.first_segment(1u << log2_slots);
  const std::uint32_t slot_in_segment = threadIdx.x & ((1u << log2_slots) - 1);
  const std::uint32_t num_segments = sampling.num_segments;
  // Neighbouring segments go to different groups, so that the groups' bests stay different where
  // the best elements of a row lie side by side.
  const std::uint32_t step = shape.sample_ctas * (kThreads >> log2_slots);
  Composite best = kNoComposite;
  for (std::uint32_t base = (threadIdx.x >> log2_slots) * shape.sample_ctas + part;
       base < num_segments; base += step * Policy::kSampleInFlight) {
    std::uint32_t slot[Policy::kSampleInFlight];
    uint4 bits[Policy::kSampleInFlight];
#pragma unroll
    for (int i = 0; i < Policy::kSampleInFlight; ++i) {
      const std::uint32_t segment = base + i * step;
      if (segment >= num_segments) continue;
      slot[i] = detail::sampled_slot(sampling, first_slot, segment) + slot_in_segment;
      bits[i] = slots.whole_slots()[slot[i]];
    }
    // Not before: the filter's first loads queue up in front of what is sampled later.
    ptx::launch_dependents();
#pragma unroll
    for (int i = 0; i < Policy::kSampleInFlight; ++i) {
      if (base + i * step >= num_segments) continue;
      const SlotComposites<kType> composites(key_map, bits[i], slots.first_position(slot[i]));
#pragma unroll
      for (int j = 0; j < SlotComposites<kType>::kItems; ++j) best = max(best, composites.at(j));
    }
  }
  // The two slots of a segment meet in one group, kThreads / 2 apart.
  const std::uint32_t place = (slot_in_segment * (kThreads / 2)) + (threadIdx.x >> log2_slots);
  smem.best[place] = best;
  __syncthreads();
  const std::uint32_t num_groups = shape.groups_per_sample_cta;
  if (threadIdx.x >= num_groups) return;
  best = kNoComposite;
#pragma unroll 4
  for (std::uint32_t i = threadIdx.x; i < kThreads; i += num_groups) best = max(best, smem.best[i]);
  // kNoComposite of a group without elements.
  workspace.groups[row * shape.num_groups() + part * num_groups + threadIdx.x] = best;
}

template <ValueType kType, class Policy>
__global__ void __launch_bounds__(Policy::kFilterThreads, Policy::kFilterCtasPerSm)
    split_stream_filter_kernel(const __grid_constant__ TopkParams params, SplitStreamShape shape,
                               SplitStreamWorkspace workspace) {
  constexpr int kThreads = Policy::kFilterThreads;
  using Smem = SplitStreamFilterSmem<Policy::kStagedSurvivors>;
  extern __shared__ __align__(16) unsigned char dynamic_smem[];
  auto& smem = *reinterpret_cast<Smem*>(dynamic_smem);
  // Over the stage, which is done with.
  auto* winners = reinterpret_cast<Composite*>(dynamic_smem + sizeof(Smem));
  Histogram& histogram = smem.finish.histogram;

  RowPart part{blockIdx.x / shape.parts, blockIdx.x % shape.parts, shape.parts};
  if (shape.is_ragged != 0) {
    part = ragged_part<kThreads, Policy::kMaxRows, Policy::kMinPartSlots, kType>(
        params, shape.parts, smem.ragged);
  }
  if (part.num_parts == 0) return;
  const std::int64_t row = part.row;
  const KeyMap<kType> key_map(params);
  const RowSlots<kType> slots(params, detail::split_row_view(params, shape, row), row);
  // A row may be shorter than the plan could know.
  part.num_parts = min(part.num_parts, slots.num_slots() / Policy::kMinPartSlots + 1);
  if (part.index >= part.num_parts) return;

  // The input is older than the sample, so it may be asked for before the sample has ended. What is
  // on its way to a multiprocessor delays what the sample writes there, its end, and the groups, so
  // of several rows it goes to L2 alone; of one row the time to fill the memory's pipe is more.
  using Tiles = PartTiles<kThreads, Policy::kFilterBatches, Policy::kStagesHits, kType>;
  constexpr bool kLoadsEarly = Policy::kFilterBatches > 1;
  static_assert(Tiles::kStageBytes == Policy::kStageBytes, "what the plan reserves");
  Tiles tiles(slots, part, dynamic_smem + sizeof(Smem));
  if (kLoadsEarly) {
    tiles.load_first(slots);
    tiles.load_rest(slots);
  }
  if (threadIdx.x == 0) {
    if (!kLoadsEarly) tiles.prefetch_first(slots);
    tiles.prefetch_next(slots, Policy::kPrefetchBytes);
    smem.num_staged = 0;
    smem.finish.list_size = 0;
    smem.finish.num_emitted = 0;
  }
  RegisterRankBins::clear<kThreads>(histogram);
  const std::uint32_t num_wanted = num_wanted_of(params, slots.num_items());
  std::uint32_t rank = SplitSampling::kNoRank;
  if (slots.num_items() > Policy::kStagedSurvivors) {
    rank = detail::sampling_of<Policy>(slots, params, shape).bound_rank;
  }
  ptx::wait_for_dependencies();
  if (num_wanted == 0) {
    const RowView view = detail::split_row_view(params, shape, row);
    RowOutput<kType>(params, view, row).template write_pads<kThreads>(0);
    return;
  }

  RegisterRankBound found{kNoComposite, KeyMap<kType>::kMaxKey};
  if (rank != SplitSampling::kNoRank) {
    constexpr int kThreadGroups = Policy::kMaxGroups / kThreads;
    static_assert(Policy::kMaxGroups % kThreads == 0);
    const std::uint32_t num_groups = shape.num_groups();
    const Composite* row_groups = workspace.groups + row * num_groups;
    Composite groups[kThreadGroups];
#pragma unroll
    for (int i = 0; i < kThreadGroups; ++i) {
      const std::uint32_t group = i * kThreads + threadIdx.x;
      groups[i] = group < num_groups ? row_groups[group] : kNoComposite;
    }
    if (!kLoadsEarly) tiles.load_first(slots);
    found = rank_bound_of_registers<kThreads>(groups, slots.num_items(), rank,
                                              rank / Policy::kRankSlackDivisor, histogram,
                                              &smem.bound_bin);
  } else {
    if (!kLoadsEarly) tiles.load_first(slots);
    __syncthreads();
  }
  if (!kLoadsEarly) tiles.load_rest(slots);
  const Composite bound = found.bound;
  if (threadIdx.x == 0) {
    smem.bound = bound;
    smem.best_sampled = found.best_key;
  }
  const SurvivorSink sink{smem.staged,           Policy::kStagedSurvivors,
                          &smem.num_staged,      workspace.survivors + row * shape.buffer_capacity,
                          shape.buffer_capacity, &workspace.counters[row]};
  tiles.filter(slots, key_map, bound, sink);
  if (part.index == 0 && threadIdx.x < kWarpThreads) filter_edges(slots, key_map, bound, sink);
  clear_bins<kThreads>(histogram);
  __syncthreads();

  std::uint32_t num_survivors = smem.num_staged;
  RadixCursor cursor;
  if (part.num_parts == 1 && num_survivors >= num_wanted &&
      num_survivors <= Policy::kStagedSurvivors) {
    note_pass(num_survivors);
    cursor = detail::finish_bins<Policy, kType>(smem.bound, smem.best_sampled, slots.num_items());
    detail::count_survivors<kThreads>(smem.staged, num_survivors, cursor, histogram);
  } else {
    sink.template flush<kThreads>(&smem.first_place);
    __syncthreads();
    // One thread's fences are the CTA's, a barrier before and after: the fence after the ticket
    // pairs with the others' before theirs. Meanwhile another makes the finish's bins.
    if (threadIdx.x == 0) {
      __threadfence();
      const unsigned long long before = atomicAdd(sink.counter, 1ull << 32);
      smem.num_survivors = static_cast<std::uint32_t>(before);
      smem.is_last = before >> 32 == part.num_parts - 1;
      __threadfence();
    } else if (threadIdx.x == kWarpThreads) {
      smem.cursor =
          detail::finish_bins<Policy, kType>(smem.bound, smem.best_sampled, slots.num_items());
    }
    __syncthreads();
    if (smem.is_last == 0) return;
    cursor = smem.cursor;
    num_survivors = smem.num_survivors;
    note_pass(num_survivors);
    if (num_survivors >= num_wanted && num_survivors <= shape.buffer_capacity) {
      num_survivors = gather_survivors<kThreads>(sink.buffer, num_survivors, num_wanted,
                                                 smem.staged, Policy::kStagedSurvivors,
                                                 &smem.num_staged, &cursor, smem.finish);
    } else {
      const Composite low =
          narrow_row<kThreads, HitMask<kType>::kMaxVectors>(
              slots, key_map, num_wanted, Policy::kStagedSurvivors, true, histogram)
              .low();
      if (threadIdx.x == 0) smem.num_staged = 0;
      __syncthreads();
      collect_slots<kThreads, HitMask<kType>::kMaxVectors>(
          slots, 0, slots.num_slots(), key_map, low, ~Composite{0}, smem.staged, &smem.num_staged);
      __syncthreads();
      num_survivors = smem.num_staged;
      note_pass(num_survivors);  // the search's readings count as one
      cursor = detail::survivor_range<kThreads>(smem.staged, num_survivors, smem.finish);
      detail::count_survivors<kThreads>(smem.staged, num_survivors, cursor, histogram);
    }
  }
  // Made again: kept, it would take the filter's registers.
  const RowView view = detail::split_row_view(params, shape, row);
  const RowOutput<kType> output(params, view, row);
  write_best<kThreads, false>(params, key_map, slots, output, smem.staged, num_survivors,
                              num_wanted, cursor, winners, smem.finish);
}

}  // namespace deepselect::cuda
