// A sample of a row in a CTA's registers, and the bound that it suggests.
//
// Segments of 128 bytes, one at a pseudo-random place in each of equally many stretches of the row:
// DRAM reads less in vain than for scattered vectors. A row of no more slots than the sample has is
// sampled whole.
//
// The element of a given rank is found by RadixCursor histograms over the composites, so equal
// values need nothing of their own. The first histogram has a range that fits: from the worst of as
// many group bests as the rank asks for (so at least that many elements are in it) to the best of
// all. It is usually the only one.
#pragma once

#include <cstdint>

#include "cuda/common/block.cuh"
#include "cuda/common/composite.h"
#include "cuda/common/histogram.cuh"
#include "cuda/common/key_map.cuh"
#include "cuda/common/radix_cursor.h"
#include "cuda/common/row_slots.cuh"
#include "cuda/smem/row_stream.h"

namespace deepselect::cuda {

struct RowBound {
  Composite low;           // what reaches it survives
  std::uint32_t best_key;  // of the sample
};

template <class Policy, ValueType kType>
class RowSample {
 public:
  static constexpr int kThreads = Policy::kThreads;
  static constexpr int kMaxVectors = Policy::kMaxSampleVectors;

  __device__ __forceinline__ RowSample(const RowSlots<kType>& slots, const KeyMap<kType>& key_map) {
    const std::uint32_t num_slots = slots.num_slots();
    log2_vectors_ = 0;
    is_whole_row_ = num_slots <= kThreads * kMaxVectors;
    if (is_whole_row_) {
      num_vectors_ = (num_slots + kThreads - 1) / kThreads;
      num_items_ = slots.num_items();
    } else {
      log2_vectors_ = Policy::log2_sample_vectors(num_slots);
      num_vectors_ = 1u << log2_vectors_;
      num_items_ = num_vectors_ * kThreads * kItems;
    }
    uint4 bits[kMaxVectors];
#pragma unroll
    for (int v = 0; v < kMaxVectors; ++v) {
      bits[v] = {0, 0, 0, 0};
      first_[v] = 0;
      if (v >= num_vectors_) continue;
      const std::uint32_t number = v * kThreads + threadIdx.x;
      const std::uint32_t slot = is_whole_row_ ? number : sampled_slot(slots, number);
      first_[v] = slots.first_position(slot);
      if (slot < num_slots) bits[v] = slots.load(slot);
    }
    valid_ = 0;
#pragma unroll
    for (int v = 0; v < kMaxVectors; ++v) {
      if (v >= num_vectors_) continue;
      std::uint32_t valid = kAllItems;
      if (is_whole_row_) {
        const std::uint32_t slot = v * kThreads + threadIdx.x;
        valid = slot < num_slots ? slots.valid_items(slot) : 0u;
      }
      valid_ |= valid << (v * kItems);
      keys_[v][0] = key_map.word_keys(bits[v].x);
      keys_[v][1] = key_map.word_keys(bits[v].y);
      keys_[v][2] = key_map.word_keys(bits[v].z);
      keys_[v][3] = key_map.word_keys(bits[v].w);
    }
  }

  __device__ std::uint32_t num_items() const { return num_items_; }

  // A bound that `rank` of the sample reach, 1 <= rank <= num_items(), and few more. All threads of
  // the CTA call it; the histogram is empty, a barrier later.
  __device__ __forceinline__ RowBound bound(std::uint32_t rank, std::uint32_t num_row_items,
                                            RowStreamSmem& smem) const {
    Histogram& histogram = smem.finish.histogram;
    const auto [worst_key, best_key] = range(rank, smem);
    RadixCursor cursor = RadixCursor::above(Composite{worst_key} << 32, best_key,
                                            KeyMap<kType>::kKeyBits, num_row_items);
    std::uint32_t low_key = worst_key;
    for (;;) {
      count(cursor, low_key, histogram);
      find_pivot_bin<kThreads>(histogram, rank - 1 - cursor.num_above());
      const std::uint32_t pivot_count = histogram.pivot_count;
      cursor.descend(histogram.pivot_bin, histogram.pivot_above);
      __syncthreads();
      clear_bins<kThreads>(histogram);
      // Within one key a bin is a range of positions, and lets no more elements of the row through.
      const bool is_narrow = cursor.high() - cursor.low() < kNarrowPositions;
      if (is_narrow || pivot_count <= rank / Policy::kRankSlackDivisor + 1) break;
      low_key = key_of(cursor.low());
      __syncthreads();
    }
    return {cursor.low(), best_key};
  }

 private:
  static constexpr int kItems = KeyMap<kType>::kItemsPerVector;
  static constexpr std::uint32_t kAllItems = (1u << kItems) - 1;
  static constexpr std::uint64_t kNarrowPositions = 64;
  static_assert(kItems * kMaxVectors <= 32, "one word of valid bits");

  struct KeyRange {
    std::uint32_t worst;
    std::uint32_t best;
  };

  __device__ __forceinline__ std::uint32_t sampled_slot(const RowSlots<kType>& slots,
                                                        std::uint32_t number) const {
    constexpr std::uint32_t kSegmentSlots = Policy::kSlotsPerSegment;
    const std::uint32_t first = slots.first_segment(kSegmentSlots);
    const std::uint32_t row_segments = (slots.end_whole() - first) / kSegmentSlots;
    constexpr std::uint32_t kVectorSegments = kThreads / kSegmentSlots;
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

  // The best key of the sample, and one that at least `rank` of the sample reach.
  __device__ __forceinline__ KeyRange range(std::uint32_t rank, RowStreamSmem& smem) const {
    constexpr std::uint32_t kWarps = kThreads / kWarpThreads;
    std::uint32_t best = 0;
#pragma unroll
    for (int v = 0; v < kMaxVectors; ++v) {
      if (v >= num_vectors_) continue;
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        if ((valid_ >> (v * kItems + i) & 1) != 0) best = max(best, item_key<kType>(keys_[v], i));
      }
    }
    // Groups as large as leaves one per rank: the larger, the closer their worst best.
    std::uint32_t group_best = best;
#pragma unroll
    for (std::uint32_t lanes = 1; lanes < kWarpThreads; lanes *= 2) {
      if (kThreads / (2 * lanes) < rank) continue;
      group_best = max(group_best, __shfl_xor_sync(kAllLanes, group_best, lanes));
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

  __device__ __forceinline__ void count(const RadixCursor& cursor, std::uint32_t low_key,
                                        Histogram& histogram) const {
#pragma unroll
    for (int v = 0; v < kMaxVectors; ++v) {
      if (v >= num_vectors_) continue;
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        const std::uint32_t key = item_key<kType>(keys_[v], i);
        if (key < low_key || (valid_ >> (v * kItems + i) & 1) == 0) continue;
        const std::uint64_t bin = cursor.bin(composite_key(key, first_[v] + i));
        if (bin < RadixCursor::kNumBins) count_shared(&histogram.bins[bin]);
      }
    }
  }

  std::uint32_t keys_[kMaxVectors][4];
  std::uint32_t first_[kMaxVectors];  // position of a vector's first item
  std::uint32_t valid_;               // bit per item
  std::uint32_t num_vectors_;         // of each thread
  int log2_vectors_;                  // unless the whole row is sampled
  std::uint32_t num_items_;           // of the CTA
  bool is_whole_row_;
};

}  // namespace deepselect::cuda
