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
// The filter starts under programmatic dependent launch, once the sample's loads are on their way:
// its own first loads follow them, so that the memory hardly idles until the bound is known.
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
#include "cuda/ptx/launch_control.cuh"
#include "cuda/smem/split_stream.h"
#include "cuda/tuning/split_stream.h"
#include "cuda/workspace/split_stream.h"
#include "deepselect/row_view.h"

namespace deepselect::cuda {

namespace detail {

// What is sampled of a row: segments of its whole slots, in equal stretches.
template <class Policy, ValueType kType>
class SplitSample {
 public:
  __device__ SplitSample(const RowSlots<kType>& slots, std::uint32_t num_wanted,
                         const SplitStreamShape& shape)
      : num_wanted_(num_wanted) {
    // Where the k best are many among the slots, two slots have one between them too often.
    const std::uint32_t num_slots = slots.end_whole() - min(slots.first_whole(), slots.end_whole());
    log2_slots_ = num_slots / Policy::kSlotsPerWanted >= num_wanted ? shape.log2_segment_slots : 0;
    first_slot_ = slots.first_segment(1u << log2_slots_);
    num_row_segments_ = (slots.end_whole() - min(first_slot_, slots.end_whole())) >> log2_slots_;
    num_segments_ = Policy::num_segments(num_row_segments_, num_wanted);
    stretch_ = num_segments_ == 0 ? 0 : (std::uint64_t{num_row_segments_} << 32) / num_segments_;
  }

  __device__ std::uint32_t log2_slots() const { return log2_slots_; }
  __device__ std::uint32_t num_segments() const { return num_segments_; }

  // The first slot of a sampled segment: anywhere in the segment's stretch of the row.
  __device__ __forceinline__ std::uint32_t slot_of(std::uint32_t segment) const {
    const auto begin = static_cast<std::uint32_t>(segment * stretch_ >> 32);
    const auto end = static_cast<std::uint32_t>((segment + 1) * stretch_ >> 32);
    const std::uint32_t hash = sample_hash(segment);
    return first_slot_ + ((begin + __umulhi(hash, end - begin)) << log2_slots_);
  }

  // The rank among the groups' bests of a bound that fewer than num_wanted elements reach only by
  // extraordinary chance; `num_groups` or more where the sample is too small for one.
  __device__ std::uint32_t bound_rank(std::uint32_t num_groups) const {
    const float mean =
        static_cast<float>(num_wanted_) *
        __fdividef(static_cast<float>(num_segments_), static_cast<float>(num_row_segments_));
    const std::uint32_t rank =
        Policy::kSpareRank + static_cast<std::uint32_t>(mean + Policy::kSigmas * sqrtf(mean));
    return rank < num_segments_ ? rank : num_groups;
  }

 private:
  std::uint64_t stretch_;  // in segments, with 32 bits behind the point
  std::uint32_t num_wanted_;
  std::uint32_t first_slot_;
  std::uint32_t num_row_segments_;
  std::uint32_t num_segments_;
  std::uint32_t log2_slots_;  // of a segment
};

// The bound of a row from the sample's groups, into the cursor of the finish, whose bins begin
// somewhat above the best of the sample. All threads of the CTA call it; `groups` is scratch.
// Begins and ends complete.
template <class Policy, ValueType kType>
__device__ __forceinline__ void find_split_bound(const RowSlots<kType>& slots,
                                                 std::uint32_t num_wanted,
                                                 const SplitStreamShape& shape,
                                                 const Composite* row_groups, Composite* groups,
                                                 RadixCursor* cursor, FinishScratch& scratch) {
  constexpr int kThreads = Policy::kFilterThreads;
  constexpr std::uint32_t kMaxKey = KeyMap<kType>::kMaxKey;
  const std::uint32_t num_groups = shape.num_groups();
  Composite bound = kNoComposite;
  std::uint32_t best_key = kMaxKey;
  if (slots.num_items() > Policy::kStagedSurvivors) {
    const SplitSample<Policy, kType> sample(slots, num_wanted, shape);
    const std::uint32_t rank = sample.bound_rank(num_groups);
    if (rank < num_groups) {
      for (std::uint32_t i = threadIdx.x; i < num_groups; i += kThreads) groups[i] = row_groups[i];
      __syncthreads();
      bound =
          rank_bound<kThreads>(groups, num_groups, rank, rank / Policy::kRankSlackDivisor, scratch);
      const std::uint64_t range = scratch.best_key - key_of(bound);
      const std::uint64_t expected = scratch.best_key + range * Policy::kSpareRanges;
      best_key = expected < kMaxKey ? static_cast<std::uint32_t>(expected) : kMaxKey;
    }
  }
  if (threadIdx.x == 0) {
    *cursor =
        RadixCursor::above(bound, RadixCursor::best_of_key(best_key), kMaxKey, slots.num_items());
  }
  __syncthreads();
}

}  // namespace detail

template <ValueType kType, class Policy>
__global__ void __launch_bounds__(Policy::kSampleThreads)
    split_stream_sample_kernel(const __grid_constant__ TopkParams params, SplitStreamShape shape,
                               SplitStreamWorkspace workspace) {
  constexpr std::uint32_t kThreads = Policy::kSampleThreads;
  __shared__ SplitStreamSampleSmem<kThreads> smem;

  // Everything before this kernel has ended: it was launched without the attribute.
  const std::int64_t row = blockIdx.x / shape.sample_ctas;
  const std::uint32_t part = blockIdx.x % shape.sample_ctas;
  const RowView view = row_view(params, row);
  const RowSlots<kType> slots(params, view, row);
  if (part == 0 && threadIdx.x == 0) workspace.counters[row] = 0;
  if (slots.num_items() <= Policy::kStagedSurvivors) return;

  const KeyMap<kType> key_map(params);
  const detail::SplitSample<Policy, kType> sample(slots, num_wanted_of(params, slots.num_items()),
                                                  shape);
  const std::uint32_t log2_slots = sample.log2_slots();
  const std::uint32_t slot_in_segment = threadIdx.x & ((1u << log2_slots) - 1);
  const std::uint32_t num_segments = sample.num_segments();
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
      slot[i] = sample.slot_of(segment) + slot_in_segment;
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
  // A group without elements gets a number below every composite, different from all others:
  // rank_bound() needs distinct ones.
  const std::uint32_t group = part * num_groups + threadIdx.x;
  workspace.groups[row * shape.num_groups() + group] =
      best != kNoComposite ? best : Composite{group};
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
  const RowView view = row_view(params, row);
  const KeyMap<kType> key_map(params);
  const RowSlots<kType> slots(params, view, row);
  // A row may be shorter than the plan could know.
  part.num_parts = min(part.num_parts, slots.num_slots() / Policy::kMinPartSlots + 1);
  if (part.index >= part.num_parts) return;

  // The input is older than the sample, so it may be read before the sample has ended.
  using Tiles = PartTiles<kThreads, Policy::kFilterBatches, Policy::kStagesHits, kType>;
  static_assert(Tiles::kStageBytes == Policy::kStageBytes, "what the plan reserves");
  Tiles tiles(slots, part, dynamic_smem + sizeof(Smem));
  if (threadIdx.x == 0) {
    tiles.prefetch_next(slots, Policy::kPrefetchBytes);
    smem.num_staged = 0;
  }
  const std::uint32_t num_wanted = num_wanted_of(params, slots.num_items());
  ptx::wait_for_dependencies();
  __syncthreads();
  if (num_wanted == 0) {
    RowOutput<kType>(params, view, row).template write_pads<kThreads>(0);
    return;
  }

  detail::find_split_bound<Policy>(slots, num_wanted, shape,
                                   workspace.groups + row * shape.num_groups(), smem.groups,
                                   &smem.cursor, smem.finish);
  const Composite bound = smem.cursor.low();
  const SurvivorSink sink{smem.staged,           Policy::kStagedSurvivors,
                          &smem.num_staged,      workspace.survivors + row * shape.buffer_capacity,
                          shape.buffer_capacity, &workspace.counters[row]};
  tiles.filter(slots, key_map, bound, sink);
  if (part.index == 0 && threadIdx.x < kWarpThreads) filter_edges(slots, key_map, bound, sink);
  clear_bins<kThreads>(histogram);
  if (threadIdx.x == 0) {
    smem.finish.list_size = 0;
    smem.finish.num_emitted = 0;
  }
  __syncthreads();

  std::uint32_t num_survivors = smem.num_staged;
  RadixCursor cursor = smem.cursor;
  if (part.num_parts == 1 && num_survivors >= num_wanted &&
      num_survivors <= Policy::kStagedSurvivors) {
    note_pass(num_survivors);
    detail::count_survivors<kThreads>(smem.staged, num_survivors, cursor, histogram);
  } else {
    sink.template flush<kThreads>(&smem.first_place);
    // The fence after the ticket pairs with the others' before theirs.
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
      const unsigned long long before = atomicAdd(sink.counter, 1ull << 32);
      smem.num_survivors = static_cast<std::uint32_t>(before);
      smem.is_last = before >> 32 == part.num_parts - 1;
    }
    __syncthreads();
    if (smem.is_last == 0) return;
    __threadfence();
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
  const RowOutput<kType> output(params, view, row);
  write_best<kThreads, false>(params, key_map, slots, output, smem.staged, num_survivors,
                              num_wanted, cursor, winners, smem.finish);
}

}  // namespace deepselect::cuda
