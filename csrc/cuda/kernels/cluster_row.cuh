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
// report to a barrier there (mbarrier): a CTA waits three times, never for the whole cluster.
//
// The bound lets about 1.3 k survivors through, and too many only of inputs whose best elements are
// equal or in few groups. Then CTA 0's verdict is a repair: the CTAs count what reaches the bound in
// one histogram, in bins of composites (value, position), until the k-th best's bin and the better
// ones hold few enough, and list these. Composites are distinct, so bins of one end this.
//
// Parts of a row that registers do not hold are read again from memory, mostly L2, for phase 3.
//
// Limits: k <= kMaxK; sm_90.
#pragma once

#include <cstdint>

#include "cuda/common/cluster_slice.cuh"
#include "cuda/common/finish.cuh"
#include "cuda/common/group_bound.cuh"
#include "cuda/common/row_filter.cuh"
#include "cuda/common/row_output.cuh"
#include "cuda/common/row_passes.cuh"
#include "cuda/common/row_slots.cuh"
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

constexpr std::uint64_t kListsComplete = 1;
constexpr std::uint64_t kNeedsRepair = 2;

template <ValueType kType>
__device__ __forceinline__ void collect_edges(const RowSlots<kType>& slots,
                                              const KeyMap<kType>& key_map, Composite bound,
                                              const CompositeList& list) {
  for_each_edge_item(slots, [&](std::uint32_t position) {
    const Composite composite = composite_key(key_map.key(slots.item(position)), position);
    if (composite >= bound) list.put(list.reserve(1), composite);
  });
}

// Brings what reaches some better bound into CTA 0's survivors; returns its number there. All
// threads of the cluster call it.
template <int kThreads, ValueType kType>
__device__ __noinline__ std::uint32_t repair_survivors(
    ClusterPart<kThreads, kType> part, const RowSlots<kType>& slots, const KeyMap<kType>& key_map,
    Composite bound, std::uint32_t best_key, std::uint32_t num_wanted, std::uint32_t rank,
    std::uint32_t num_ctas, Composite* survivors, std::uint32_t capacity, ClusterRowSmem& smem) {
  Histogram& own = smem.finish.histogram;
  RadixCursor cursor =
      RadixCursor::above(bound, RadixCursor::best_of_key(best_key), KeyMap<kType>::kMaxKey,
                         slots.num_items());
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
  const CompositeList list{survivors, capacity, &smem.num_listed};
  part.template collect<0>(slots, key_map, BoundFilter<kType>(key_map, bound), list);
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

// Phase 5, by CTA 0.
template <class Policy, ValueType kType>
__device__ __forceinline__ void finish_cluster_row(const TopkParams& params,
                                                   const KeyMap<kType>& key_map,
                                                   const RowSlots<kType>& slots,
                                                   const RowOutput<kType>& output,
                                                   const SurvivorView& view,
                                                   std::uint32_t num_wanted, RadixCursor cursor,
                                                   Composite* winners, FinishScratch& scratch) {
  constexpr int kThreads = Policy::kThreads;
  const bool poisons = is_floating(kType) && params.nan_rule == NanRule::kPoison;
  bool is_poisoned = false;
  bool is_crowded;
  const auto emit = [&](std::uint32_t place, Composite winner) {
    if (poisons) is_poisoned |= key_of(winner) == KeyMap<kType>::kMaxKey;
    output.write(place, winner, key_map, slots);
  };
  if (params.order == Order::kAny) {
    finish_view<kThreads>(view, num_wanted, cursor, scratch, &is_crowded, emit);
  } else {
    const bool in_one_round = finish_view<kThreads>(
        view, num_wanted, cursor, scratch, &is_crowded,
        [&](std::uint32_t place, Composite winner) { winners[place] = winner; });
    if (params.order == Order::kValue && in_one_round && !is_crowded) {
      emit_by_value<kThreads>(winners, num_wanted, cursor, scratch.histogram, emit);
    } else {
      sort_winners<kThreads>(params.order, winners, num_wanted);
#pragma unroll 1
      for (std::uint32_t i = threadIdx.x; i < num_wanted; i += kThreads) emit(i, winners[i]);
    }
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
  extern __shared__ __align__(16) unsigned char dynamic_smem[];
  auto& smem = *reinterpret_cast<ClusterRowSmem*>(dynamic_smem);
  auto* survivors = reinterpret_cast<Composite*>(dynamic_smem + sizeof(ClusterRowSmem));
  const std::uint32_t num_ctas = shape.num_ctas;
  const std::uint32_t capacity = num_ctas * shape.region_capacity;
  Composite* winners = survivors + capacity;
  const std::uint32_t rank = ptx::cluster_rank();
  const std::uint32_t lane = threadIdx.x % kWarpThreads;

  ptx::launch_dependents();
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&smem.bounds_barrier, 1);
    ptx::mbarrier_init(&smem.lists_barrier, num_ctas);
    ptx::mbarrier_init(&smem.verdict_barrier, 1);
    ptx::fence_mbarrier_init();
    ptx::mbarrier_arrive(ptx::shared_address(&smem.bounds_barrier),
                         num_ctas * sizeof(ClusterBound));
    ptx::mbarrier_arrive(ptx::shared_address(&smem.verdict_barrier), sizeof smem.verdict);
    smem.num_listed = 0;
    smem.finish.list_size = 0;
  }
  clear_bins<kThreads>(smem.finish.histogram);
  for (std::uint32_t i = threadIdx.x; i < GroupBoundScratch::kBins; i += kThreads) {
    smem.group_bound.bins[i] = 0;
  }
  ptx::cluster_arrive();
  ptx::wait_for_dependencies();

  const std::int64_t row = blockIdx.x / num_ctas;
  const RowView view = row_view(params, row);
  const KeyMap<kType> key_map(params);
  const RowSlots<kType> slots(params, view, row);
  const RowOutput<kType> output(params, view, row);
  const std::uint32_t num_items = slots.num_items();
  const auto num_wanted =
      static_cast<std::uint32_t>(params.k < num_items ? params.k : std::int64_t{num_items});
  if (num_wanted == 0) {
    if (rank == 0) output.template write_pads<kThreads>(0);
    ptx::cluster_wait();
    return;
  }

  const Slice slice(slots, rank, num_ctas);
  const auto bests = slice.group_bests(slots, key_map, shape.groups_per_thread);
  ptx::cluster_wait();
  const std::uint32_t num_wanted_here = (num_wanted + num_ctas - 1) / num_ctas;
  find_group_bound<kThreads>(
      bests, num_wanted_here, num_wanted_here / 8, smem.group_bound,
      [&](std::uint32_t key, std::uint32_t best_key) {
        if (lane >= num_ctas) return;
        ptx::store_async(ptx::address_in_cta(&smem.bounds[rank], lane), Composite{key} << 32,
                         best_key, ptx::address_in_cta(&smem.bounds_barrier, lane));
      });
  ptx::mbarrier_wait_first(&smem.bounds_barrier);
  const Composite bound =
      Composite{__reduce_min_sync(kAllLanes,
                                  lane < num_ctas ? key_of(smem.bounds[lane].bound) : ~0u)}
      << 32;
  const std::uint32_t best_key = __reduce_max_sync(
      kAllLanes, lane < num_ctas ? static_cast<std::uint32_t>(smem.bounds[lane].best_key) : 0u);

  Composite* region = survivors + rank * shape.region_capacity;
  const CompositeList list{region, shape.region_capacity, &smem.num_listed};
  slice.collect_all(slots, key_map, bound, list);
  if (rank == 0) detail::collect_edges(slots, key_map, bound, list);
  __syncthreads();
  const std::uint32_t num_listed = smem.num_listed;
  const std::uint32_t lists_barrier = ptx::address_in_cta(&smem.lists_barrier, 0);
  if (rank == 0) {
    if (threadIdx.x == 0) {
      smem.list_sizes[0] = num_listed;
      ptx::mbarrier_arrive(lists_barrier, 0);
    }
    ptx::mbarrier_wait_first(&smem.lists_barrier);
  } else {
    const std::uint32_t num_sent = num_listed <= shape.region_capacity ? (num_listed + 1) / 2 : 0;
    const std::uint32_t target = ptx::address_in_cta(region, 0);
    for (std::uint32_t i = threadIdx.x; i < num_sent; i += kThreads) {
      ptx::store_async(target + i * 2 * sizeof(Composite), region[2 * i], region[2 * i + 1],
                       lists_barrier);
    }
    if (threadIdx.x == 0) {
      ptx::store_async(ptx::address_in_cta(&smem.list_sizes[rank], 0), num_listed, lists_barrier);
      ptx::mbarrier_arrive(lists_barrier, num_sent * 2 * sizeof(Composite) + sizeof(std::uint64_t));
    }
    ptx::mbarrier_wait_first(&smem.verdict_barrier);
    if (smem.verdict == detail::kListsComplete) return;
  }

  SurvivorView own_view;
  bool is_complete = false;
  if (rank == 0) {
    const std::uint32_t size =
        lane < num_ctas ? static_cast<std::uint32_t>(smem.list_sizes[lane]) : 0u;
    is_complete = !__any_sync(kAllLanes, size > shape.region_capacity);
    if (threadIdx.x < num_ctas && threadIdx.x != 0) {
      ptx::store_async(ptx::address_in_cta(&smem.verdict, threadIdx.x),
                       is_complete ? detail::kListsComplete : detail::kNeedsRepair,
                       ptx::address_in_cta(&smem.verdict_barrier, threadIdx.x));
    }
    const std::uint32_t region_threads = kThreads / num_ctas;
    const std::uint32_t own_region = threadIdx.x / region_threads;
    own_view = {survivors + own_region * shape.region_capacity, threadIdx.x % region_threads,
                static_cast<std::uint32_t>(smem.list_sizes[own_region]), region_threads};
  }
  if (!is_complete) {
    const std::uint32_t num_survivors = detail::repair_survivors<kThreads>(
        static_cast<const ClusterPart<kThreads, kType>&>(slice), slots, key_map, bound, best_key,
        num_wanted, rank, num_ctas, survivors, capacity, smem);
    if (rank != 0) return;
    own_view = {survivors, threadIdx.x, num_survivors, kThreads};
  }
  const RadixCursor cursor = RadixCursor::above(bound, RadixCursor::best_of_key(best_key),
                                                KeyMap<kType>::kMaxKey, num_items);
  detail::finish_cluster_row<Policy>(params, key_map, slots, output, own_view, num_wanted, cursor,
                                     winners, smem.finish);
}

}  // namespace deepselect::cuda
