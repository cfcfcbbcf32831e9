// A sample of a row in a CTA's shared memory, and the bound that it suggests.
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
#include "cuda/common/hit_mask.cuh"
#include "cuda/common/key_map.cuh"
#include "cuda/common/key_threshold.cuh"
#include "cuda/common/radix_cursor.h"
#include "cuda/common/row_slots.cuh"
#include "cuda/common/sample_hash.cuh"
#include "cuda/ptx/async_copy.cuh"
#include "cuda/ptx/shared_memory.cuh"
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
  static constexpr std::uint32_t kBytes = kThreads * kMaxVectors * 16;

  // Whether there is anything to sample.
  __device__ static bool can_sample(const RowSlots<kType>& slots) {
    return slots.first_segment(kSegmentSlots) + kSegmentSlots <= slots.end_whole();
  }

  // `buffer` is kBytes of shared memory, aligned to 16.
  __device__ __forceinline__ RowSample(const RowSlots<kType>& slots, void* buffer)
      : lane_(static_cast<unsigned char*>(buffer) + threadIdx.x * 16),
        log2_vectors_(Policy::log2_sample_vectors(slots.num_slots())) {}

  // Puts the sample on its way, as one group of copies.
  __device__ __forceinline__ void start(const RowSlots<kType>& slots) const {
    const std::uint32_t target = ptx::opaque_shared_address(lane_);
#pragma unroll
    for (int v = 0; v < kMaxVectors; ++v) {
      if (v >> log2_vectors_ != 0) continue;
      ptx::copy_async_16(target + v * kThreads * 16, slots.whole_slots() + sampled_slot(slots, v));
    }
    ptx::commit_copies();
  }

  __device__ std::uint32_t num_items() const { return kThreads * kItems << log2_vectors_; }

  // A bound that `rank` of the sample reach, 1 <= rank <= num_items(), and few more. The thread's
  // copies of the sample are complete. All threads of the CTA call it. The histogram is empty
  // before, a barrier later, and after, ditto.
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
  static constexpr std::uint32_t kSparseHits = 8;  // of a thread

  struct KeyRange {
    std::uint32_t worst;
    std::uint32_t best;
  };

  // Where a slot of the sample comes from. The row is divided into stretches of equal length (what
  // the division leaves over lies between them), each with one segment of the sample.
  struct Origin {
    std::uint32_t stretch_begin;  // slot
    std::uint32_t num_segments;   // of the stretch
    std::uint32_t segment_begin;  // slot
  };

  // For this thread's vector `vector`.
  __device__ __forceinline__ Origin origin(const RowSlots<kType>& slots,
                                           std::uint32_t vector) const {
    constexpr std::uint32_t kVectorSegments = kThreads / kSegmentSlots;
    const std::uint32_t first = slots.first_segment(kSegmentSlots);
    const std::uint32_t row_segments = (slots.end_whole() - first) / kSegmentSlots;
    const std::uint32_t number = (vector * kThreads + threadIdx.x) / kSegmentSlots;
    const std::uint32_t stretch = max(row_segments / kVectorSegments >> log2_vectors_, 1u);
    const std::uint32_t spare =
        row_segments - min(row_segments, stretch * kVectorSegments << log2_vectors_);
    const std::uint32_t begin =
        number * stretch + (number * spare / kVectorSegments >> log2_vectors_);
    const std::uint32_t hash = sample_hash(number);
    const std::uint32_t chosen = min(begin + __umulhi(hash, stretch), row_segments - 1);
    return {first + begin * kSegmentSlots, stretch, first + chosen * kSegmentSlots};
  }

  __device__ __forceinline__ std::uint32_t sampled_slot(const RowSlots<kType>& slots,
                                                        std::uint32_t vector) const {
    return origin(slots, vector).segment_begin + threadIdx.x % kSegmentSlots;
  }

  // The first position that this thread's vector `vector` stands for: the segment's items stand for
  // the stretch's, at equal distances. So the sample has as many positions as vectors, where the
  // segments are few, and a bound within one value of a row full of it is as good as within a row
  // of distinct ones.
  __device__ __forceinline__ std::uint32_t stands_for(const RowSlots<kType>& slots,
                                                      std::uint32_t vector) const {
    const Origin from = origin(slots, vector);
    return slots.first_position(from.stretch_begin) +
           threadIdx.x % kSegmentSlots * kItems * from.num_segments;
  }

  // The best key of the sample, and one that at least `rank` of the sample reach. One barrier.
  __device__ __forceinline__ KeyRange range(std::uint32_t rank, const KeyMap<kType>& key_map,
                                            RowStreamSmem& smem) const {
    constexpr std::uint32_t kWarps = kThreads / kWarpThreads;
    std::uint32_t max_word = 0;
#pragma unroll
    for (int v = 0; v < kMaxVectors; ++v) {
      if (v >> log2_vectors_ != 0) continue;
      const uint4 bits = vector(v);
      const std::uint32_t x = key_map.word_keys(bits.x);
      const std::uint32_t y = key_map.word_keys(bits.y);
      const std::uint32_t z = key_map.word_keys(bits.z);
      const std::uint32_t w = key_map.word_keys(bits.w);
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

  // Counts what lies in the cursor's range. Items of the range's worst key are counted by the
  // vector or the thread where that may be a large group of equal values.
  __device__ __forceinline__ void count(const RadixCursor& cursor, const RowSlots<kType>& slots,
                                        const KeyMap<kType>& key_map, Histogram& histogram) const {
    const std::uint32_t worst = key_of(cursor.low());
    const auto add = [&](std::uint64_t bin, std::uint32_t count) {
      if (count != 0 && bin < RadixCursor::kNumBins) atomicAdd(&histogram.bins[bin], count);
    };
    HitMask<kType> hits = reaching(key_map, worst);
    if (cursor.divides_keys()) {  // and has one
      hits.drop(reaching(key_map, std::uint64_t{worst} + 1));
#pragma unroll 1
      for (int v = 0; v < kMaxVectors; ++v) {
        add(cursor.bin(composite_key(worst, stands_for(slots, v))), hits.count(v));
      }
      return;
    }
    if (__any_sync(kAllLanes, hits.count() > kSparseHits)) {
      const HitMask<kType> better = reaching(key_map, std::uint64_t{worst} + 1);
      add(cursor.bin_of_key(worst), hits.count() - better.count());
      hits = better;
    }
    while (hits.any()) {
      const std::uint32_t offset = hits.template pop_offset<kThreads>();
      const auto bits =
          *reinterpret_cast<const BitsOf<kType>*>(lane_ + offset * sizeof(BitsOf<kType>));
      const std::uint32_t bin = cursor.bin_of_key(key_map.key(bits));
      if (bin < RadixCursor::kNumBins) count_shared(&histogram.bins[bin]);
    }
    __syncwarp();
  }

  // What of the sample has a key of `key` or more.
  __device__ __forceinline__ HitMask<kType> reaching(const KeyMap<kType>& key_map,
                                                     std::uint64_t key) const {
    const KeyThreshold<kType> threshold(key_map, key);
    HitMask<kType> hits;
#pragma unroll
    for (int v = 0; v < kMaxVectors; ++v) {
      if (v >> log2_vectors_ == 0) hits.add(key_map, threshold, vector(v), v);
    }
    hits.finish(threshold);
#pragma unroll
    for (int v = 0; v < HitMask<kType>::kMaxVectors; ++v) {
      if (v >> log2_vectors_ != 0) hits.drop(v);
    }
    return hits;
  }

  __device__ __forceinline__ uint4 vector(int v) const {
    return *reinterpret_cast<const uint4*>(lane_ + v * kThreads * 16);
  }

  unsigned char* lane_;  // this thread's first vector
  int log2_vectors_;
};

}  // namespace deepselect::cuda
