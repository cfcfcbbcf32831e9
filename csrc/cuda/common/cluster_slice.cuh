// A CTA's share of a row that a cluster reads: in registers what fits, the rest from memory.
//
// Whole slots are dealt out in segments of a warp's 32 (512 bytes), round robin over the CTAs of
// the cluster and then over their warps. So every CTA and every thread has its part of any region
// of the row, and the best elements spread evenly even where they lie close together. For the same
// reason a thread holds every n-th of its vectors in registers where it cannot hold all.
#pragma once

#include <cstdint>

#include "cuda/common/block.cuh"
#include "cuda/common/composite.h"
#include "cuda/common/hit_mask.cuh"
#include "cuda/common/key_map.cuh"
#include "cuda/common/key_threshold.cuh"
#include "cuda/common/raw_best.cuh"
#include "cuda/common/row_slots.cuh"
#include "cuda/ptx/prefetch.cuh"
#include "cuda/ptx/streaming_load.cuh"

namespace deepselect::cuda {

// What reaches a bound, by one comparison per word: which of two depends on where the vector lies
// relative to the bound's position.
template <ValueType kType>
class BoundFilter {
 public:
  __device__ __forceinline__ BoundFilter(const KeyMap<kType>& key_map, Composite bound)
      : before_(key_map, key_of(bound)),
        behind_(before_),
        end_(position_of(bound) + std::uint64_t{1}) {
    if (!takes_key()) behind_ = KeyThreshold<kType>(key_map, std::uint64_t{key_of(bound)} + 1);
  }

  // Whether the bound's key is enough at any position.
  __device__ __forceinline__ bool takes_key() const { return end_ == std::uint64_t{1} << 32; }
  __device__ __forceinline__ const KeyThreshold<kType>& threshold() const { return before_; }

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

// Which slots are a thread's, and passes over them that read memory. Vectors are numbered so that
// the first kVectors are those for the registers, the others follow in layers of as many.
template <int kThreads, int kVectors, ValueType kType>
class ClusterPart {
 public:
  __device__ __forceinline__ ClusterPart(const RowSlots<kType>& slots, std::uint32_t cta,
                                         std::int32_t log2_ctas)
      : end_(slots.end_whole()), layer_step_(std::uint32_t{kThreads} << log2_ctas) {
    const std::uint32_t warp = threadIdx.x / kWarpThreads;
    first_slot_ = slots.first_whole() + ((warp << log2_ctas) + cta) * kWarpThreads +
                  threadIdx.x % kWarpThreads;
    const std::uint32_t num_slots = max(end_, slots.first_whole()) - slots.first_whole();
    const std::uint32_t layer_slots = layer_step_ * kVectors;
    num_layers_ = max((num_slots + layer_slots - 1) / layer_slots, 1u);
  }

  __device__ __forceinline__ std::uint32_t num_layers() const { return num_layers_; }
  __device__ __forceinline__ bool has(std::uint32_t vector, std::uint32_t layer = 0) const {
    return slot(vector, layer) < end_;
  }
  __device__ __forceinline__ std::uint32_t slot(std::uint32_t vector,
                                                std::uint32_t layer = 0) const {
    return first_slot_ + (vector * num_layers_ + layer) * layer_step_;
  }

  // The last position of a warp's segment of the first layer; in the row, or behind its whole
  // slots.
  __device__ __forceinline__ std::uint32_t last_position(const RowSlots<kType>& slots,
                                                         std::uint32_t vector,
                                                         std::uint32_t warp) const {
    const std::uint32_t own_warp = threadIdx.x / kWarpThreads;
    const std::uint32_t end = slot(vector) +
                              (warp - own_warp) * (layer_step_ / (kThreads / kWarpThreads)) +
                              kWarpThreads - threadIdx.x % kWarpThreads;
    return slots.first_position(min(end, end_)) - 1;
  }

  // Asks for the layers from the second on to be brought into L2, up to `max_layers`.
  __device__ __forceinline__ void prefetch(const RowSlots<kType>& slots, std::uint32_t cta,
                                           std::uint32_t max_layers) const {
    const std::uint32_t vector = threadIdx.x % kVectors;
    const std::uint32_t layer = 1 + threadIdx.x / kVectors;
    if (layer >= min(num_layers_, max_layers)) return;
    const std::uint32_t first =
        slots.first_whole() + (vector * num_layers_ + layer) * layer_step_ + cta * kThreads;
    if (first < end_) {
      ptx::prefetch_l2(slots.whole_slots() + first,
                       16 * min(std::uint32_t{kThreads}, end_ - first));
    }
  }

  // Calls `body(tile, vector, layer)` for the layers from `first_layer` on, kTile vectors at a
  // time.
  template <int kTile, class Body>
  __device__ __forceinline__ void read(const RowSlots<kType>& slots, std::uint32_t first_layer,
                                       Body&& body) const {
#pragma unroll 1
    for (std::uint32_t layer = first_layer; layer < num_layers_; ++layer) {
#pragma unroll 1
      for (std::uint32_t first = 0; first < kVectors; first += kTile) {
        uint4 tile[kTile];
#pragma unroll
        for (int v = 0; v < kTile; ++v) {
          if (has(first + v, layer)) {
            tile[v] = ptx::load_streaming(slots.whole_slots() + slot(first + v, layer));
          }
        }
        body(tile, first, layer);
      }
    }
  }

  // Appends what reaches the filter's bound, of the layers from `first_layer` on. No barrier.
  template <class List>
  __device__ __forceinline__ void collect(const RowSlots<kType>& slots,
                                          const KeyMap<kType>& key_map,
                                          const BoundFilter<kType>& filter,
                                          std::uint32_t first_layer, const List& list) const {
    constexpr int kTile = kVectors < 8 ? kVectors : 8;
    constexpr int kMasks = kTile / kPerMask;
    read<kTile>(slots, first_layer,
                [&](const auto& tile, std::uint32_t first, std::uint32_t layer) {
                  HitMask<kType> hits[kMasks];
                  std::uint32_t count = 0;
#pragma unroll
                  for (int v = 0; v < kTile; ++v) {
                    if (!has(first + v, layer)) continue;
                    filter.add(key_map, tile[v], slots.first_position(slot(first + v, layer)),
                               v % kPerMask, &hits[v / kPerMask]);
                  }
#pragma unroll
                  for (int m = 0; m < kMasks; ++m) count += hits[m].count();
                  if (count == 0) return;
                  std::uint32_t place = list.reserve(count);
#pragma unroll
                  for (int m = 0; m < kMasks; ++m) {
                    append(slots, hits[m], first + m * kPerMask, layer, list, place);
                  }
                });
  }

  // Calls `body(bits, first position)` for all vectors.
  template <class Body>
  __device__ __forceinline__ void for_each_vector(const RowSlots<kType>& slots, Body&& body) const {
    constexpr int kTile = kVectors < 4 ? kVectors : 4;
    read<kTile>(slots, 0, [&](const auto& tile, std::uint32_t first, std::uint32_t layer) {
#pragma unroll
      for (int v = 0; v < kTile; ++v) {
        if (has(first + v, layer)) {
          body(tile[v], slots.first_position(slot(first + v, layer)));
        }
      }
    });
  }

 protected:
  static constexpr int kPerMask =
      kVectors < HitMask<kType>::kMaxVectors ? kVectors : HitMask<kType>::kMaxVectors;

  template <class List>
  __device__ __forceinline__ void append(const RowSlots<kType>& slots, HitMask<kType> hits,
                                         std::uint32_t first_vector, std::uint32_t layer,
                                         const List& list, std::uint32_t& place) const {
#pragma unroll 1
    while (hits.any()) {
      std::uint32_t vector, item;
      hits.pop(&vector, &item);
      list.put(place++, slots.first_position(slot(first_vector + vector, layer)) + item);
    }
  }

 private:
  std::uint32_t first_slot_;
  std::uint32_t end_;
  std::uint32_t layer_step_;  // from a thread's slot to its next
  std::uint32_t num_layers_;
};

// The best keys of groups of elements of one thread.
template <int kMaxGroups>
struct GroupBests {
  std::uint32_t keys[kMaxGroups];
  std::uint32_t num_valid;  // the groups that have an element: keys[0, num_valid)
};

// The part with its first layer in registers.
template <int kThreads, int kVectors, ValueType kType>
class ClusterSlice : public ClusterPart<kThreads, kVectors, kType> {
 public:
  using Part = ClusterPart<kThreads, kVectors, kType>;
  using Part::has;
  using Part::slot;
  static constexpr int kMaxGroups = kVectors < 4 ? kVectors : 4;

  // Issues the loads.
  __device__ __forceinline__ ClusterSlice(const RowSlots<kType>& slots, const Part& part)
      : Part(part) {
    if (has(kVectors - 1)) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v)
        bits_[v] = ptx::load_streaming(slots.whole_slots() + slot(v));
    } else {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        bits_[v] = {0, 0, 0, 0};
        if (has(v)) bits_[v] = ptx::load_streaming(slots.whole_slots() + slot(v));
      }
    }
  }

  // The thread's vectors in `num_groups` groups, a power of two up to kMaxGroups: of the first
  // layer, or of all.
  __device__ __forceinline__ GroupBests<kMaxGroups> group_bests(const RowSlots<kType>& slots,
                                                                const KeyMap<kType>& key_map,
                                                                std::uint32_t num_groups,
                                                                bool takes_all) const {
    std::uint32_t best[kMaxGroups];
    with_raw_best(key_map, [&](auto raw_best) {
      using Best = decltype(raw_best);
#pragma unroll
      for (int g = 0; g < kMaxGroups; ++g) best[g] = Best::worst();
      if (has(kVectors - 1)) {
#pragma unroll
        for (int v = 0; v < kVectors; ++v) fold<Best>(best[v % kMaxGroups], bits_[v]);
      } else {
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
          if (has(v)) fold<Best>(best[v % kMaxGroups], bits_[v]);
        }
      }
      if (takes_all) {
        this->template read<kMaxGroups>(
            slots, 1, [&](const auto& tile, std::uint32_t first, std::uint32_t layer) {
#pragma unroll
              for (int g = 0; g < kMaxGroups; ++g) {
                if (has(first + g, layer)) fold<Best>(best[g], tile[g]);
              }
            });
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

  // How many items of each of the warp's segments in registers have `key` or a better one: to
  // counts[vector * warps + warp].
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
    if (!filter.takes_key()) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        filter.add(key_map, bits_[v], slots.first_position(slot(v)), v % kPerMask,
                   &hits[v / kPerMask]);
      }
    } else if (key_map.is_negated()) {
      compare_all<true>(filter.threshold(), hits);
    } else {
      compare_all<false>(filter.threshold(), hits);
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
        this->append(slots, hits[m], m * kPerMask, 0, list, place);
      }
    }
    this->collect(slots, key_map, filter, 1, list);
  }

 private:
  using Part::kPerMask;
  static constexpr int kMasks = kVectors / kPerMask;
  static_assert(kMasks * kPerMask == kVectors, "masks of equally many vectors");

  template <bool kNegated>
  __device__ __forceinline__ void compare_all(const KeyThreshold<kType>& threshold,
                                              HitMask<kType> (&hits)[kMasks]) const {
    const RawThreshold<kType, kNegated> raw(threshold);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) hits[v / kPerMask].add_raw(raw, bits_[v], v % kPerMask);
#pragma unroll
    for (int m = 0; m < kMasks; ++m) hits[m].finish(threshold, kPerMask);
  }

  template <class Best>
  __device__ __forceinline__ static void fold(std::uint32_t& best, uint4 bits) {
    best = Best::of(best, Best::of(Best::of(bits.x, bits.y), Best::of(bits.z, bits.w)));
  }

  uint4 bits_[kVectors];
};

}  // namespace deepselect::cuda
