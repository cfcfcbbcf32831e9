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
// and each item takes the one of its side: so the masks are exact, and rows full of one value are
// passed over as fast as any other.
//
// Most tiles are plain: whole, followed by a whole one, and on one side of the position. They pay
// one comparison of their place for that; thresholds are made and ends are minded behind it.
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
#include "cuda/common/row_filter.cuh"
#include "cuda/common/row_parts.h"
#include "cuda/common/row_slots.cuh"
#include "cuda/common/slot_composites.cuh"
#include "cuda/ptx/arithmetic.cuh"
#include "cuda/ptx/prefetch.cuh"
#include "cuda/ptx/streaming_load.cuh"

namespace deepselect::cuda {

// Where a CTA's survivors go. The list's counter is in shared memory.
struct SurvivorSink {
  // All lanes of a warp call reserve().
  static constexpr bool kReservesByWarp = true;
  struct Places {
    std::uint32_t next;    // in the list
    std::uint32_t beyond;  // what makes a place in the buffer of one behind the list's end
  };

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

  // Places for `count` survivors of this lane (below 2^kBits), for put_all().
  template <int kBits>
  __device__ __forceinline__ Places reserve(std::uint32_t count) const {
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
    return {place, __shfl_sync(kAllLanes, beyond, 0)};
  }

  // Calls `body(put)`, which calls `put(composite)` for each of them.
  template <class Body>
  __device__ __forceinline__ void put_all(Places places, Body&& body) const {
    body([&](Composite composite) {
      const std::uint32_t place = places.next++;
      if (place < staged_capacity) {
        staged[place] = composite;
      } else {
        const std::uint32_t beyond = place + places.beyond;
        if (beyond < buffer_capacity) buffer[beyond] = composite;
      }
    });
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
// out in layers instead, a vector of every thread each: a part has one tile of some neighbouring
// ones.
template <int kThreads, int kBatches, bool kStagesHits, ValueType kType>
class PartTiles {
 public:
  static constexpr int kBatchVectors = HitMask<kType>::kMaxVectors;
  static constexpr std::uint32_t kSlots = kThreads * kBatches * kBatchVectors;
  static constexpr std::uint32_t kStageBytes = kStagesHits ? kSlots * 16 : 0;

  // `stage` is kStageBytes of shared memory, aligned to 16.
  __device__ __forceinline__ PartTiles(const RowSlots<kType>& slots, const RowPart& part,
                                       void* stage)
      : first_(slots.first_whole()),
        end_(slots.end_whole()),
        tile_step_(part.num_parts * kSlots),
        stage_(static_cast<unsigned char*>(stage) + threadIdx.x * 16) {
    const std::uint32_t num_slots = max(end_, first_) - first_;
    if (part.num_parts == 1 || num_slots > tile_step_) {
      first_ += part.index * kSlots;
    } else {
      const std::uint32_t num_layers = (num_slots + kThreads - 1) / kThreads;
      end_ = min(end_, first_ + (part.index + 1) * num_layers / part.num_parts * kThreads);
      first_ += part.index * num_layers / part.num_parts * kThreads;
    }
  }

  // The first tile into registers: its first batch, and the others. Once, before filter().
  __device__ __forceinline__ void load_first(const RowSlots<kType>& slots) {
    load(slots, first_, 0);
  }
  __device__ __forceinline__ void load_rest(const RowSlots<kType>& slots) {
#pragma unroll
    for (int batch = 1; batch < kBatches; ++batch) load(slots, first_, batch);
  }

  // Ask for the first tile to be brought into L2, and for the beginning of the second. One thread
  // calls them.
  __device__ __forceinline__ void prefetch_first(const RowSlots<kType>& slots) const {
    if (!has_tile()) return;
    ptx::prefetch_l2(slots.whole_slots() + first_, min(end_ - first_, kSlots) * 16);
  }
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
    using Threshold = RawThreshold<kType, kIsNegated>;
    bool takes_equals = begins_before(slots, bound);
    Threshold threshold(threshold_of(key_map, bound, takes_equals));
    std::uint32_t plain_end = end_of_plain(slots, bound);
    for (;;) {
      const bool is_plain = first_ < plain_end;
      HitMask<kType> hits[kBatches];
#pragma unroll
      for (int batch = 0; batch < kBatches; ++batch) {
        hits[batch] = batch_hits(threshold, batch);
        // What is not plain may stage vectors in vain.
        if constexpr (kStagesHits) stage(batch, hits[batch]);
        if (is_plain) {
          load_next_whole(slots, batch);
        } else {
          if (takes_equals && !ends_before(slots, bound)) {
            const Threshold behind(threshold_of(key_map, bound, false));
            separate(slots, bound, batch_hits(behind, batch), batch, &hits[batch]);
          }
          drop_behind_end(batch, &hits[batch]);
          load(slots, first_ + tile_step_, batch);
        }
      }
      append(slots, key_map, sink, hits);
      first_ += tile_step_;
      if (is_plain) continue;
      if (!has_tile()) return;
      takes_equals = begins_before(slots, bound);
      threshold = Threshold(threshold_of(key_map, bound, takes_equals));
      plain_end = end_of_plain(slots, bound);
    }
  }

  __device__ __forceinline__ bool has_tile() const { return first_ < end_; }
  __device__ __forceinline__ static std::uint32_t slot_of(std::uint32_t first,
                                                          std::uint32_t vector) {
    return first + vector * kThreads + threadIdx.x;
  }

  // Whether the tile in registers has an item that is not behind the bound's position.
  __device__ __forceinline__ bool begins_before(const RowSlots<kType>& slots,
                                                Composite bound) const {
    return slots.first_position(first_) <= position_of(bound);
  }
  // Whether it has none that is.
  __device__ __forceinline__ bool ends_before(const RowSlots<kType>& slots, Composite bound) const {
    return slots.first_position(first_ + kSlots) - 1 <= position_of(bound);
  }

  // Of what is on one side of the position. Made where it is used: kept through the loop, one that
  // is not in use would take registers that the loads need.
  __device__ __forceinline__ static KeyThreshold<kType> threshold_of(const KeyMap<kType>& key_map,
                                                                     Composite bound,
                                                                     bool takes_equals) {
    return {key_map, std::uint64_t{ptx::made_here(key_of(bound))} + (takes_equals ? 0 : 1)};
  }
  // Tiles that begin before this are plain, from the tile in registers on.
  __device__ __forceinline__ std::uint32_t end_of_plain(const RowSlots<kType>& slots,
                                                        Composite bound) const {
    // Where the last of them may end at most, so that the next is whole.
    std::uint32_t end = max(end_, tile_step_) - tile_step_;
    if (begins_before(slots, bound)) {
      end = min(end, slots.num_ending_by(ptx::made_here(position_of(bound))));
    }
    // A uniform register: the compiler does not know that the bound is the same in all lanes.
    return __reduce_max_sync(kAllLanes, max(end, kSlots - 1) - (kSlots - 1));
  }

  __device__ __forceinline__ void load_next_whole(const RowSlots<kType>& slots, int batch) {
    const uint4* source = slots.whole_slots() + slot_of(first_, 0) + tile_step_;
#pragma unroll
    for (int v = 0; v < kBatchVectors; ++v) {
      bits_[batch][v] = ptx::load_streaming(source + (batch * kBatchVectors + v) * kThreads);
    }
  }
  // What there is of the tile from `first` on.
  __device__ __forceinline__ void load(const RowSlots<kType>& slots, std::uint32_t first,
                                       int batch) {
    // Hidden, or the compiler keeps a counter for each of these rare addresses.
    const uint4* source = ptx::opaque_global(slots.whole_slots() + slot_of(first, 0));
#pragma unroll
    for (int v = 0; v < kBatchVectors; ++v) {
      const int vector = batch * kBatchVectors + v;
      if (slot_of(first, vector) < end_) {
        bits_[batch][v] = ptx::load_streaming(source + vector * kThreads);
      }
    }
  }

  // As if all items were on one side of the bound's position.
  template <bool kIsNegated>
  __device__ __forceinline__ HitMask<kType> batch_hits(
      const RawThreshold<kType, kIsNegated>& threshold, int batch) const {
    HitMask<kType> hits(threshold);
#pragma unroll
    for (int v = 0; v < kBatchVectors; ++v) hits.add_raw(threshold, bits_[batch][v], v);
    return hits;
  }

  // Of `hits`, which take what equals the bound's key, keeps what is before the bound's position;
  // the others are those of `behind`.
  __device__ __forceinline__ void separate(const RowSlots<kType>& slots, Composite bound,
                                           const HitMask<kType>& behind, int batch,
                                           HitMask<kType>* hits) const {
#pragma unroll
    for (int v = 0; v < kBatchVectors; ++v) {
      const std::uint32_t position =
          slots.first_position(slot_of(first_, batch * kBatchVectors + v));
      const auto num_before = static_cast<std::int32_t>(position_of(bound) + 1 - position);
      hits->replace_behind(v, static_cast<std::uint32_t>(min(max(num_before, 0), kItems)), behind);
    }
  }

  __device__ __forceinline__ void drop_behind_end(int batch, HitMask<kType>* hits) const {
    if (first_ + kSlots <= end_) return;
#pragma unroll
    for (int v = 0; v < kBatchVectors; ++v) {
      if (slot_of(first_, batch * kBatchVectors + v) >= end_) hits->drop(v);
    }
  }

  // This thread's place in the stage for its first vector of a batch. A stage is laid out as its
  // tile is.
  __device__ __forceinline__ unsigned char* staged(int batch) const {
    return stage_ + batch * (kBatchVectors * kThreads * 16);
  }
  __device__ __forceinline__ void stage(int batch, const HitMask<kType>& hits) const {
#pragma unroll
    for (int v = 0; v < kBatchVectors; ++v) {
      if (hits.any(v)) {
        *reinterpret_cast<uint4*>(staged(batch) + v * (kThreads * 16)) = bits_[batch][v];
      }
    }
  }

  template <class Sink>
  __device__ __forceinline__ void append(const RowSlots<kType>& slots, const KeyMap<kType>& key_map,
                                         const Sink& sink, HitMask<kType> (&hits)[kBatches]) const {
    std::uint32_t count = 0;
#pragma unroll
    for (int batch = 0; batch < kBatches; ++batch) count += hits[batch].count();
    if constexpr (Sink::kReservesByWarp) {
      if (!__any_sync(kAllLanes, count != 0)) return;
    } else {
      if (count == 0) return;
    }
    const auto places = sink.template reserve<log2_above(kBatches * kBatchVectors * kItems)>(count);
    // Read again from far, hits of a lane come one after the other.
    const bool is_dense = !kStagesHits && __any_sync(kAllLanes, count > kSparseHits);
    sink.put_all(places, [&](auto&& put) {
#pragma unroll
      for (int batch = 0; batch < kBatches; ++batch) {
        if (is_dense) {
#pragma unroll 1
          for (std::uint32_t v = 0; v < kBatchVectors; ++v) {
            put_slot(
                slots, key_map, slot_of(first_, batch * kBatchVectors + v),
                [&](std::uint32_t item) { return hits[batch].has(v, item); }, put);
          }
          continue;
        }
        put_hits(slots, key_map, batch, hits[batch], put);
      }
    });
  }

  template <class Put>
  __device__ __forceinline__ void put_hits(const RowSlots<kType>& slots,
                                           const KeyMap<kType>& key_map, int batch,
                                           HitMask<kType> hits, Put&& put) const {
    const std::uint32_t position = slots.first_position(slot_of(first_, batch * kBatchVectors));
#pragma unroll 1
    while (hits.any()) {
      // In the row as in the stage.
      const std::uint32_t offset = hits.template pop_offset<kThreads>();
      BitsOf<kType> bits;
      if constexpr (kStagesHits) {
        bits = reinterpret_cast<const BitsOf<kType>*>(staged(batch))[offset];
      } else {
        bits = slots.item(position + offset);
      }
      put(composite_at(key_map.key_in_loop(bits), position, offset));
    }
  }

  // Where hits are many, as in a row in order: a slot's at once.
  template <class IsHit, class Put>
  __device__ __forceinline__ static void put_slot(const RowSlots<kType>& slots,
                                                  const KeyMap<kType>& key_map, std::uint32_t slot,
                                                  IsHit&& is_hit, Put&& put) {
    const uint4 bits = slot < slots.end_whole() ? slots.whole_slots()[slot] : uint4{0, 0, 0, 0};
    const SlotComposites<kType> composites(key_map, bits, slots.first_position(slot));
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      if (is_hit(item)) put(composites.at(item));
    }
  }

  uint4 bits_[kBatches][kBatchVectors];
  std::uint32_t first_;  // of the tile in registers, or of the next
  std::uint32_t end_;
  std::uint32_t tile_step_;
  unsigned char* stage_;  // this thread's first vector
};

// The slots that are not whole, at most one at either end of the row. The CTA's first warp calls
// it; `sink` as in PartTiles::filter().
template <ValueType kType, class Sink>
__device__ __forceinline__ void filter_edges(const RowSlots<kType>& slots,
                                             const KeyMap<kType>& key_map, Composite bound,
                                             const Sink& sink) {
  if (!slots.has_edges()) return;
  const std::uint32_t position = edge_position(slots, ptx::made_here(threadIdx.x));
  Composite composite = kNoComposite;
  if (position != kNoPosition) {
    composite = composite_key(key_map.key(slots.item(position)), position);
  }
  const bool is_hit = composite != kNoComposite && composite >= bound;
  const auto places = sink.template reserve<1>(is_hit ? 1u : 0u);
  if (is_hit) sink.put_all(places, [&](auto&& put) { put(composite); });
}

}  // namespace deepselect::cuda
