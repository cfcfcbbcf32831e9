// row_stream: one CTA per row, several per SM, the row read once. For many long rows.
//
//   1. sample    a few thousand elements in shared memory; the one of a rank that makes fewer than
//                k survivors very unlikely is the bound (RowSample)
//   2. filter    the row against the bound; survivors go to shared memory
//   3. finish    the k best of the survivors, in the order asked for, straight to the outputs
//
// The bound is a composite (value, position), so groups of equal values survive no more often than
// others. It only decides the speed. Where it was wrong the row is filtered again:
//   too few survivors    by the bound of a much larger rank, at last by none, and counting
//   too many             once more with the same bound, but counting, unless that was done: the
//                        histogram of all that reach it tells a bound within one bin of the k-th
//                        best, and the next pass collects. A bin too full by itself is divided by
//                        another counting pass; as bins shrink to single composites, this ends
// Such a row costs one or two readings more, and no other row waits.
//
// Tiles of the row come to registers, vectors with hits from there to a stage in shared memory
// (PartTiles). The first tile is on its way to L2 while the bound is searched. While the survivors
// are finished memory would idle: the beginning of the row that will take this one's place is on
// its way to L2 then.
//
// Limits: k <= kMaxK.
#pragma once

#include <cstdint>

#include "cuda/call_kind.h"
#include "cuda/common/finish.cuh"
#include "cuda/common/part_filter.cuh"
#include "cuda/common/pass_counts.cuh"
#include "cuda/common/row_finish.cuh"
#include "cuda/common/row_output.cuh"
#include "cuda/common/row_parts.h"
#include "cuda/common/row_sample.cuh"
#include "cuda/common/row_slots.cuh"
#include "cuda/common/sample_rank.h"
#include "cuda/ptx/launch_control.cuh"
#include "cuda/ptx/prefetch.cuh"
#include "cuda/ptx/shared_memory.cuh"
#include "cuda/smem/row_stream.h"
#include "cuda/tuning/row_stream.h"
#include "deepselect/row_view.h"

namespace deepselect::cuda {

namespace detail {

template <ValueType kType>
__device__ __forceinline__ void prefetch_row(const RowSlots<kType>& slots,
                                             std::uint32_t num_bytes) {
  const std::uint32_t first = slots.first_whole();
  const std::uint32_t end = slots.end_whole();
  if (end <= first || num_bytes == 0) return;
  ptx::prefetch_l2(slots.whole_slots() + first, min((end - first) * 16, num_bytes));
}

// Where the filter's survivors go: places by an atomic of each lane that has any, which costs less
// than bringing a warp's lanes together.
template <class Put, class Count>
struct RowSink {
  static constexpr bool kReservesByWarp = false;

  std::uint32_t* num_survivors;
  const Put& put_composite;
  const Count& count_composite;
  bool counts;

  template <int kBits>
  __device__ __forceinline__ std::uint32_t reserve(std::uint32_t count) const {
    return count == 0 ? 0 : atomicAdd(num_survivors, count);
  }
  // Two loops, or each survivor would pay a branch.
  template <class Body>
  __device__ __forceinline__ void put_all(std::uint32_t place, Body&& body) const {
    if (counts) {
      body([&](Composite composite) {
        put_composite(place++, composite);
        count_composite(composite);
      });
    } else {
      body([&](Composite composite) { put_composite(place++, composite); });
    }
  }
};

// A CTA's row, of a call of kind kKind.
template <ValueType kType, class Policy, CallKind kKind>
__device__ __forceinline__ void stream_row(const TopkParams& params,
                                           std::uint32_t survivor_capacity,
                                           std::uint32_t resident_ctas) {
  constexpr int kThreads = Policy::kThreads;
  constexpr std::uint32_t kMaxKey = KeyMap<kType>::kMaxKey;
  constexpr Composite kBest = (Composite{kMaxKey} << 32) | ~std::uint32_t{0};
  using Sample = RowSample<Policy, kType>;
  using Tiles = PartTiles<kThreads, 1, true, kType>;
  static_assert(Tiles::kStageBytes == Policy::kStageBytes && Sample::kBytes == Policy::kSampleBytes,
                "what the plan reserves");
  extern __shared__ __align__(16) unsigned char smem_bytes[];
  unsigned char* const dynamic_smem = ptx::opaque_shared(&smem_bytes[0]);
  auto& smem = *reinterpret_cast<RowStreamSmem*>(dynamic_smem);
  auto* survivors =
      reinterpret_cast<Composite*>(dynamic_smem + sizeof(RowStreamSmem) + Policy::kStageBytes);
  Histogram& histogram = smem.finish.histogram;

  ptx::launch_dependents();
  if (threadIdx.x == 0) {
    smem.finish.list_size = 0;
    smem.finish.num_emitted = 0;
    smem.high = kBest;
    smem.is_high_known = false;
  }
  clear_bins<kThreads>(histogram);
  // A row's bounds and table may be the predecessor's work, as the row may.
  const bool reads_rows_first = reads_row_tensors(params);
  if (reads_rows_first) ptx::wait_for_dependencies();
  const std::int64_t row = blockIdx.x;
  const KeyMap<kType> key_map(params);
  const RowSlots<kType> slots(params, row_view(params, row), row);
  if constexpr (kKind == CallKind::kWholeRows) __builtin_assume(slots.first_whole() == 0);
  const std::uint32_t num_items = slots.num_items();
  const std::uint32_t num_wanted = num_wanted_of(params, num_items);

  Composite bound = kNoComposite;
  bool needs_sample = num_items > survivor_capacity && Sample::can_sample(slots);
  bool counts = false;  // whether the bins count what the filter finds
  float severity = 1.0f;
  std::uint32_t num_survivors;
  const Sample sample(slots, survivors);
  if (!reads_rows_first) ptx::wait_for_dependencies();
  for (;;) {
    if (needs_sample) sample.start(slots);
    // In registers the first tile would be in the search's way.
    if (threadIdx.x == 0) prefetch_row(slots, Tiles::kStageBytes);
    if (needs_sample) {
      ptx::wait_copies<0>();
      const std::uint32_t rank =
          sample_rank(num_wanted, sample.num_items(), num_items, Policy::kRankSigmas, severity);
      if (rank <= sample.num_items()) {
        const RowBound found = sample.bound(rank, slots, key_map, smem);
        bound = found.low;
        // Somewhat above the sample's best: what is better still shares a bin.
        const std::uint32_t spare = (found.best_key - key_of(bound)) / Policy::kSpareRangeDivisor;
        if (threadIdx.x == 0) {
          smem.high = RadixCursor::best_of_key(
              kMaxKey - found.best_key < spare ? kMaxKey : found.best_key + spare);
        }
      } else {
        bound = kNoComposite;
        if (threadIdx.x == 0) smem.high = kBest;
      }
    }
    if (threadIdx.x == 0) {
      smem.cursor = RadixCursor::above(bound, smem.high, kMaxKey, num_items);
      smem.num_survivors = 0;
    }
    __syncthreads();
    const auto put = [&](std::uint32_t place, Composite composite) {
      if (place < survivor_capacity) survivors[place] = composite;
    };
    const auto count = [&](Composite composite) {
      count_shared(&histogram.bins[smem.cursor.bin(composite)]);
    };
    const RowSink<decltype(put), decltype(count)> sink{&smem.num_survivors, put, count, counts};
    Tiles tiles(slots, RowPart{0, 0, 1}, dynamic_smem + sizeof(RowStreamSmem));
    tiles.load_first(slots);
    if (threadIdx.x < kWarpThreads) filter_edges(slots, key_map, bound, sink);
    tiles.filter(slots, key_map, bound, sink);
    __syncthreads();
    num_survivors = smem.num_survivors;
    note_pass(num_survivors);
    if (num_survivors >= num_wanted && num_survivors <= survivor_capacity) break;

    needs_sample = num_survivors < num_wanted;
    if (needs_sample) {
      severity *= Policy::kSeverityFactor;
      if (counts) clear_bins<kThreads>(histogram);
      counts = true;
    } else if (!counts) {
      counts = true;
    } else {
      find_pivot_bin<kThreads>(histogram, num_wanted - 1, BinsAfter::kCleared);
      const std::uint32_t num_reaching = histogram.pivot_above + histogram.pivot_count;
      RadixCursor cursor = smem.cursor;
      cursor.descend(histogram.pivot_bin, histogram.pivot_above);
      bound = max(bound, cursor.low());  // the last bin may reach below the bound
      // A bin too full by itself: its elements must spread over the bins. What is better goes to
      // bin 0 with its best, so bin 0 has an end only where the range was a bin before: then the
      // k-th best is known to be no better than the range.
      counts = num_reaching > survivor_capacity;
      if (counts && threadIdx.x == 0) {
        if (!smem.is_high_known || histogram.pivot_bin != 0) smem.high = cursor.high();
        smem.is_high_known = true;
      }
    }
    __syncthreads();
  }

  if (threadIdx.x == kThreads - 1) {
    // CTAs start in order, so the one that starts when this one ends is that far ahead. The last
    // ones do not need it.
    const std::int64_t next_row = row + resident_ctas;
    if (Policy::kNextPrefetchBytes != 0 && next_row + resident_ctas < params.num_rows) {
      prefetch_row(RowSlots<kType>(params, row_view(params, next_row), next_row),
                   Policy::kNextPrefetchBytes);
    }
  }
  const RowView view = row_view(params, row);
  const RowOutput<kType> output(params, view, row);
  if (num_wanted == 0) {
    output.template write_pads<kThreads>(0);
    return;
  }
  RadixCursor cursor = smem.cursor;
  if (!counts) count_survivors<kThreads>(survivors, num_survivors, cursor, histogram);
  find_pivot_bin<kThreads>(histogram, num_wanted - 1,
                           params.order == Order::kAny ? BinsAfter::kCleared : BinsAfter::kStarts);
  write_best<kThreads, true>(params, key_map, slots, output, survivors, num_survivors, num_wanted,
                             cursor, survivors + survivor_capacity, smem.finish);
}

}  // namespace detail

// Calls of other kinds than kAny want no order.
template <ValueType kType, class Policy, CallKind kKind>
__global__ void __launch_bounds__(Policy::kThreads, Policy::kCtasPerSm)
    row_stream_kernel(const __grid_constant__ TopkParams params, std::uint32_t survivor_capacity,
                      std::uint32_t resident_ctas) {
  if constexpr (kKind == CallKind::kAny) {
    detail::stream_row<kType, Policy, kKind>(params, survivor_capacity, resident_ctas);
  } else {
    detail::stream_row<kType, Policy, kKind>(params_of<kKind>(params), survivor_capacity,
                                             resident_ctas);
  }
}

}  // namespace deepselect::cuda
