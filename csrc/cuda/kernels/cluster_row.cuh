// cluster_row: a cluster of CTAs per row, the row in their registers, read once. For few long rows.
//
//   1. load      each CTA its part of the row, dealt out in segments of 512 bytes (ClusterSlice)
//   2. bound     each CTA finds the best key that its part of k groups reaches, a group being some
//                vectors of one thread, and tells all others: the worst of these bounds is reached
//                by k elements at least, whatever the row holds
//   3. survivors each CTA lists what reaches the bound and sends the list to CTA 0
//   4. verdict   of CTA 0, once all lists are there: the other CTAs may end
//   5. finish    of CTA 0: the k best of the survivors, in the order asked for
//
// All messages are asynchronous stores into the shared memory of the CTA that waits for them, which
// report to a barrier there (mbarrier). A CTA waits for one message or one of each CTA, and for the
// whole cluster only before it loads.
//
// The bound lets about 1.3 k survivors through. Where it is a key that many elements have, it is
// that key up to a position. Too many survive only of rows whose best elements are in few groups:
// then CTA 0's verdict is a repair: the CTAs count what reaches the bound in one histogram, in bins
// of composites (value, position), until the k-th best's bin and the better ones hold few enough,
// and list these. Composites are distinct, so bins of one end this.
//
// Where registers hold one layer of several, the bound is that of the layer, or the others are read
// for it too; phase 3 reads them, mostly from L2.
//
// Limits: k <= kMaxK; sm_90.
#pragma once

#include <cstdint>

#include "cuda/common/cluster_slice.cuh"
#include "cuda/common/finish.cuh"
#include "cuda/common/group_bound.cuh"
#include "cuda/common/row_filter.cuh"
#include "cuda/common/row_output.cuh"
#include "cuda/common/row_slots.cuh"
#include "cuda/common/slot_composites.cuh"
#include "cuda/common/view_finish.cuh"
#include "cuda/plan.h"
#include "cuda/ptx/cluster.cuh"
#include "cuda/ptx/launch_control.cuh"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/smem/cluster_row.h"
#include "cuda/tuning/cluster_row.h"
#include "deepselect/row_view.h"

namespace deepselect::cuda {

namespace detail {

constexpr int log2_of(int power) {
  return power == 1 ? 0 : 1 + log2_of(power / 2);
}

constexpr std::uint64_t kListsComplete = 1;
constexpr std::uint64_t kNeedsRepair = 2;

template <ValueType kType, class List>
__device__ __forceinline__ void collect_edges(const RowSlots<kType>& slots,
                                              const KeyMap<kType>& key_map, Composite bound,
                                              const List& list) {
  for_each_edge_item(slots, [&](std::uint32_t position) {
    const Composite composite = composite_key(key_map.key(slots.item(position)), position);
    if (composite >= bound) list.put(list.reserve(1), position);
  });
}

// Brings what reaches some better bound into CTA 0's survivors; returns its number there. All
// threads of the cluster call it.
template <int kThreads, int kVectors, ValueType kType>
__device__ __noinline__ std::uint32_t repair_survivors(
    ClusterPart<kThreads, kVectors, kType> part, const RowSlots<kType>& slots,
    const KeyMap<kType>& key_map, Composite bound, std::uint32_t best_key, std::uint32_t num_wanted,
    std::uint32_t rank, std::uint32_t num_ctas, Composite* survivors, std::uint32_t capacity,
    ClusterRowSmem& smem) {
  Histogram& own = smem.finish.histogram;
  RadixCursor cursor = RadixCursor::above(bound, RadixCursor::best_of_key(best_key),
                                          KeyMap<kType>::kMaxKey, slots.num_items());
  for (;;) {
    clear_bins<kThreads>(own);
    __syncthreads();
    const auto count = [&](Composite composite) {
      const std::uint64_t bin = cursor.bin(composite);
      if (bin < RadixCursor::kNumBins) count_shared(&own.bins[bin]);
    };
    part.for_each_vector(slots, [&](uint4 bits, std::uint32_t first_position) {
      const SlotComposites<kType> composites(key_map, bits, first_position);
#pragma unroll
      for (int i = 0; i < SlotComposites<kType>::kItems; ++i) count(composites.at(i));
    });
    if (rank == 0) {
      for_each_edge_item(slots, [&](std::uint32_t position) {
        count(composite_key(key_map.key(slots.item(position)), position));
      });
    }
    ptx::cluster_arrive();
    ptx::cluster_wait();
    const std::uint32_t share = RadixCursor::kNumBins / 4 / num_ctas;
    for (std::uint32_t i = threadIdx.x; i < share; i += kThreads) {
      const std::uint32_t quad = rank * share + i;
      uint4 sum{0, 0, 0, 0};
#pragma unroll 4
      for (std::uint32_t cta = 0; cta < num_ctas; ++cta) {
        const uint4 more = ptx::load_cluster(ptx::address_in_cta(own.bins + 4 * quad, cta));
        sum = {sum.x + more.x, sum.y + more.y, sum.z + more.z, sum.w + more.w};
      }
      for (std::uint32_t cta = 0; cta < num_ctas; ++cta) {
        ptx::store_cluster(ptx::address_in_cta(smem.total.bins + 4 * quad, cta), sum);
      }
    }
    ptx::cluster_arrive();
    ptx::cluster_wait();
    find_pivot_bin<kThreads>(smem.total, num_wanted - 1 - cursor.num_above());
    const std::uint32_t pivot_count = smem.total.pivot_count;
    cursor.descend(smem.total.pivot_bin, smem.total.pivot_above);
    if (cursor.num_above() + pivot_count <= capacity) break;
  }
  bound = max(bound, cursor.low());  // the last bin may reach below the bound

  if (threadIdx.x == 0) smem.num_listed = 0;
  clear_bins<kThreads>(own);
  __syncthreads();
  const CompositeList<kType> list{slots, key_map, survivors, capacity, &smem.num_listed};
  part.collect(slots, key_map, BoundFilter<kType>(key_map, bound), 0, list);
  if (rank == 0) collect_edges(slots, key_map, bound, list);
  ptx::cluster_arrive();
  ptx::cluster_wait();
  if (rank != 0) {
    const std::uint32_t num_listed = smem.num_listed;
    if (threadIdx.x == 0) {
      smem.first_place = ptx::add_cluster(ptx::address_in_cta(&smem.num_listed, 0), num_listed);
    }
    __syncthreads();
    const std::uint32_t target =
        ptx::address_in_cta(survivors, 0) + smem.first_place * sizeof(Composite);
    for (std::uint32_t i = threadIdx.x; i < num_listed; i += kThreads) {
      ptx::store_cluster(target + i * sizeof(Composite), survivors[i]);
    }
  }
  ptx::cluster_arrive();
  ptx::cluster_wait();
  return smem.num_listed;
}

// Sorts winners by position into `sorted`; ends with a barrier. Both are complete before.
template <int kThreads>
__device__ __forceinline__ void order_by_position(Composite* winners, Composite* sorted,
                                                  std::uint32_t num_winners,
                                                  std::uint32_t num_items, FinishScratch& scratch) {
  // Halves exchanged, the order of positions is that of composites.
  for (std::uint32_t i = threadIdx.x; i < num_winners; i += kThreads) {
    winners[i] = swap_halves(winners[i]);
  }
  clear_bins<kThreads>(scratch.histogram);
  __syncthreads();
  // From one behind the last, so that the bins are by that half alone.
  const SurvivorRange range{Composite{~num_items} << 32, ~0u, ~0u, 0};
  const bool is_binned = place_winners<kThreads>({winners, threadIdx.x, num_winners, kThreads},
                                                 (num_winners + kThreads - 1) / kThreads,
                                                 num_winners, range, sorted, scratch);
  if (is_binned) {
    emit_ranked<kThreads>(sorted, num_winners, range, scratch.histogram,
                          [&](std::uint32_t place, Composite winner) { winners[place] = winner; });
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < num_winners; i += kThreads) {
      sorted[i] = swap_halves(winners[i]);
    }
    __syncthreads();
  } else {
    for (std::uint32_t i = threadIdx.x; i < num_winners; i += kThreads) {
      sorted[i] = swap_halves(sorted[i]);
    }
    __syncthreads();
    sort_winners<kThreads>(Order::kIndex, sorted, num_winners);
  }
}

// Phase 5, by CTA 0. `spare` has room for k as well, and may be where the survivors are.
template <class Policy, ValueType kType>
__device__ __forceinline__ void finish_cluster_row(
    const TopkParams& params, const KeyMap<kType>& key_map, const RowSlots<kType>& slots,
    const RowOutput<kType>& output, const SurvivorView& view, std::uint32_t most,
    std::uint32_t num_wanted, const SurvivorRange& range, Composite* winners, Composite* spare,
    FinishScratch& scratch) {
  constexpr int kThreads = Policy::kThreads;
  const bool poisons = is_floating(kType) && params.nan_rule == NanRule::kPoison;
  bool is_poisoned = false;
  const bool is_binned = place_winners<kThreads>(view, most, num_wanted, range, winners, scratch);
  if (params.order == Order::kValue && is_binned) {
    emit_ranked<kThreads>(winners, num_wanted, range, scratch.histogram,
                          [&](std::uint32_t place, Composite winner) { spare[place] = winner; });
    winners = spare;
    __syncthreads();
  } else if (params.order == Order::kIndex) {
    order_by_position<kThreads>(winners, spare, num_wanted, slots.num_items(), scratch);
    winners = spare;
  } else {
    sort_winners<kThreads>(params.order, winners, num_wanted);
  }
#pragma unroll 1
  for (std::uint32_t i = threadIdx.x; i < num_wanted; i += kThreads) {
    const Composite winner = winners[i];
    if (poisons) is_poisoned |= key_of(winner) == KeyMap<kType>::kMaxKey;
    output.write(i, winner, key_map, slots);
  }
  output.template write_pads<kThreads>(num_wanted);
  if (poisons && __syncthreads_or(is_poisoned)) output.template write_poison<kThreads>();
}

}  // namespace detail

template <ValueType kType, class Policy>
__global__ void __launch_bounds__(Policy::kThreads, 1)
    cluster_row_kernel(const __grid_constant__ TopkParams params, ClusterRowShape shape) {
  constexpr int kThreads = Policy::kThreads;
  using Slice = ClusterSlice<kThreads, Policy::kVectors, kType>;
  using Part = typename Slice::Part;
  extern __shared__ __align__(16) unsigned char dynamic_smem[];
  auto& smem = *reinterpret_cast<ClusterRowSmem*>(dynamic_smem);
  auto* survivors = reinterpret_cast<Composite*>(dynamic_smem + sizeof(ClusterRowSmem));
  const std::uint32_t num_ctas = 1u << shape.log2_ctas;
  const std::uint32_t capacity = shape.region_capacity << shape.log2_ctas;
  Composite* winners = survivors + capacity;
  auto* listed = reinterpret_cast<std::uint32_t*>(winners + shape.winner_capacity);
  const std::uint32_t rank = ptx::cluster_rank();
  const std::uint32_t lane = threadIdx.x % kWarpThreads;

  ptx::launch_dependents();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&smem.bounds_barrier, 1);
    ptx::mbarrier_init(&smem.lists_barrier, num_ctas);
    ptx::mbarrier_init(&smem.verdict_barrier, 1);
    ptx::fence_mbarrier_init();
  }
  ptx::cluster_arrive_relaxed();
  clear_bins<kThreads>(smem.finish.histogram);
  detail::clear_group_bins(smem.group_bound, threadIdx.x, kThreads);
  if (threadIdx.x == 0) {
    ptx::mbarrier_arrive(ptx::shared_address(&smem.bounds_barrier),
                         num_ctas * sizeof(ClusterBound));
    ptx::mbarrier_arrive(ptx::shared_address(&smem.verdict_barrier), sizeof smem.verdict);
    smem.num_listed = 0;
  }
  ptx::cluster_wait();  // every CTA's barriers are there; behind it L1 is empty
  // Nothing but the row itself is the predecessor's work where no window or table is given: then
  // all that comes before the loads may overlap with its end.
  const bool has_row_vectors = params.begin.data != nullptr || params.end.data != nullptr ||
                               params.index_offset.data != nullptr || params.page_table != nullptr;
  if (has_row_vectors) ptx::wait_for_dependencies();
  const std::int64_t row = blockIdx.x >> shape.log2_ctas;
  const RowView view = row_view(params, row);
  const KeyMap<kType> key_map(params);
  const RowSlots<kType> slots(params, view, row);
  const RowOutput<kType> output(params, view, row);
  const Part part(slots, rank, shape.log2_ctas);
  if (!has_row_vectors) ptx::wait_for_dependencies();
  const Slice slice(slots, part);
  if (part.num_layers() > 1) part.prefetch(slots, rank, Policy::kPrefetchedLayers);
  const std::uint32_t num_items = slots.num_items();
  const std::uint32_t num_wanted = num_wanted_of(params, num_items);
  if (num_wanted == 0) {
    if (rank == 0) output.template write_pads<kThreads>(0);
    return;
  }

  find_group_bound(slice, slots, key_map, shape.groups_per_thread, shape.groups_take_all,
                   (num_wanted + num_ctas - 1) >> shape.log2_ctas, smem.group_bound,
                   [&](Composite bound, std::uint32_t best_key) {
                     if (lane >= num_ctas) return;
                     ptx::store_async(ptx::address_in_cta(&smem.bounds[rank], lane), bound,
                                      best_key, ptx::address_in_cta(&smem.bounds_barrier, lane));
                   });
  const PositionList list{listed, shape.region_capacity, &smem.num_listed};
  ptx::mbarrier_wait_first(&smem.bounds_barrier);
  const ClusterBound cta_bound =
      lane < num_ctas ? smem.bounds[lane] : ClusterBound{~Composite{0}, 0};
  const std::uint32_t bound_key = __reduce_min_sync(kAllLanes, key_of(cta_bound.bound));
  const auto best_key =
      __reduce_max_sync(kAllLanes, static_cast<std::uint32_t>(cta_bound.best_key));
  const std::uint32_t bound_low = __reduce_min_sync(
      kAllLanes,
      key_of(cta_bound.bound) == bound_key ? static_cast<std::uint32_t>(cta_bound.bound) : ~0u);
  const Composite bound = Composite{bound_key} << 32 | bound_low;

  slice.collect_all(slots, key_map, bound, list);
  if (rank == 0) detail::collect_edges(slots, key_map, bound, list);
  __syncthreads();

  // Two survivors per store: CTA 0 takes in about as many stores per cycle, whatever their size.
  const std::uint32_t num_listed = smem.num_listed;
  const std::uint32_t num_pairs = num_listed <= shape.region_capacity ? (num_listed + 1) / 2 : 0;
  const std::uint32_t lists_barrier = ptx::address_in_cta(&smem.lists_barrier, 0);
  if (threadIdx.x == 0) {
    ptx::store_async(ptx::address_in_cta(&smem.list_sizes[rank], 0), num_listed, lists_barrier);
    ptx::mbarrier_arrive(lists_barrier, num_pairs * 2 * sizeof(Composite) + sizeof(std::uint64_t));
  }
  const std::uint32_t region = ptx::address_in_cta(survivors + rank * shape.region_capacity, 0);
  for (std::uint32_t i = threadIdx.x; i < num_pairs; i += kThreads) {
    const std::uint32_t first = listed[2 * i];
    const std::uint32_t second = listed[min(2 * i + 1, num_listed - 1)];
    const BitsOf<kType> first_bits = slots.item(first);
    const BitsOf<kType> second_bits = slots.item(second);
    ptx::store_async(region + i * 2 * sizeof(Composite),
                     composite_key(key_map.key(first_bits), first),
                     composite_key(key_map.key(second_bits), second), lists_barrier);
  }
  SurvivorView own_view;
  std::uint32_t most;
  bool is_complete;
  if (rank != 0) {
    ptx::mbarrier_wait_first(&smem.verdict_barrier);
    if (smem.verdict == detail::kListsComplete) return;
    is_complete = false;
  } else {
    constexpr int kLog2Threads = detail::log2_of(kThreads);
    const int log2_step = kLog2Threads - shape.log2_ctas;
    const std::uint32_t own_region = threadIdx.x >> log2_step;
    const std::uint32_t step = 1u << log2_step;
    const Composite* own_data = survivors + own_region * shape.region_capacity;
    ptx::mbarrier_wait_first(&smem.lists_barrier);
    const std::uint32_t size =
        lane < num_ctas ? static_cast<std::uint32_t>(smem.list_sizes[lane]) : 0u;
    own_view = {own_data, threadIdx.x & (step - 1),
                static_cast<std::uint32_t>(smem.list_sizes[own_region]), step};
    const std::uint32_t largest = __reduce_max_sync(kAllLanes, size);
    is_complete = largest <= shape.region_capacity;
    most = (largest + step - 1) >> log2_step;
    if (threadIdx.x < num_ctas && threadIdx.x != 0) {
      ptx::store_async(ptx::address_in_cta(&smem.verdict, threadIdx.x),
                       is_complete ? detail::kListsComplete : detail::kNeedsRepair,
                       ptx::address_in_cta(&smem.verdict_barrier, threadIdx.x));
    }
  }
  if (!is_complete) {
    const std::uint32_t num_survivors =
        detail::repair_survivors<kThreads>(part, slots, key_map, bound, best_key, num_wanted, rank,
                                           num_ctas, survivors, capacity, smem);
    if (rank != 0) return;
    own_view = {survivors, threadIdx.x, num_survivors, kThreads};
    most = (num_survivors + kThreads - 1) / kThreads;
  }
  detail::finish_cluster_row<Policy>(params, key_map, slots, output, own_view, most, num_wanted,
                                     {bound, best_key, KeyMap<kType>::kMaxKey, num_items}, winners,
                                     survivors, smem.finish);
}

}  // namespace deepselect::cuda
