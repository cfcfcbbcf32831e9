// The filter of a part of a row, or of a whole one, against a fixed bound: what split_stream and
// row_stream spend their time in.
//
// A thread has kBatches * 4 vectors in registers. Each batch is reduced to a mask of hits
// (HitMask), and the batch's next loads are issued at once, so that most of a thread's loads are
// always on their way. Hits are dealt with after that. With kStagesHits their vectors have been put
// into shared memory: from L1 they come behind the loads that are on their way, and where hits are
// not rare that costs more than the stores.
//
// A tile that begins behind the bound's position has hits above the bound's key only, one that ends
// before it has those equal to it as well. Of the tile that holds the position both masks are made,
// and each slot takes the one of its side: so the masks are exact, and rows full of one value are
// passed over as fast as any other.
//
// Survivors go to a list in shared memory, and to the row's buffer in global memory once that is
// full.
#pragma once

#include <cstdint>

#include "cuda/common/block.cuh"
#include "cuda/common/composite.h"
#include "cuda/common/hit_mask.cuh"
#include "cuda/common/key_map.cuh"
#include "cuda/common/key_threshold.cuh"
#include "cuda/common/row_parts.h"
#include "cuda/common/row_slots.cuh"
#include "cuda/common/slot_composites.cuh"
#include "cuda/ptx/prefetch.cuh"

namespace deepselect::cuda {

// Where a CTA's survivors go. The list's counter is in shared memory.
struct SurvivorSink {
  Composite* staged;
  std::uint32_t staged_capacity;
  std::uint32_t* num_staged;  // may run past staged_capacity
  Composite* buffer;
  std::uint32_t buffer_capacity;
  // Survivors in the low half: may run past buffer_capacity, and what came beyond is lost.
  unsigned long long* counter;

  __device__ __forceinline__ std::uint32_t buffer_places(std::uint32_t count) const {
    return static_cast<std::uint32_t>(atomicAdd(counter, static_cast<unsigned long long>(count)));
  }

  // Places for `count` survivors of this lane (below 2^kBits), which put() takes. All lanes of the
  // warp call it.
  template <int kBits>
  __device__ __forceinline__ std::uint64_t reserve(std::uint32_t count) const {
    const Prefix prefix = warp_prefix_small<kBits>(count);
    std::uint32_t place = 0;
    std::uint32_t beyond = 0;
    if (threadIdx.x % kWarpThreads == 0 && prefix.total != 0) {
      place = atomicAdd(num_staged, prefix.total);
      const std::uint32_t end = place + prefix.total;
      if (end > staged_capacity) {
        const std::uint32_t first_beyond = max(place, staged_capacity);
        beyond = buffer_places(end - first_beyond) - first_beyond;
      }
    }
    place = __shfl_sync(kAllLanes, place, 0) + prefix.before;
    return std::uint64_t{__shfl_sync(kAllLanes, beyond, 0)} << 32 | place;
  }

  __device__ __forceinline__ void put(std::uint64_t reserved, std::uint32_t number,
                                      Composite composite) const {
    const std::uint32_t place = static_cast<std::uint32_t>(reserved) + number;
    if (place < staged_capacity) {
      staged[place] = composite;
    } else {
      const std::uint32_t beyond = place + static_cast<std::uint32_t>(reserved >> 32);
      if (beyond < buffer_capacity) buffer[beyond] = composite;
    }
  }

  // Moves the list to the buffer. All threads of the CTA call it, after a barrier; `first_place` is
  // in shared memory.
  template <int kThreads>
  __device__ void flush(std::uint32_t* first_place) const {
    const std::uint32_t count = min(*num_staged, staged_capacity);
    if (count == 0) return;
    if (threadIdx.x == 0) *first_place = buffer_places(count);
    __syncthreads();
    const std::uint32_t first = *first_place;
    for (std::uint32_t i = threadIdx.x; i < count; i += kThreads) {
      if (first + i < buffer_capacity) buffer[first + i] = staged[i];
    }
  }
};

// The whole slots of a part, and one thread's vectors of a tile of them.
//
// A tile is kSlots neighbouring slots, and the parts take tiles in turn: all of them together read
// the row from its beginning to its end. A row that gives every part no more than one tile is dealt
// out in smaller pieces: a vector of every thread at a time.
template <int kThreads, int kBatches, bool kStagesHits, ValueType kType>
class PartTiles {
 public:
  static constexpr int kBatchVectors = HitMask<kType>::kMaxVectors;
  static constexpr std::uint32_t kSlots = kThreads * kBatches * kBatchVectors;
  static constexpr std::uint32_t kStageBytes = kStagesHits ? kSlots * 16 : 0;

  // `stage` is kStageBytes of shared memory, aligned to 16.
  __device__ __forceinline__ PartTiles(const RowSlots<kType>& slots, const RowPart& part,
                                       void* stage)
      : end_(slots.end_whole()), stage_(static_cast<unsigned char*>(stage) + threadIdx.x * 16) {
    const std::uint32_t first = slots.first_whole();
    const bool is_long = end_ > first && end_ - first > part.num_parts * kSlots;
    tile_step_ = part.num_parts * kSlots;
    vector_step_ = is_long ? kThreads : part.num_parts * kThreads;
    first_ = first + part.index * (is_long ? kSlots : kThreads);
    if (has_tile()) load_all(slots);
  }

  // Asks for the beginning of the second tile. One thread calls it.
  __device__ __forceinline__ void prefetch_next(const RowSlots<kType>& slots,
                                                std::uint32_t num_bytes) const {
    const std::uint32_t next = first_ + tile_step_;
    if (num_bytes == 0 || next >= end_) return;
    ptx::prefetch_l2(slots.whole_slots() + next, min((end_ - next) * 16, num_bytes));
  }

  // Once. All threads of the CTA call it; no barrier. `sink` is a SurvivorSink or like one.
  template <class Sink>
  __device__ __forceinline__ void filter(const RowSlots<kType>& slots, const KeyMap<kType>& key_map,
                                         Composite bound, const Sink& sink) {
    if (!has_tile()) return;
    if (is_floating(kType) && key_map.is_negated()) {
      filter_tiles<true>(slots, key_map, bound, sink);
    } else {
      filter_tiles<false>(slots, key_map, bound, sink);
    }
  }

 private:
  static constexpr int kItems = KeyMap<kType>::kItemsPerVector;
  static constexpr std::uint32_t kSparseHits = 4;  // of a lane

  static constexpr int log2_above(int x) { return x == 0 ? 0 : 1 + log2_above(x / 2); }

  // kIsNegated is KeyMap::is_negated().
  template <bool kIsNegated, class Sink>
  __device__ __forceinline__ void filter_tiles(const RowSlots<kType>& slots,
                                               const KeyMap<kType>& key_map, Composite bound,
                                               const Sink& sink) {
    for (;;) {
      const std::uint32_t first = first_;
      const bool begins_before = slots.first_position(first) <= position_of(bound);
      const bool ends_before =
          slots.first_position(last_slot(first)) + (kItems - 1) <= position_of(bound);
      // Made anew for each tile: kept, it would take registers that the loads need.
      const KeyThreshold<kType> threshold(key_map,
                                          std::uint64_t{key_of(bound)} + (begins_before ? 0 : 1));
      first_ += tile_step_;
      const bool is_last = !has_tile();
      HitMask<kType> hits[kBatches];
#pragma unroll
      for (int batch = 0; batch < kBatches; ++batch) {
        hits[batch] = batch_hits<kIsNegated>(threshold, first, batch);
        if (begins_before && !ends_before) {
          const KeyThreshold<kType> behind(key_map, std::uint64_t{key_of(bound)} + 1);
          separate(slots, bound, batch_hits<kIsNegated>(behind, first, batch), first, batch,
                   &hits[batch]);
        }
        if constexpr (kStagesHits) stage(batch, hits[batch]);
        if (!is_last) load(slots, batch);
      }
      append(slots, key_map, sink, first, hits);
      if (is_last) return;
    }
  }

  __device__ __forceinline__ bool has_tile() const { return first_ < end_; }
  __device__ __forceinline__ std::uint32_t slot_of(std::uint32_t first,
                                                   std::uint32_t vector) const {
    return first + vector * vector_step_ + threadIdx.x;
  }
  __device__ __forceinline__ std::uint32_t last_slot(std::uint32_t first) const {
    return first + (kBatches * kBatchVectors - 1) * vector_step_ + kThreads - 1;
  }
  __device__ __forceinline__ bool is_whole(std::uint32_t first) const {
    return last_slot(first) < end_;
  }

  __device__ __forceinline__ void load(const RowSlots<kType>& slots, int batch) {
    const uint4* source = slots.whole_slots();
    const bool whole = is_whole(first_);
#pragma unroll
    for (int v = 0; v < kBatchVectors; ++v) {
      const std::uint32_t slot = slot_of(first_, batch * kBatchVectors + v);
      if (whole || slot < end_) bits_[batch][v] = source[slot];
    }
  }
  __device__ __forceinline__ void load_all(const RowSlots<kType>& slots) {
#pragma unroll
    for (int batch = 0; batch < kBatches; ++batch) load(slots, batch);
  }

  template <bool kIsNegated>
  __device__ __forceinline__ HitMask<kType> batch_hits(const KeyThreshold<kType>& threshold,
                                                       std::uint32_t first, int batch) const {
    HitMask<kType> hits;
#pragma unroll
    for (int v = 0; v < kBatchVectors; ++v) {
      hits.template add_raw<kIsNegated>(threshold, bits_[batch][v], v);
    }
    hits.finish(threshold);
    if (!is_whole(first)) {
#pragma unroll
      for (int v = 0; v < kBatchVectors; ++v) {
        if (slot_of(first, batch * kBatchVectors + v) >= end_) hits.drop(v);
      }
    }
    return hits;
  }

  // Of `hits`, which take what equals the bound's key, keeps the slots before the bound's position;
  // the others take their hits of `behind`.
  __device__ __forceinline__ void separate(const RowSlots<kType>& slots, Composite bound,
                                           HitMask<kType> behind, std::uint32_t first, int batch,
                                           HitMask<kType>* hits) const {
#pragma unroll
    for (int v = 0; v < kBatchVectors; ++v) {
      const std::uint32_t position =
          slots.first_position(slot_of(first, batch * kBatchVectors + v));
      if (position > position_of(bound)) {
        hits->drop(v);
        continue;
      }
      // In the slot of the position itself, what is behind it differs by its key alone.
      const std::uint32_t num_before = position_of(bound) - position + 1;
#pragma unroll
      for (int item = 0; item < kItems; ++item) {
        if (static_cast<std::uint32_t>(item) < num_before) {
          behind.drop_item(v, item);
        } else {
          hits->drop_item(v, item);
        }
      }
    }
    hits->merge(behind);
  }

  // This thread's place in the stage for a vector of its tile.
  __device__ __forceinline__ unsigned char* staged(std::uint32_t vector) const {
    return stage_ + vector * (kThreads * 16);
  }
  __device__ __forceinline__ void stage(int batch, const HitMask<kType>& hits) const {
#pragma unroll
    for (int v = 0; v < kBatchVectors; ++v) {
      if (hits.any(v)) {
        *reinterpret_cast<uint4*>(staged(batch * kBatchVectors + v)) = bits_[batch][v];
      }
    }
  }

  template <class Sink>
  __device__ __forceinline__ void append(const RowSlots<kType>& slots, const KeyMap<kType>& key_map,
                                         const Sink& sink, std::uint32_t first,
                                         HitMask<kType> (&hits)[kBatches]) const {
    std::uint32_t count = 0;
#pragma unroll
    for (int batch = 0; batch < kBatches; ++batch) count += hits[batch].count();
    if (!__any_sync(kAllLanes, count != 0)) return;
    const std::uint64_t reserved =
        sink.template reserve<log2_above(kBatches * kBatchVectors * kItems)>(count);
    // Read again from far, hits of a lane come one after the other.
    const bool is_dense = !kStagesHits && __any_sync(kAllLanes, count > kSparseHits);
    std::uint32_t number = 0;
#pragma unroll
    for (int batch = 0; batch < kBatches; ++batch) {
      if (is_dense) {
#pragma unroll 1
        for (std::uint32_t v = 0; v < kBatchVectors; ++v) {
          put_slot(
              slots, key_map, sink, reserved, slot_of(first, batch * kBatchVectors + v),
              [&](std::uint32_t item) { return hits[batch].has(v, item); }, &number);
        }
        continue;
      }
#pragma unroll 1
      while (hits[batch].any()) {
        std::uint32_t vector, item;
        hits[batch].pop(&vector, &item);
        vector += batch * kBatchVectors;
        const std::uint32_t position = slots.first_position(slot_of(first, vector)) + item;
        BitsOf<kType> bits;
        if constexpr (kStagesHits) {
          bits = reinterpret_cast<const BitsOf<kType>*>(staged(vector))[item];
        } else {
          bits = slots.item(position);
        }
        sink.put(reserved, number++, composite_key(key_map.key(bits), position));
      }
    }
  }

  // Where hits are many, as in a row in order: a slot's at once.
  template <class Sink, class IsHit>
  __device__ __forceinline__ static void put_slot(const RowSlots<kType>& slots,
                                                  const KeyMap<kType>& key_map, const Sink& sink,
                                                  std::uint64_t reserved, std::uint32_t slot,
                                                  IsHit&& is_hit, std::uint32_t* number) {
    const uint4 bits = slot < slots.end_whole() ? slots.whole_slots()[slot] : uint4{0, 0, 0, 0};
    const SlotComposites<kType> composites(key_map, bits, slots.first_position(slot));
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (is_hit(item)) sink.put(reserved, (*number)++, composites.at(item));
    }
  }

  uint4 bits_[kBatches][kBatchVectors];
  std::uint32_t first_;  // of the tile in registers, or of the next
  std::uint32_t end_;
  std::uint32_t tile_step_;
  std::uint32_t vector_step_;
  unsigned char* stage_;  // this thread's first vector
};

// The slots that are not whole, at most one at either end of the row. One warp calls it.
template <ValueType kType>
__device__ __forceinline__ void filter_edges(const RowSlots<kType>& slots,
                                             const KeyMap<kType>& key_map, Composite bound,
                                             const SurvivorSink& sink) {
  const std::uint32_t lane = threadIdx.x % kWarpThreads;
  const bool has_first = slots.first_whole() != 0;
  const bool has_last =
      slots.end_whole() < slots.num_slots() && !(has_first && slots.num_slots() == 1);
  if (!has_first && !has_last) return;
  const bool is_edge = (lane == 0 && has_first) || (lane == 1 && has_last);
  const std::uint32_t slot = lane == 0 ? 0 : slots.num_slots() - 1;
  const SlotComposites<kType> composites(key_map, is_edge ? slots.load(slot) : uint4{0, 0, 0, 0},
                                         slots.first_position(slot));
  const std::uint32_t hits =
      composites.in_range(is_edge ? slots.valid_items(slot) : 0u, bound, ~Composite{0});
  const std::uint64_t reserved = sink.reserve<4>(__popc(hits));
  std::uint32_t number = 0;
#pragma unroll
  for (int j = 0; j < SlotComposites<kType>::kItems; ++j) {
    if ((hits >> j & 1) != 0) sink.put(reserved, number++, composites.at(j));
  }
}

}  // namespace deepselect::cuda
