// A CTA's share of a row that a cluster reads: in registers what fits, the rest read once more.
//
// Whole slots are dealt out in segments of a warp's 32 (512 bytes), round robin over the CTAs of the
// cluster and then over their warps. So every CTA and every thread has its part of any region of
// the row, and the best elements spread evenly even where they lie close together.
#pragma once

#include <cstdint>

#include "cuda/common/block.cuh"
#include "cuda/common/composite.h"
#include "cuda/common/key_map.cuh"
#include "cuda/common/key_threshold.cuh"
#include "cuda/common/raw_best.cuh"
#include "cuda/common/row_filter.cuh"
#include "cuda/common/row_slots.cuh"

namespace deepselect::cuda {

// What reaches a bound, by one comparison per word: which of two depends on where the vector lies
// relative to the bound's position.
template <ValueType kType>
class BoundFilter {
 public:
  __device__ __forceinline__ BoundFilter(const KeyMap<kType>& key_map, Composite bound)
      : before_(key_map, key_of(bound)),
        behind_(key_map, std::uint64_t{key_of(bound)} + 1),
        end_(position_of(bound) + std::uint64_t{1}) {}

  // Adds the hits of a vector to a mask that has none of it yet.
  __device__ __forceinline__ void add(const KeyMap<kType>& key_map, uint4 bits,
                                      std::uint32_t first_position, int vector,
                                      HitMask<kType>* hits) const {
    constexpr std::uint32_t kItems = KeyMap<kType>::kItemsPerVector;
    const bool is_before = first_position < end_;
    hits->add_finished(key_map, KeyThreshold<kType>::choose(is_before, before_, behind_), bits,
                       vector);
    if (is_before && end_ - first_position < kItems) {
      HitMask<kType> above;
      above.add_finished(key_map, behind_, bits, vector);
      hits->replace_behind(vector, static_cast<std::uint32_t>(end_ - first_position), above);
    }
  }

 private:
  KeyThreshold<kType> before_;
  KeyThreshold<kType> behind_;
  std::uint64_t end_;  // of the positions at which the bound's key is enough
};

// A list in shared memory that many threads append positions to.
struct PositionList {
  std::uint32_t* data;
  std::uint32_t capacity;
  std::uint32_t* size;  // counts all, also what there was no room for

  __device__ __forceinline__ std::uint32_t reserve(std::uint32_t count) const {
    return atomicAdd(size, count);
  }
  __device__ __forceinline__ void put(std::uint32_t place, std::uint32_t position) const {
    if (place < capacity) data[place] = position;
  }
};

// The same, as composites.
template <ValueType kType>
struct CompositeList {
  const RowSlots<kType>& slots;
  const KeyMap<kType>& key_map;
  Composite* data;
  std::uint32_t capacity;
  std::uint32_t* size;

  __device__ __forceinline__ std::uint32_t reserve(std::uint32_t count) const {
    return atomicAdd(size, count);
  }
  __device__ __forceinline__ void put(std::uint32_t place, std::uint32_t position) const {
    if (place < capacity) {
      data[place] = composite_key(key_map.key(slots.item(position)), position);
    }
  }
};

// Which slots are a thread's, and passes over them that read memory.
template <int kThreads, ValueType kType>
class ClusterPart {
 public:
  __device__ __forceinline__ ClusterPart(const RowSlots<kType>& slots, std::uint32_t cta,
                                         std::uint32_t num_ctas)
      : first_slot_(slots.first_whole() + own_index(cta, num_ctas)),
        end_(slots.end_whole()),
        step_(num_ctas * kThreads) {}

  __device__ __forceinline__ bool has(std::uint32_t vector) const { return slot(vector) < end_; }
  __device__ __forceinline__ std::uint32_t slot(std::uint32_t vector) const {
    return first_slot_ + vector * step_;
  }

  // The last position of a warp's segment of vectors; in the row, or behind its whole slots.
  __device__ __forceinline__ std::uint32_t last_position(const RowSlots<kType>& slots,
                                                         std::uint32_t vector,
                                                         std::uint32_t warp) const {
    const std::uint32_t warp_step = step_ / (kThreads / kWarpThreads);
    const std::uint32_t own_warp = threadIdx.x / kWarpThreads;
    const std::uint32_t end = slot(vector) + (warp - own_warp) * warp_step + kWarpThreads -
                              threadIdx.x % kWarpThreads;
    return slots.first_position(min(end, end_)) - 1;
  }

  // Calls `body(tile, vector)` for the vectors from kFirst on, kNum at a time.
  template <int kFirst, int kNum, class Body>
  __device__ __forceinline__ void read(const RowSlots<kType>& slots, Body&& body) const {
#pragma unroll 1
    for (std::uint32_t first = kFirst; has(first); first += kNum) {
      uint4 tile[kNum];
#pragma unroll
      for (int v = 0; v < kNum; ++v) {
        if (has(first + v)) tile[v] = slots.whole_slots()[slot(first + v)];
      }
      body(tile, first);
    }
  }

  // Appends what reaches the filter's bound, of the vectors from kFirst on. No barrier.
  template <int kFirst, class List>
  __device__ __forceinline__ void collect(const RowSlots<kType>& slots,
                                          const KeyMap<kType>& key_map,
                                          const BoundFilter<kType>& filter,
                                          const List& list) const {
    read<kFirst, kTile>(slots, [&](const auto& tile, std::uint32_t first) {
      HitMask<kType> hits;
#pragma unroll
      for (int v = 0; v < kTile; ++v) {
        if (!has(first + v)) continue;
        filter.add(key_map, tile[v], slots.first_position(slot(first + v)), v, &hits);
      }
      if (!hits.any()) return;
      std::uint32_t place = list.reserve(hits.count());
      append(slots, hits, first, list, place);
    });
  }

  // Calls `body(bits, first position)` for all vectors.
  template <class Body>
  __device__ __forceinline__ void for_each_vector(const RowSlots<kType>& slots, Body&& body) const {
    read<0, kTile>(slots, [&](const auto& tile, std::uint32_t first) {
#pragma unroll
      for (int v = 0; v < kTile; ++v) {
        if (has(first + v)) body(tile[v], slots.first_position(slot(first + v)));
      }
    });
  }

 protected:
  template <class List>
  __device__ __forceinline__ void append(const RowSlots<kType>& slots, HitMask<kType> hits,
                                         std::uint32_t first_vector, const List& list,
                                         std::uint32_t& place) const {
#pragma unroll 1
    while (hits.any()) {
      std::uint32_t vector, item;
      hits.pop(&vector, &item);
      list.put(place++, slots.first_position(slot(first_vector + vector)) + item);
    }
  }

 private:
  static constexpr int kTile = 4;
  static_assert(kTile <= HitMask<kType>::kMaxVectors, "a mask of one word");

  __device__ __forceinline__ static std::uint32_t own_index(std::uint32_t cta,
                                                            std::uint32_t num_ctas) {
    const std::uint32_t warp = threadIdx.x / kWarpThreads;
    return (warp * num_ctas + cta) * kWarpThreads + threadIdx.x % kWarpThreads;
  }

  std::uint32_t first_slot_;
  std::uint32_t end_;
  std::uint32_t step_;  // between a thread's slots
};

// The best keys of groups of elements of one thread.
template <int kMaxGroups>
struct GroupBests {
  std::uint32_t keys[kMaxGroups];
  std::uint32_t num_valid;  // the groups that have an element: keys[0, num_valid)
};

// The part with its first kVectors vectors in registers.
template <int kThreads, int kVectors, ValueType kType>
class ClusterSlice : public ClusterPart<kThreads, kType> {
 public:
  using Part = ClusterPart<kThreads, kType>;
  using Part::has;
  using Part::slot;
  static constexpr int kMaxGroups = kVectors < 4 ? kVectors : 4;

  // Issues the loads.
  __device__ __forceinline__ ClusterSlice(const RowSlots<kType>& slots, std::uint32_t cta,
                                          std::uint32_t num_ctas)
      : Part(slots, cta, num_ctas) {
    if (has(kVectors - 1)) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) bits_[v] = slots.whole_slots()[slot(v)];
    } else {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        bits_[v] = {0, 0, 0, 0};
        if (has(v)) bits_[v] = slots.whole_slots()[slot(v)];
      }
    }
  }

  // The thread's vectors in `num_groups` groups, a power of two up to kMaxGroups.
  __device__ __forceinline__ GroupBests<kMaxGroups> group_bests(const RowSlots<kType>& slots,
                                                                const KeyMap<kType>& key_map,
                                                                std::uint32_t num_groups) const {
    std::uint32_t best[kMaxGroups];
    with_raw_best(key_map, [&](auto raw_best) {
      using Best = decltype(raw_best);
#pragma unroll
      for (int g = 0; g < kMaxGroups; ++g) best[g] = Best::worst();
      if (has(kVectors - 1)) {
#pragma unroll
        for (int v = 0; v < kVectors; ++v) fold<Best>(best[v % kMaxGroups], bits_[v]);
        this->template read<kVectors, kMaxGroups>(
            slots, [&](const auto& tile, std::uint32_t first) {
#pragma unroll
              for (int g = 0; g < kMaxGroups; ++g) {
                if (has(first + g)) fold<Best>(best[g], tile[g]);
              }
            });
      } else {
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
          if (has(v)) fold<Best>(best[v % kMaxGroups], bits_[v]);
        }
      }
#pragma unroll
      for (int g = kMaxGroups / 2; g >= 1; g /= 2) {
        if (num_groups > g) continue;
#pragma unroll
        for (int i = 0; i < g; ++i) best[i] = Best::of(best[i], best[i + g]);
      }
    });
    GroupBests<kMaxGroups> bests;
    bests.num_valid = 0;
#pragma unroll
    for (int g = 0; g < kMaxGroups; ++g) {
      bests.keys[g] = greatest_key<kType>(key_map.word_keys(best[g]));
      if (g < num_groups && has(g)) bests.num_valid = g + 1;
    }
    return bests;
  }

  // How many items of each of the warp's segments have `key` or a better one: to
  // counts[vector * warps + warp], of the vectors in registers.
  __device__ __forceinline__ void count_segments(const KeyMap<kType>& key_map, std::uint32_t key,
                                                 std::uint32_t* counts) const {
    const KeyThreshold<kType> threshold(key_map, key);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      HitMask<kType> hits;
      hits.add_finished(key_map, threshold, bits_[v], 0);
      const std::uint32_t count = __reduce_add_sync(kAllLanes, has(v) ? hits.count() : 0u);
      if (threadIdx.x % kWarpThreads == 0) {
        counts[v * (kThreads / kWarpThreads) + threadIdx.x / kWarpThreads] = count;
      }
    }
  }

  // Appends what reaches `bound`. No barrier.
  __device__ __forceinline__ void collect_all(const RowSlots<kType>& slots,
                                              const KeyMap<kType>& key_map, Composite bound,
                                              const PositionList& list) const {
    const BoundFilter<kType> filter(key_map, bound);
    HitMask<kType> hits[kMasks];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      filter.add(key_map, bits_[v], slots.first_position(slot(v)), v % kPerMask,
                 &hits[v / kPerMask]);
    }
    if (!has(kVectors - 1)) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        if (!has(v)) hits[v / kPerMask].drop(v % kPerMask);
      }
    }
    std::uint32_t count = 0;
#pragma unroll
    for (int m = 0; m < kMasks; ++m) count += hits[m].count();
    if (count != 0) {
      std::uint32_t place = list.reserve(count);
#pragma unroll
      for (int m = 0; m < kMasks; ++m) {
        this->append(slots, hits[m], m * kPerMask, list, place);
      }
    }
    this->template collect<kVectors>(slots, key_map, filter, list);
  }

 private:
  static constexpr int kPerMask =
      kVectors < HitMask<kType>::kMaxVectors ? kVectors : HitMask<kType>::kMaxVectors;
  static constexpr int kMasks = kVectors / kPerMask;
  static_assert(kMasks * kPerMask == kVectors, "masks of equally many vectors");

  template <class Best>
  __device__ __forceinline__ static void fold(std::uint32_t& best, uint4 bits) {
    best = Best::of(best, Best::of(Best::of(bits.x, bits.y), Best::of(bits.z, bits.w)));
  }

  uint4 bits_[kVectors];
};

}  // namespace deepselect::cuda
