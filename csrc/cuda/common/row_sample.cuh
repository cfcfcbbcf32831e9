// A sample of a row in a CTA's registers, and the bound that it suggests.
//
// Segments of 128 bytes, one at a pseudo-random place in each of equally many stretches of the row:
// DRAM reads less in vain than for scattered vectors.
//
// The element of a given rank is found by RadixCursor histograms over the composites, so equal
// values need nothing of their own. The first histogram has a range that fits: from the worst of as
// many group bests as the rank asks for (so at least that many elements are in it) to the best of
// all. It is usually the only one, and few of the sample are in it.
#pragma once

#include <cstdint>

#include "cuda/common/block.cuh"
#include "cuda/common/composite.h"
#include "cuda/common/histogram.cuh"
#include "cuda/common/key_map.cuh"
#include "cuda/common/key_threshold.cuh"
#include "cuda/common/radix_cursor.h"
#include "cuda/common/row_filter.cuh"
#include "cuda/common/row_slots.cuh"
#include "cuda/smem/row_stream.h"

namespace deepselect::cuda {

struct RowBound {
  Composite low;           // what reaches it survives
  std::uint32_t best_key;  // of the sample
};

// Requires at least one whole segment in the row.
template <class Policy, ValueType kType>
class RowSample {
 public:
  static constexpr int kThreads = Policy::kThreads;
  static constexpr int kMaxVectors = Policy::kMaxSampleVectors;

  // Whether there is anything to sample.
  __device__ static bool can_sample(const RowSlots<kType>& slots) {
    return slots.first_segment(kSegmentSlots) + kSegmentSlots <= slots.end_whole();
  }

  __device__ __forceinline__ RowSample(const RowSlots<kType>& slots)
      : log2_vectors_(Policy::log2_sample_vectors(slots.num_slots())) {
#pragma unroll
    for (int v = 0; v < kMaxVectors; ++v) {
      bits_[v] = {0, 0, 0, 0};
      slot_[v] = 0;
      if (v >> log2_vectors_ != 0) continue;
      slot_[v] = sampled_slot(slots, v * kThreads + threadIdx.x);
      bits_[v] = slots.whole_slots()[slot_[v]];
    }
  }

  __device__ std::uint32_t num_items() const { return kThreads * kItems << log2_vectors_; }

  // A bound that `rank` of the sample reach, 1 <= rank <= num_items(), and few more. All threads of
  // the CTA call it. The histogram is empty before, a barrier later, and after, ditto.
  __device__ __forceinline__ RowBound bound(std::uint32_t rank, const RowSlots<kType>& slots,
                                            const KeyMap<kType>& key_map,
                                            RowStreamSmem& smem) const {
    Histogram& histogram = smem.finish.histogram;
    const KeyRange keys = range(rank, key_map, smem);
    RadixCursor cursor =
        RadixCursor::above(Composite{keys.worst} << 32, RadixCursor::best_of_key(keys.best),
                           keys.best, slots.num_items());
    for (;;) {
      count(cursor, slots, key_map, histogram);
      find_pivot_bin<kThreads>(histogram, rank - 1 - cursor.num_above(), BinsAfter::kCleared);
      const std::uint32_t pivot_count = histogram.pivot_count;
      cursor.descend(histogram.pivot_bin, histogram.pivot_above);
      // Within one key a bin is a range of positions, and lets no more elements of the row through.
      const bool is_narrow = cursor.high() - cursor.low() < kNarrowPositions;
      if (is_narrow || pivot_count <= rank / Policy::kRankSlackDivisor + 1) break;
    }
    return {cursor.low(), keys.best};
  }

 private:
  static constexpr int kItems = KeyMap<kType>::kItemsPerVector;
  static constexpr std::uint32_t kSegmentSlots = Policy::kSlotsPerSegment;
  static constexpr std::uint64_t kNarrowPositions = 64;

  struct KeyRange {
    std::uint32_t worst;
    std::uint32_t best;
  };

  __device__ __forceinline__ std::uint32_t sampled_slot(const RowSlots<kType>& slots,
                                                        std::uint32_t number) const {
    constexpr std::uint32_t kVectorSegments = kThreads / kSegmentSlots;
    const std::uint32_t first = slots.first_segment(kSegmentSlots);
    const std::uint32_t row_segments = (slots.end_whole() - first) / kSegmentSlots;
    const std::uint32_t segment = number / kSegmentSlots;
    // Stretches of equal length; what the division leaves over lies between them.
    const std::uint32_t stretch = max(row_segments / kVectorSegments >> log2_vectors_, 1u);
    const std::uint32_t spare =
        row_segments - min(row_segments, stretch * kVectorSegments << log2_vectors_);
    const std::uint32_t begin =
        segment * stretch + (segment * spare / kVectorSegments >> log2_vectors_);
    std::uint32_t hash = (segment + 1) * 0x9E3779B1u;
    hash ^= hash >> 15;
    hash *= 0x85EBCA6Bu;
    const std::uint32_t chosen = min(begin + __umulhi(hash, stretch), row_segments - 1);
    return first + chosen * kSegmentSlots + number % kSegmentSlots;
  }

  // The best key of the sample, and one that at least `rank` of the sample reach. One barrier.
  __device__ __forceinline__ KeyRange range(std::uint32_t rank, const KeyMap<kType>& key_map,
                                            RowStreamSmem& smem) const {
    constexpr std::uint32_t kWarps = kThreads / kWarpThreads;
    std::uint32_t max_word = 0;
#pragma unroll
    for (int v = 0; v < kMaxVectors; ++v) {
      if (v >> log2_vectors_ != 0) continue;
      const std::uint32_t x = key_map.word_keys(bits_[v].x);
      const std::uint32_t y = key_map.word_keys(bits_[v].y);
      const std::uint32_t z = key_map.word_keys(bits_[v].z);
      const std::uint32_t w = key_map.word_keys(bits_[v].w);
      max_word = max_of_words<kType>(
          max_word, max_of_words<kType>(max_of_words<kType>(x, y), max_of_words<kType>(z, w)));
    }
    const std::uint32_t best = greatest_key<kType>(max_word);
    // Groups as large as leaves one per rank: the larger, the closer their worst best.
    std::uint32_t group_best = best;
#pragma unroll
    for (std::uint32_t lanes = 1; lanes < kWarpThreads; lanes *= 2) {
      const std::uint32_t other = __shfl_xor_sync(kAllLanes, group_best, lanes);
      if (kThreads / (2 * lanes) >= rank) group_best = max(group_best, other);
    }
    const std::uint32_t lane = threadIdx.x % kWarpThreads;
    const std::uint32_t warp_worst = __reduce_min_sync(kAllLanes, group_best);
    const std::uint32_t warp_best = __reduce_max_sync(kAllLanes, best);
    if (lane == 0) {
      smem.warp_worst[threadIdx.x / kWarpThreads] = warp_worst;
      smem.warp_best[threadIdx.x / kWarpThreads] = warp_best;
    }
    __syncthreads();
    KeyRange keys;
    keys.worst = __reduce_min_sync(kAllLanes, lane < kWarps ? smem.warp_worst[lane] : ~0u);
    keys.best = __reduce_max_sync(kAllLanes, lane < kWarps ? smem.warp_best[lane] : 0u);
    if (kThreads < rank) keys.worst = 0;
    return keys;
  }

  __device__ __forceinline__ void count(const RadixCursor& cursor, const RowSlots<kType>& slots,
                                        const KeyMap<kType>& key_map, Histogram& histogram) const {
    const KeyThreshold<kType> threshold(key_map, key_of(cursor.low()));
    HitMask<kType> hits;
#pragma unroll
    for (int v = 0; v < kMaxVectors; ++v) hits.add(key_map, threshold, bits_[v], v);
    hits.finish(threshold);
#pragma unroll
    for (int v = 0; v < HitMask<kType>::kMaxVectors; ++v) {
      if (v >> log2_vectors_ != 0) hits.drop(v);
    }
    while (hits.any()) {
      std::uint32_t vector, item;
      hits.pop(&vector, &item);
      std::uint32_t slot = slot_[0];
#pragma unroll
      for (int v = 1; v < kMaxVectors; ++v) slot = vector == v ? slot_[v] : slot;
      const std::uint32_t position = slots.first_position(slot) + item;
      const std::uint32_t key = key_map.key(slots.item(position));
      const std::uint64_t bin = cursor.bin(composite_key(key, position));
      if (bin < RadixCursor::kNumBins) count_shared(&histogram.bins[bin]);
    }
  }

  uint4 bits_[kMaxVectors];
  std::uint32_t slot_[kMaxVectors];
  int log2_vectors_;
};

}  // namespace deepselect::cuda
