// Two bounds that a row's k-th best element most likely lies between, from a sample of the row.
//
// Of the sample's n elements, n k / N are among the row's k best, give or take the square root of
// that and of the share that is not. Whole 16-byte slots are sampled, one at a pseudo-random place
// in each of equally many stretches of the row.
#pragma once

#include <cstdint>

#include "cuda/common/composite.h"
#include "cuda/common/key_map.cuh"
#include "cuda/common/rank_bound.cuh"
#include "cuda/common/row_slots.cuh"
#include "cuda/common/sample_hash.cuh"
#include "cuda/common/slot_composites.cuh"
#include "cuda/smem/split_radix.h"
#include "cuda/workspace/split_radix.h"

namespace deepselect::cuda {

// Puts the sampled elements into `items`; returns their number. No barrier.
template <int kThreads, class Policy, ValueType kType>
__device__ std::uint32_t sample_items(const RowSlots<kType>& slots, const KeyMap<kType>& key_map,
                                      Composite* items) {
  constexpr std::uint32_t kItems = SlotComposites<kType>::kItems;
  const std::uint32_t first = slots.first_whole();
  const std::uint32_t num_slots = slots.end_whole() - min(first, slots.end_whole());
  const std::uint32_t num_sampled = Policy::num_sampled(num_slots, kItems);
  if (num_sampled == 0) return 0;
  const std::uint64_t stretch = (std::uint64_t{num_slots} << 32) / num_sampled;
  for (std::uint32_t i = threadIdx.x; i < num_sampled; i += kThreads) {
    const auto begin = static_cast<std::uint32_t>(i * stretch >> 32);
    const auto end = static_cast<std::uint32_t>((i + 1) * stretch >> 32);
    const std::uint32_t slot = first + begin + __umulhi(sample_hash(i), end - begin);
    const SlotComposites<kType> composites(key_map, slots.whole_slots()[slot],
                                           slots.first_position(slot));
#pragma unroll
    for (std::uint32_t j = 0; j < kItems; ++j) items[j * num_sampled + i] = composites.at(j);
  }
  return num_sampled * kItems;
}

// All threads of the CTA call it. Of a window that is selected as a whole everything is sure.
template <int kThreads, class Policy, ValueType kType>
__device__ RowBracket find_bracket(const RowSlots<kType>& slots, const KeyMap<kType>& key_map,
                                   std::uint32_t num_wanted,
                                   SplitRadixSampleSmem<Policy::kMaxSampleItems>& smem) {
  if (num_wanted == slots.num_items()) return {kNoComposite, kNoComposite};
  const std::uint32_t num_sampled = sample_items<kThreads, Policy>(slots, key_map, smem.items);
  const float share =
      __fdividef(static_cast<float>(num_wanted), static_cast<float>(slots.num_items()));
  const float mean = share * static_cast<float>(num_sampled);
  const float margin = Policy::kSpareRank + Policy::kSigmas * sqrtf(mean * (1.0f - share));
  const auto below = [](Composite bound) { return bound == kNoComposite ? bound : bound - 1; };
  RowBracket bracket{~Composite{0}, kNoComposite};
  Histogram& histogram = smem.scratch.histogram;
  __syncthreads();
  const RadixCursor cursor =
      detail::survivor_range<kThreads>(smem.items, num_sampled, smem.scratch);
  if (mean - margin >= 1.0f) {
    const auto rank = static_cast<std::uint32_t>(mean - margin);
    const std::uint32_t slack = rank / Policy::kRankSlackDivisor;
    bracket.sure = below(
        rank_bound<kThreads>(smem.items, num_sampled, rank - slack, slack, cursor, histogram));
    clear_bins<kThreads>(histogram);
    __syncthreads();
  }
  if (mean + margin < static_cast<float>(num_sampled)) {
    const auto rank = static_cast<std::uint32_t>(mean + margin);
    bracket.hopeless = below(rank_bound<kThreads>(
        smem.items, num_sampled, rank, rank / Policy::kRankSlackDivisor, cursor, histogram));
  }
  return bracket;
}

}  // namespace deepselect::cuda
