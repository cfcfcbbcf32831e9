// split_stream: a row divided among many CTAs of the grid, read once. For one huge row and for a
// few long ones.
//
//   1. sample   sample_ctas CTAs per row read 128-byte segments at pseudo-random places, one in
//   each
//               of equally many stretches of the row. The lanes of a CTA that have the same number
//               form a group; each group's best composite goes to global memory
//   2. filter   filter_ctas CTAs per row, each on its own: the bound is the group best of a rank
//               that makes fewer than k survivors next to impossible; everything that reaches it
//               goes to the row's buffer in global memory
//   3. finish   one CTA per row: the k best of the survivors, put in order, written out
//
// The kernels start under programmatic dependent launch: the filter has its first loads in flight
// while the sample ends. No CTA waits for another.
//
// The bound is a composite, so that ties cost nothing. It only decides the speed. Where it was
// wrong - fewer survivors than wanted, or more than the buffer holds - the finish repairs it: all
// finish_ctas of the row filter it again, by a much lower bound or by the best of the survivors
// that there are, and the last of them to arrive finishes. Should that fail too, it alone searches
// the row as row_radix does: exact always.
#pragma once

#include <cstdint>

#include "cuda/common/composite_passes.cuh"
#include "cuda/common/finish.cuh"
#include "cuda/common/part_filter.cuh"
#include "cuda/common/pass_counts.cuh"
#include "cuda/common/row_output.cuh"
#include "cuda/common/row_passes.cuh"
#include "cuda/common/row_slots.cuh"
#include "cuda/ptx/launch_control.cuh"
#include "cuda/smem/split_stream.h"
#include "cuda/tuning/split_stream.h"
#include "cuda/workspace/split_stream.h"
#include "deepselect/row_view.h"

namespace deepselect::cuda {

namespace detail {

constexpr std::uint32_t kSlotsPerSegment = 8;

// What is sampled of a row: the segments of its whole slots, in equal stretches.
template <class Policy, ValueType kType>
class SplitSample {
 public:
  __device__ SplitSample(const RowSlots<kType>& slots, std::uint32_t num_wanted)
      : first_slot_(slots.first_whole()) {
    const std::uint32_t first = slots.first_whole();
    const std::uint32_t end = slots.end_whole();
    num_row_segments_ = end > first ? (end - first) / kSlotsPerSegment : 0;
    const std::uint32_t few =
        min(num_row_segments_ / Policy::kDensestSample, std::uint32_t{Policy::kMinSegments});
    const auto for_rank = static_cast<std::uint32_t>(std::uint64_t{num_row_segments_} *
                                                     Policy::kMaxSampledWinners / num_wanted);
    num_segments_ = max(num_row_segments_ / Policy::kSparsestSample, min(few, for_rank));
  }

  __device__ std::uint32_t num_segments() const { return num_segments_; }

  // The first slot of a sampled segment: anywhere in the segment's stretch of the row.
  __device__ __forceinline__ std::uint32_t slot_of(std::uint32_t segment) const {
    const std::uint64_t row_segments = num_row_segments_;
    const auto begin = static_cast<std::uint32_t>(segment * row_segments / num_segments_);
    const auto end = static_cast<std::uint32_t>((segment + 1) * row_segments / num_segments_);
    std::uint32_t hash = segment * 0x9E3779B1u;
    hash ^= hash >> 15;
    hash *= 0x85EBCA6Bu;
    return first_slot_ + (begin + __umulhi(hash, end - begin)) * kSlotsPerSegment;
  }

  // The rank among the groups' bests of a bound that fewer than num_wanted elements reach only by
  // extraordinary chance.
  __device__ std::uint32_t bound_rank(std::uint32_t num_wanted) const {
    const float mean = static_cast<float>(num_wanted) * static_cast<float>(num_segments_) /
                       static_cast<float>(num_row_segments_);
    return Policy::kSpareRank + static_cast<std::uint32_t>(mean + Policy::kSigmas * sqrtf(mean));
  }

 private:
  std::uint32_t first_slot_;
  std::uint32_t num_row_segments_;
  std::uint32_t num_segments_;
};

__device__ __forceinline__ std::uint32_t num_wanted_of(const TopkParams& params,
                                                       std::uint32_t num_items) {
  return static_cast<std::uint32_t>(params.k < num_items ? params.k : std::int64_t{num_items});
}

// The bound of `rank` among the groups, which are in shared memory; none where the sample is too
// small for it.
template <int kThreads>
__device__ __forceinline__ Composite group_bound(const Composite* groups, std::uint32_t num_groups,
                                                 std::uint32_t rank, FinishScratch& scratch) {
  if (rank >= num_groups) return kNoComposite;
  return rank_bound<kThreads>(groups, num_groups, rank, rank / 16, scratch);
}

template <int kThreads>
__device__ __forceinline__ void copy_composites(const Composite* from, std::uint32_t count,
                                                Composite* to) {
  for (std::uint32_t i = threadIdx.x; i < count; i += kThreads) to[i] = from[i];
}

// The finish of a row from `num_survivors` in global memory.
template <class Policy, ValueType kType>
__device__ void finish_split_row(const TopkParams& params, const SplitStreamShape& shape,
                                 const KeyMap<kType>& key_map, const RowSlots<kType>& slots,
                                 const RowOutput<kType>& output, const Composite* buffer,
                                 std::uint32_t num_survivors, std::uint32_t num_wanted,
                                 Composite* survivors, Composite* winners,
                                 SplitStreamFinishSmem& smem) {
  constexpr int kThreads = Policy::kFinishThreads;
  if (num_survivors <= shape.on_chip_capacity) {
    copy_composites<kThreads>(buffer, num_survivors, survivors);
    __syncthreads();
  } else {
    const Composite bound = rank_bound<kThreads>(buffer, num_survivors, num_wanted,
                                                 shape.on_chip_capacity - num_wanted, smem.scratch);
    if (threadIdx.x == 0) smem.num_survivors = 0;
    __syncthreads();
    copy_reaching<kThreads>(buffer, num_survivors, bound, survivors, &smem.num_survivors);
    num_survivors = smem.num_survivors;
  }
  finish_select<kThreads>(survivors, num_survivors, num_wanted, winners, smem.scratch);
  sort_winners<kThreads>(params.order, winners, num_wanted);
  write_winners<kThreads>(params, key_map, slots, output, winners, num_wanted);
}

}  // namespace detail

template <ValueType kType, class Policy>
__global__ void __launch_bounds__(Policy::kSampleThreads)
    split_stream_sample_kernel(const __grid_constant__ TopkParams params, SplitStreamShape shape,
                               SplitStreamWorkspace workspace) {
  constexpr int kThreads = Policy::kSampleThreads;
  constexpr std::uint32_t kWarps = kThreads / kWarpThreads;
  constexpr std::uint32_t kSegmentsPerWarp = kWarpThreads / detail::kSlotsPerSegment;
  __shared__ SplitStreamSampleSmem<kThreads> smem;

  // Everything before this kernel has ended: it was launched without the attribute.
  ptx::launch_dependents();
  const std::int64_t row = blockIdx.x / shape.sample_ctas;
  const std::uint32_t part = blockIdx.x % shape.sample_ctas;
  const RowView view = row_view(params, row);
  const KeyMap<kType> key_map(params);
  const RowSlots<kType> slots(params, view, row);
  const std::uint32_t num_wanted = detail::num_wanted_of(params, slots.num_items());
  if (part == 0 && threadIdx.x == 0) workspace.counters[row] = {0, 0, 0, 0};

  Composite best = kNoComposite;
  if (num_wanted != 0) {
    const detail::SplitSample<Policy, kType> sample(slots, num_wanted);
    const std::uint32_t warp = threadIdx.x / kWarpThreads;
    const std::uint32_t lane = threadIdx.x % kWarpThreads;
    // Neighbouring segments go to different CTAs, so that the groups stay different where the best
    // elements of a row lie side by side.
    const std::uint32_t step = shape.sample_ctas * kWarps * kSegmentsPerWarp;
    const std::uint32_t first =
        (warp * shape.sample_ctas + part) * kSegmentsPerWarp + lane / detail::kSlotsPerSegment;
    const std::uint32_t num_segments = sample.num_segments();
    for (std::uint32_t base = first; base < num_segments; base += step * Policy::kSampleInFlight) {
      std::uint32_t slot[Policy::kSampleInFlight];
      uint4 bits[Policy::kSampleInFlight];
#pragma unroll
      for (int i = 0; i < Policy::kSampleInFlight; ++i) {
        const std::uint32_t segment = base + i * step;
        if (segment >= num_segments) continue;
        slot[i] = sample.slot_of(segment) + lane % detail::kSlotsPerSegment;
        bits[i] = slots.whole_slots()[slot[i]];
      }
#pragma unroll
      for (int i = 0; i < Policy::kSampleInFlight; ++i) {
        if (base + i * step >= num_segments) continue;
        const SlotComposites<kType> composites(key_map, bits[i], slots.first_position(slot[i]));
#pragma unroll
        for (int j = 0; j < SlotComposites<kType>::kItems; ++j) {
          best = max(best, composites.at(j));
        }
      }
    }
  }
  smem.best[threadIdx.x] = best;
  __syncthreads();
  if (threadIdx.x < SplitStreamShape::kGroupsPerSampleCta) {
#pragma unroll
    for (std::uint32_t warp = 1; warp < kWarps; ++warp) {
      best = max(best, smem.best[warp * kWarpThreads + threadIdx.x]);
    }
    const std::int64_t group = std::int64_t{blockIdx.x} * SplitStreamShape::kGroupsPerSampleCta;
    // A group without elements gets a number below every composite, different from all others:
    // rank_bound() needs distinct ones.
    const std::uint32_t number = part * SplitStreamShape::kGroupsPerSampleCta + threadIdx.x;
    workspace.groups[group + threadIdx.x] = best != kNoComposite ? best : Composite{number};
  }
}

template <ValueType kType, class Policy>
__global__ void __launch_bounds__(Policy::kFilterThreads, Policy::kFilterCtasPerSm)
    split_stream_filter_kernel(const __grid_constant__ TopkParams params, SplitStreamShape shape,
                               SplitStreamWorkspace workspace) {
  constexpr int kThreads = Policy::kFilterThreads;
  using Smem = SplitStreamFilterSmem<Policy::kStagedSurvivors>;
  using Tile = FilterTile<kThreads, Policy::kFilterInFlight, kType>;
  extern __shared__ __align__(16) unsigned char dynamic_smem[];
  auto& smem = *reinterpret_cast<Smem*>(dynamic_smem);
  auto* groups = reinterpret_cast<Composite*>(dynamic_smem + sizeof(Smem));

  ptx::launch_dependents();
  const std::int64_t row = blockIdx.x / shape.filter_ctas;
  const std::uint32_t part = blockIdx.x % shape.filter_ctas;
  const RowView view = row_view(params, row);
  const KeyMap<kType> key_map(params);
  const RowSlots<kType> slots(params, view, row);
  const std::uint32_t num_wanted = detail::num_wanted_of(params, slots.num_items());
  const std::uint32_t num_tiles = Tile::num_tiles(slots);

  // The input is older than the sample, so it may be read before the sample has ended.
  Tile tile;
  if (part < num_tiles) tile.load(slots, part);
  if (threadIdx.x == 0) smem.num_staged = 0;
  ptx::wait_for_dependencies();
  if (num_wanted == 0 || (part != 0 && part >= num_tiles)) return;

  Composite bound = kNoComposite;
  if (slots.num_items() > shape.on_chip_capacity) {
    detail::copy_composites<kThreads>(workspace.groups + row * shape.num_groups(),
                                      shape.num_groups(), groups);
    __syncthreads();
    const detail::SplitSample<Policy, kType> sample(slots, num_wanted);
    bound = detail::group_bound<kThreads>(groups, shape.num_groups(), sample.bound_rank(num_wanted),
                                          smem.scratch);
  }
  __syncthreads();
  SplitStreamCounters& counters = workspace.counters[row];
  const SurvivorSink sink{smem.staged,
                          Policy::kStagedSurvivors,
                          &smem.num_staged,
                          &smem.first_place,
                          workspace.survivors + row * 2 * shape.buffer_capacity,
                          shape.buffer_capacity,
                          &counters.num_survivors};
  if (part < num_tiles) {
    for (std::uint32_t next = part;;) {
      tile.filter(slots, key_map, bound, sink);
      next += shape.filter_ctas;
      if (next >= num_tiles) break;
      tile.load(slots, next);
    }
  }
  if (part == 0 && threadIdx.x < kWarpThreads) filter_edges(slots, key_map, bound, sink);
  __syncthreads();
  sink.flush<kThreads>();
}

template <ValueType kType, class Policy>
__global__ void __launch_bounds__(Policy::kFinishThreads, 1)
    split_stream_finish_kernel(const __grid_constant__ TopkParams params, SplitStreamShape shape,
                               SplitStreamWorkspace workspace) {
  constexpr int kThreads = Policy::kFinishThreads;
  using Tile = FilterTile<kThreads, Policy::kRepairInFlight, kType>;
  extern __shared__ __align__(16) unsigned char dynamic_smem[];
  auto& smem = *reinterpret_cast<SplitStreamFinishSmem*>(dynamic_smem);
  auto* survivors = reinterpret_cast<Composite*>(dynamic_smem + sizeof(SplitStreamFinishSmem));
  Composite* winners = survivors + shape.on_chip_capacity;

  const std::int64_t row = blockIdx.x / shape.finish_ctas;
  const std::uint32_t part = blockIdx.x % shape.finish_ctas;
  const RowView view = row_view(params, row);
  const KeyMap<kType> key_map(params);
  const RowSlots<kType> slots(params, view, row);
  const RowOutput<kType> output(params, view, row);
  const std::uint32_t num_wanted = detail::num_wanted_of(params, slots.num_items());
  const std::uint32_t capacity = shape.buffer_capacity;
  const Composite* buffer = workspace.survivors + row * 2 * capacity;
  SplitStreamCounters& counters = workspace.counters[row];

  ptx::wait_for_dependencies();
  if (num_wanted == 0) {
    if (part == 0) output.template write_pads<kThreads>(0);
    return;
  }
  const std::uint32_t num_survivors = counters.num_survivors;
  if (part == 0) note_pass(num_survivors);
  if (num_survivors >= num_wanted && num_survivors <= capacity) {
    if (part != 0) return;
    detail::finish_split_row<Policy>(params, shape, key_map, slots, output, buffer, num_survivors,
                                     num_wanted, survivors, winners, smem);
    return;
  }

  // Repair. Too many: any of them are elements of the row, so the k-th best of those in the buffer
  // is a bound. Too few: a bound of a much lower rank.
  Composite bound;
  if (num_survivors > capacity) {
    bound = rank_bound<kThreads>(buffer, capacity, num_wanted, 0, smem.scratch);
  } else {
    detail::copy_composites<kThreads>(workspace.groups + row * shape.num_groups(),
                                      shape.num_groups(), survivors);
    __syncthreads();
    const detail::SplitSample<Policy, kType> sample(slots, num_wanted);
    const std::uint32_t rank = 2 * sample.bound_rank(num_wanted) + shape.num_groups() / 8;
    bound = detail::group_bound<kThreads>(survivors, shape.num_groups(), rank, smem.scratch);
  }
  if (threadIdx.x == 0) smem.num_staged = 0;
  __syncthreads();
  Composite* second_buffer = workspace.survivors + (row * 2 + 1) * capacity;
  const SurvivorSink sink{
      survivors, Policy::kStagedSurvivors, &smem.num_staged, &smem.first_place, second_buffer,
      capacity,  &counters.num_repaired};
  for (std::uint32_t i = part; i < Tile::num_tiles(slots); i += shape.finish_ctas) {
    Tile tile;
    tile.load(slots, i);
    tile.filter(slots, key_map, bound, sink);
  }
  if (part == 0 && threadIdx.x < kWarpThreads) filter_edges(slots, key_map, bound, sink);
  __syncthreads();
  sink.flush<kThreads>();

  // The last to arrive finishes. Its fence after the ticket pairs with the others' before theirs.
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    smem.is_last = atomicAdd(&counters.num_arrived, 1u) == shape.finish_ctas - 1;
  }
  __syncthreads();
  if (smem.is_last == 0) return;
  __threadfence();
  const std::uint32_t num_repaired = *const_cast<volatile std::uint32_t*>(&counters.num_repaired);
  note_pass(num_repaired);
  if (num_repaired >= num_wanted && num_repaired <= capacity) {
    detail::finish_split_row<Policy>(params, shape, key_map, slots, output, second_buffer,
                                     num_repaired, num_wanted, survivors, winners, smem);
    return;
  }
  const Composite low =
      narrow_row<kThreads, Policy::kRepairInFlight>(
          slots, key_map, num_wanted, shape.on_chip_capacity, true, smem.scratch.histogram)
          .low();
  if (threadIdx.x == 0) smem.num_survivors = 0;
  __syncthreads();
  collect_slots<kThreads, Policy::kRepairInFlight>(slots, 0, slots.num_slots(), key_map, low,
                                                   ~Composite{0}, survivors, &smem.num_survivors);
  __syncthreads();
  finish_select<kThreads>(survivors, smem.num_survivors, num_wanted, winners, smem.scratch);
  sort_winners<kThreads>(params.order, winners, num_wanted);
  write_winners<kThreads>(params, key_map, slots, output, winners, num_wanted);
}

}  // namespace deepselect::cuda
