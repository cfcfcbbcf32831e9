// split_radix: a row divided among many CTAs, for k that fits on no chip. Serves any k, any order.
//
// A batch of rows at a time; a kernel each, no CTA waits for another:
//   1. bracket  a sample of the row, by one CTA: two bounds that the k-th best most likely lies
//               between
//   2. filter   the row against them: what is better than the upper bound is selected, and written
//               at once where the order is "any" (otherwise counted); what lies between goes to the
//               row's list of candidates in global memory. The last part to arrive finds the k-th
//               best among those, if the counts prove the bracket right
//   3. rounds, count   where they do not (split_radix_rounds.cuh)
//   4. emit     the selected elements in order of position, unless they are written. Places follow
//               from the counts of the parts before
// Order "value": emit writes pairs (sort key, position) instead, and split_radix_sort.cuh puts them
// in order.
#pragma once

#include <cstdint>

#include "cuda/common/block.cuh"
#include "cuda/common/histogram.cuh"
#include "cuda/common/hit_queue.cuh"
#include "cuda/common/radix_cursor.h"
#include "cuda/common/rank_bound.cuh"
#include "cuda/common/row_bracket.cuh"
#include "cuda/common/row_output.cuh"
#include "cuda/common/split_radix_part.cuh"
#include "cuda/kernels/split_radix_sort.cuh"
#include "cuda/ptx/arithmetic.cuh"
#include "cuda/ptx/launch_control.cuh"
#include "cuda/smem/split_radix.h"
#include "cuda/tuning/split_radix.h"
#include "cuda/workspace/split_radix.h"

namespace deepselect::cuda {

template <ValueType kType, class Policy>
__global__ void __launch_bounds__(Policy::kThreads)
    split_radix_bracket_kernel(const __grid_constant__ TopkParams params,
                               SplitRadixWorkspace workspace, std::int64_t first_row) {
  constexpr int kThreads = Policy::kThreads;
  extern __shared__ __align__(16) unsigned char dynamic_smem[];
  auto& smem = *reinterpret_cast<SplitRadixSampleSmem<Policy::kMaxSampleItems>*>(dynamic_smem);
  ptx::launch_dependents();
  SplitRadixRow& state = workspace.rows[blockIdx.x];
  for (std::uint32_t i = threadIdx.x; i < RadixCursor::kNumBins; i += kThreads) state.bins[i] = 0;
  const std::int64_t row = first_row + blockIdx.x;
  const RowView view = row_view(params, row);
  const RowSlots<kType> slots(params, view, row);
  const RowBracket bracket = find_bracket<kThreads, Policy>(
      slots, KeyMap<kType>(params), num_wanted_of(params, slots.num_items()), smem);
  if (threadIdx.x != 0) return;
  state.bracket = bracket;
  state.num_appended = 0;
  state.is_resolved = 0;
  state.is_poisoned = 0;
  state.num_arrived = 0;
}

namespace detail {

// The filter of a part's elements. One comparison of raw values per element (KeyThreshold) tells
// what may lie above the bracket's lower bound; those, a few in a hundred, are queued, so that the
// rest is done by full warps.
template <ValueType kType, class Policy>
class BracketFilter {
 public:
  using Queue = HitQueue<kType>;

  __device__ BracketFilter(const TopkParams& params, const SplitRadixPart<kType>& part,
                           const SplitRadixShape& shape, const SplitRadixWorkspace& workspace)
      : params_(params),
        part_(part),
        output_(params, part.view, part.row),
        state_(&workspace.rows[part.batch_row]),
        bracket_(state_->bracket),
        candidates_(workspace.candidates_of(shape, part.batch_row)),
        capacity_(shape.candidate_capacity) {}

  // Returns, in each lane, how many of the warp's elements are selected for sure and not written.
  __device__ std::uint32_t run(Queue& queue) {
    constexpr std::uint32_t kTileSlots = Queue::kVectors * Policy::kThreads;
    const RowSlots<kType>& slots = part_.slots;
    const std::uint32_t lane = threadIdx.x % kWarpThreads;
    std::uint32_t first = part_.begin + threadIdx.x / kWarpThreads * Queue::kSlots;
    if (first >= part_.end) return 0;
    uint4 bits[Queue::kVectors];
    Queue::load(slots, first, part_.end, bits);
    for (;;) {
      const HitMask<kType> hits =
          Queue::reaching(slots, part_.key_map, bracket_.hopeless + 1, first, part_.end, bits);
      const std::uint32_t next = first + kTileSlots;
      if (next < part_.end) Queue::load(slots, next, part_.end, bits);
      const std::uint32_t num_hits = queue.fill(hits);
      const std::uint32_t first_position = slots.first_position(first);
      for (std::uint32_t i = lane; i - lane < num_hits; i += kWarpThreads * kBatch) {
        std::uint32_t positions[kBatch];
#pragma unroll
        for (int j = 0; j < kBatch; ++j) {
          const std::uint32_t entry = i + j * kWarpThreads;
          positions[j] = entry < num_hits ? first_position + queue.entries[entry] : ~0u;
        }
        take(positions);
      }
      __syncwarp();
      if (next >= part_.end) return num_sure_;
      first = next;
    }
  }

  __device__ bool found_poison() const { return found_poison_; }

 private:
  static constexpr int kBatch = Policy::kHitsInFlight;

  // Positions outside the window are none.
  __device__ __forceinline__ void take(const std::uint32_t (&positions)[kBatch]) {
    const bool writes = params_.order == Order::kAny;
    BitsOf<kType> bits[kBatch];
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
      const bool is_inside = positions[j] < part_.slots.num_items();
      bits[j] = is_inside ? part_.slots.item(positions[j]) : BitsOf<kType>{0};
    }
    std::uint32_t sure[kBatch];
    std::uint32_t open[kBatch];
    std::uint32_t num_sure = 0;
    std::uint32_t num_open = 0;
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
      const std::uint32_t key = part_.key_map.key(bits[j]);
      const bool is_inside = positions[j] < part_.slots.num_items();
      const Composite composite = is_inside ? composite_key(key, positions[j]) : kNoComposite;
      const bool is_sure = composite > bracket_.sure;
      sure[j] = __ballot_sync(kAllLanes, is_sure);
      open[j] = __ballot_sync(kAllLanes, composite > bracket_.hopeless && !is_sure);
      num_sure += __popc(sure[j]);
      num_open += __popc(open[j]);
      if (is_inside && is_poison<kType>(params_, key)) found_poison_ = true;
    }
    if (!writes) {
      num_sure_ += num_sure;
      num_sure = 0;
    }
    if ((num_sure | num_open) == 0) return;
    unsigned long long base = 0;
    if (threadIdx.x % kWarpThreads == 0) {
      base = atomicAdd(&state_->num_appended,
                       static_cast<unsigned long long>(std::uint64_t{num_open} << 32 | num_sure));
    }
    base = __shfl_sync(kAllLanes, base, 0);
    auto place = static_cast<std::uint32_t>(base);
    auto candidate = static_cast<std::uint32_t>(base >> 32);
    const std::uint32_t below = ptx::lanes_below();
    const std::uint32_t self = 1u << threadIdx.x % kWarpThreads;
#pragma unroll
    for (int j = 0; j < kBatch; ++j) {
      if ((open[j] & self) != 0) {
        const std::uint32_t i = candidate + __popc(open[j] & below);
        if (i < capacity_) {
          candidates_[i] = composite_key(part_.key_map.key(bits[j]), positions[j]);
        }
      } else if (writes && (sure[j] & self) != 0) {
        // A wrong bracket may promise more than there are places.
        const std::uint32_t i = place + __popc(sure[j] & below);
        if (i < part_.num_wanted) output_.write(i, positions[j], bits[j]);
      }
      candidate += __popc(open[j]);
      place += __popc(sure[j]);
    }
  }

  const TopkParams& params_;
  const SplitRadixPart<kType>& part_;
  const RowOutput<kType> output_;
  SplitRadixRow* state_;
  const RowBracket bracket_;
  Composite* candidates_;
  const std::uint32_t capacity_;
  std::uint32_t num_sure_ = 0;
  bool found_poison_ = false;
};

// Over the candidates. Bins of keys begin at a key's best.
template <ValueType kType>
__device__ __forceinline__ RadixCursor cursor_over(const RowBracket& bracket,
                                                   std::uint32_t num_items) {
  constexpr std::uint32_t kMaxKey = KeyMap<kType>::kMaxKey;
  const Composite low = bracket.hopeless + 1;
  const Composite best = min(bracket.sure, RadixCursor::best_of_key(kMaxKey));
  const bool is_one_key = key_of(best) == key_of(low);
  return RadixCursor::above(low, is_one_key ? best : RadixCursor::best_of_key(key_of(best)),
                            kMaxKey, num_items);
}

// Writes the candidates that are selected to the places from `first_place`, in no order.
template <int kThreads, ValueType kType>
__device__ void write_candidates(const SplitRadixPart<kType>& part, const RowOutput<kType>& output,
                                 const Composite* candidates, std::uint32_t num_candidates,
                                 Composite loser, std::uint32_t first_place,
                                 std::uint32_t* num_emitted) {
  constexpr int kInFlight = 4;
  const std::uint32_t lane = threadIdx.x % kWarpThreads;
  for (std::uint32_t base = threadIdx.x - lane; base < num_candidates;
       base += kThreads * kInFlight) {
    Composite composites[kInFlight];
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      const std::uint32_t i = base + j * kThreads + lane;
      composites[j] = i < num_candidates ? candidates[i] : kNoComposite;
    }
#pragma unroll
    for (int j = 0; j < kInFlight; ++j) {
      const bool is_winner = composites[j] > loser;
      const std::uint32_t winners = __ballot_sync(kAllLanes, is_winner);
      if (winners == 0) continue;
      std::uint32_t place = lane == 0 ? atomicAdd(num_emitted, __popc(winners)) : 0;
      place = first_place + __shfl_sync(kAllLanes, place, 0);
      if (is_winner) {
        output.write(place + __popc(winners & ptx::lanes_below()), composites[j], part.key_map,
                     part.slots);
      }
    }
  }
}

}  // namespace detail

template <ValueType kType, class Policy>
__global__ void __launch_bounds__(Policy::kThreads, Policy::kCtasPerSm)
    split_radix_filter_kernel(const __grid_constant__ TopkParams params, SplitRadixShape shape,
                              SplitRadixWorkspace workspace, std::int64_t first_row) {
  constexpr int kThreads = Policy::kThreads;
  __shared__ SplitRadixSmem<Policy::kMaxParts> smem;
  ptx::launch_dependents();
  const SplitRadixPart<kType> part(params, shape, first_row);
  // The input is older than the bracket.
  if (threadIdx.x == 0) part.prefetch(Policy::kPrefetchBytes);
  ptx::wait_for_dependencies();
  SplitRadixRow& state = workspace.rows[part.batch_row];
  SplitRadixCounts* const part_counts = workspace.counts_of(shape, part.batch_row);

  using Filter = detail::BracketFilter<kType, Policy>;
  __shared__ HitQueue<kType> queues[kThreads / kWarpThreads];
  Filter filter(params, part, shape, workspace);
  const std::uint32_t warp_sure = filter.run(queues[threadIdx.x / kWarpThreads]);
  const std::uint32_t num_sure =
      block_prefix<kThreads>(threadIdx.x % kWarpThreads == 0 ? warp_sure : 0u, smem.totals[0])
          .total;
  if (threadIdx.x == 0) part_counts[part.part] = {num_sure, 0};
  if (filter.found_poison()) state.is_poisoned = 1;
  if (!arrives_last(shape.parts, state, smem)) return;

  // Does the k-th best lie inside the bracket?
  const std::uint32_t num_wanted = part.num_wanted;
  const SplitRadixCounts counts =
      threadIdx.x < shape.parts ? part_counts[threadIdx.x] : SplitRadixCounts{0, 0};
  const unsigned long long num_appended = __ldcg(&state.num_appended);
  const auto num_candidates = static_cast<std::uint32_t>(num_appended >> 32);
  // Counted where they were not written.
  const std::uint32_t num_above = block_prefix<kThreads>(counts.above, smem.totals[1]).total +
                                  static_cast<std::uint32_t>(num_appended);
  if (num_above > num_wanted || num_wanted - num_above > num_candidates ||
      num_candidates > shape.candidate_capacity) {
    return;
  }

  const Composite* const candidates = workspace.candidates_of(shape, part.batch_row);
  const RowBracket bracket = state.bracket;
  Composite loser = bracket.sure;
  Histogram& histogram = smem.scratch.histogram;
  clear_bins<kThreads>(histogram);
  for (std::uint32_t i = threadIdx.x; i < shape.parts; i += kThreads) smem.part_winners[i] = 0;
  if (threadIdx.x == 0) smem.num_emitted = 0;
  __syncthreads();
  if (num_above < num_wanted) {
    const RadixCursor cursor = detail::cursor_over<kType>(bracket, part.slots.num_items());
    const Composite bound = rank_bound<kThreads, Policy::kCandidatesInFlight>(
        candidates, num_candidates, num_wanted - num_above, 0, cursor, histogram);
    loser = max(bound, bracket.hopeless + 1) - 1;
  }
  if (threadIdx.x == 0) {
    state.pivot = {loser, loser + 1, 0};
    state.is_resolved = 1;
  }
  if (params.order != Order::kAny) {
    for (std::uint32_t i = threadIdx.x; i < num_candidates; i += kThreads) {
      const Composite composite = candidates[i];
      if (composite > loser) count_shared(&smem.part_winners[part.part_of(position_of(composite))]);
    }
    __syncthreads();
    if (threadIdx.x < shape.parts) {
      part_counts[threadIdx.x].above = counts.above + smem.part_winners[threadIdx.x];
    }
    return;
  }
  const RowOutput<kType> output(params, part.view, part.row);
  if (__ldcg(&state.is_poisoned) != 0) {
    output.template write_poison<kThreads>();
    return;
  }
  detail::write_candidates<kThreads>(part, output, candidates, num_candidates, loser, num_above,
                                     &smem.num_emitted);
  output.template write_pads<kThreads>(num_wanted);
}

namespace detail {

// The hits of a warp's slots on their way to their places: told apart first, handed out once the
// counts of the warps before are known.
template <ValueType kType>
class PivotHits {
 public:
  using Queue = HitQueue<kType>;

  __device__ __forceinline__ PivotHits(const SplitRadixPart<kType>& part,
                                       const SplitRadixPivot& pivot, Queue& queue)
      : part_(part), pivot_(pivot), queue_(queue) {}

  // Queues the warp's hits from the slot `first` on; returns how many are selected for their key
  // and, in the high half, how many are equal to the pivot's.
  __device__ __forceinline__ std::uint32_t take(std::uint32_t first) {
    first_position_ = part_.slots.first_position(first);
    uint4 bits[Queue::kVectors];
    Queue::load(part_.slots, first, part_.end, bits);
    num_hits_ = queue_.fill(
        Queue::reaching(part_.slots, part_.key_map, pivot_.equal, first, part_.end, bits));
    const std::uint32_t lane = threadIdx.x % kWarpThreads;
    std::uint32_t counts = 0;
    for (std::uint32_t i = lane; i - lane < num_hits_; i += kWarpThreads) {
      const std::uint16_t distance = i < num_hits_ ? queue_.entries[i] : std::uint16_t{0};
      const std::uint32_t position = first_position_ + distance;
      const bool is_inside = i < num_hits_ && position < part_.slots.num_items();
      const Composite composite =
          is_inside ? composite_key(part_.key_map.key(part_.slots.item(position)), position)
                    : kNoComposite;
      const bool is_above = composite > pivot_.loser;
      const bool is_equal = !is_above && composite >= pivot_.equal;
      if (i < num_hits_) {
        queue_.entries[i] = static_cast<std::uint16_t>(distance | (is_above ? kIsAbove : 0) |
                                                       (is_equal ? kIsEqual : 0));
      }
      counts += __popc(__ballot_sync(kAllLanes, is_above)) |
                __popc(__ballot_sync(kAllLanes, is_equal)) << 16;
    }
    return counts;
  }

  // Hands the selected ones to `emit(place, position, bits)`. `above_before` and `equal_before`
  // count those of the tiles before, `before_warp` those of the tile's warps before.
  template <class Emit>
  __device__ __forceinline__ void hand_out(std::uint32_t above_before, std::uint32_t equal_before,
                                           std::uint32_t before_warp, Emit&& emit) const {
    const std::uint32_t lane = threadIdx.x % kWarpThreads;
    const std::uint32_t below = ptx::lanes_below();
    for (std::uint32_t i = lane; i - lane < num_hits_; i += kWarpThreads) {
      const std::uint32_t entry = i < num_hits_ ? queue_.entries[i] : 0u;
      const bool is_equal = (entry & kIsEqual) != 0;
      const std::uint32_t above = __ballot_sync(kAllLanes, (entry & kIsAbove) != 0);
      const std::uint32_t equal = __ballot_sync(kAllLanes, is_equal);
      const std::uint32_t num_equal = equal_before + (before_warp >> 16) + __popc(equal & below);
      if ((entry & kIsAbove) != 0 || (is_equal && num_equal < pivot_.num_equal)) {
        const std::uint32_t place = above_before + (before_warp & 0xFFFFu) + __popc(above & below) +
                                    min(num_equal, pivot_.num_equal);
        const std::uint32_t position = first_position_ + (entry & Queue::kDistance);
        emit(place, position, part_.slots.item(position));
      }
      before_warp += __popc(above) | __popc(equal) << 16;
    }
    __syncwarp();
  }

 private:
  static constexpr std::uint16_t kIsAbove = 1u << 15;
  static constexpr std::uint16_t kIsEqual = 1u << 14;
  static_assert(Queue::kCapacity <= kIsEqual, "flags beside the distance");

  const SplitRadixPart<kType>& part_;
  const SplitRadixPivot& pivot_;
  Queue& queue_;
  std::uint32_t first_position_ = 0;
  std::uint32_t num_hits_ = 0;
};

}  // namespace detail

template <ValueType kType, class Policy>
__global__ void __launch_bounds__(Policy::kThreads, Policy::kCtasPerSm)
    split_radix_emit_kernel(const __grid_constant__ TopkParams params, SplitRadixShape shape,
                            SplitRadixWorkspace workspace, std::int64_t first_row) {
  constexpr int kThreads = Policy::kThreads;
  __shared__ SplitRadixSmem<Policy::kMaxParts> smem;
  ptx::launch_dependents();
  ptx::wait_for_dependencies();
  const SplitRadixRow& state = workspace.rows[blockIdx.x / shape.parts];
  if (params.order == Order::kAny && state.is_resolved != 0) return;  // written
  const SplitRadixPart<kType> part(params, shape, first_row);
  const RowOutput<kType> output(params, part.view, part.row);
  const bool sorts = shape.sort_winners != 0;
  const WinnerPairs pairs(shape, workspace, part.batch_row);
  const bool is_poisoned = state.is_poisoned != 0;
  if (part.part == 0) {
    if (sorts) {
      pairs.template pad<kThreads, kType>(part.num_wanted);
    } else if (is_poisoned) {
      output.template write_poison<kThreads>();
    } else {
      output.template write_pads<kThreads>(part.num_wanted);
    }
  }
  if (part.num_wanted == 0 || (is_poisoned && !sorts)) return;
  const SplitRadixPivot pivot = state.pivot;

  // Counts of the parts before this one.
  SplitRadixCounts before{0, 0};
  if (threadIdx.x < part.part) {
    before = workspace.counts_of(shape, part.batch_row)[threadIdx.x];
  }
  std::uint32_t above_before = block_prefix<kThreads>(before.above, smem.totals[0]).total;
  std::uint32_t equal_before = block_prefix<kThreads>(before.equal, smem.totals[1]).total;
  __syncthreads();

  // Both counts of a tile in one prefix sum: they stay below 2^16.
  using Hits = detail::PivotHits<kType>;
  using Queue = typename Hits::Queue;
  constexpr std::uint32_t kWarps = kThreads / kWarpThreads;
  static_assert(kWarps * Queue::kCapacity < (1 << 16), "two counts in one word");
  __shared__ Queue queues[kWarps];
  const std::uint32_t warp = threadIdx.x / kWarpThreads;
  Hits hits(part, pivot, queues[warp]);
  std::uint32_t parity = 0;
  for (std::uint32_t tile = part.begin; tile < part.end;
       tile += kWarps * Queue::kSlots, parity ^= 1) {
    const std::uint32_t counts = hits.take(tile + warp * Queue::kSlots);
    const bool is_first_lane = threadIdx.x % kWarpThreads == 0;
    const Prefix prefix = block_prefix<kThreads>(is_first_lane ? counts : 0u, smem.totals[parity]);
    hits.hand_out(above_before, equal_before, __shfl_sync(kAllLanes, prefix.before, 0),
                  [&](std::uint32_t place, std::uint32_t position, BitsOf<kType> bits) {
                    if (sorts) {
                      pairs.template put<kType>(place, part.key_map.key(bits), position);
                    } else {
                      output.write(place, position, bits);
                    }
                  });
    above_before += prefix.total & 0xFFFFu;
    equal_before += prefix.total >> 16;
  }
}

}  // namespace deepselect::cuda
