// Work shared by real length, where the rows' lengths are on the device alone: every CTA adds them
// up and finds its own part, so no kernel has to run before.
//
// Work is counted in units of slots. A row of more than a share is divided into parts of at most a
// share, a shorter one is a part of its own. The share is a half of what each CTA that is resident
// at once would get: two waves of parts, so that a CTA that ends early finds another. Parts of
// divided rows come first: CTAs begin in order, and the small ones fill the gaps.
#pragma once

#include <cstdint>

#include "cuda/common/block.cuh"
#include "cuda/common/row_parts.h"
#include "cuda/common/row_slots.cuh"
#include "deepselect/row_view.h"

namespace deepselect::cuda {

namespace detail {

__device__ __forceinline__ std::uint32_t quotient_up(std::uint32_t a, std::uint32_t b) {
  return (a + b - 1) / b;
}

}  // namespace detail

// The part of CTA blockIdx.x. There are at most ragged_ctas(num_resident, num_rows) parts. All
// threads of the CTA call it; ends complete.
template <int kThreads, std::uint32_t kMaxRows, std::uint32_t kUnitSlots, ValueType kType>
__device__ RowPart ragged_part(const TopkParams& params, std::uint32_t num_resident_ctas,
                               RaggedScratch& scratch) {
  constexpr std::uint32_t kRowsPerThread = (kMaxRows + kThreads - 1) / kThreads;
  const auto num_rows = static_cast<std::uint32_t>(params.num_rows);
  const std::uint32_t rows_per_thread = detail::quotient_up(num_rows, kThreads);

  std::uint32_t units[kRowsPerThread];
  std::uint32_t sum = 0;
#pragma unroll
  for (std::uint32_t i = 0; i < kRowsPerThread; ++i) {
    const std::uint32_t row = threadIdx.x * rows_per_thread + i;
    units[i] = 0;
    if (i >= rows_per_thread || row >= num_rows) continue;
    const RowSlots<kType> slots(params, row_view(params, row), row);
    units[i] = detail::quotient_up(slots.num_slots(), kUnitSlots);
    sum += units[i];
  }
  if (threadIdx.x == 0) scratch.part = {0, 0, 0};
  const std::uint32_t total = block_prefix<kThreads>(sum, scratch.warp_totals[0]).total;
  const std::uint32_t share = max(detail::quotient_up(total, num_resident_ctas * kRaggedWaves), 1u);

  // Both kinds of parts in one prefix sum.
  constexpr std::uint32_t kWholeRow = 1u << 16;
  constexpr std::uint32_t kDivided = kWholeRow - 1;
  std::uint32_t counts[kRowsPerThread];
  sum = 0;
#pragma unroll
  for (std::uint32_t i = 0; i < kRowsPerThread; ++i) {
    counts[i] = 0;
    if (i >= rows_per_thread || threadIdx.x * rows_per_thread + i >= num_rows) continue;
    counts[i] = units[i] > share ? detail::quotient_up(units[i], share) : kWholeRow;
    sum += counts[i];
  }
  const Prefix prefix = block_prefix<kThreads>(sum, scratch.warp_totals[1]);
  std::uint32_t before = prefix.before;
#pragma unroll
  for (std::uint32_t i = 0; i < kRowsPerThread; ++i) {
    const bool is_whole = counts[i] == kWholeRow;
    const std::uint32_t first =
        is_whole ? (prefix.total & kDivided) + before / kWholeRow : before & kDivided;
    const std::uint32_t row_parts = is_whole ? 1 : counts[i];
    if (counts[i] != 0 && blockIdx.x - first < row_parts) {
      scratch.part = {threadIdx.x * rows_per_thread + i, blockIdx.x - first, row_parts};
    }
    before += counts[i];
  }
  __syncthreads();
  return scratch.part;
}

}  // namespace deepselect::cuda
