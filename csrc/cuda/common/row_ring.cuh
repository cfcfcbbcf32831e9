// A row's whole slots, streamed through a ring of tiles in shared memory. Each thread copies and
// reads slots of its own, so there is no barrier; copies of kStages - 1 tiles are on their way
// while a tile is dealt with, and none of them holds a register. Items of a tile can be read again
// at shared memory's latency: a load from L1 would wait for all earlier loads that miss.
#pragma once

#include <cstdint>

#include "cuda/common/hit_mask.cuh"
#include "cuda/common/key_map.cuh"
#include "cuda/common/row_slots.cuh"
#include "cuda/ptx/async_copy.cuh"
#include "cuda/ptx/shared_memory.cuh"

namespace deepselect::cuda {

template <int kThreadsValue, int kVectors, int kStages, ValueType kType>
class RowRing {
 public:
  using Bits = BitsOf<kType>;
  using Hits = HitMask<kType>;
  static constexpr int kThreads = kThreadsValue;
  static constexpr std::int32_t kTileSlots = kThreads * kVectors;
  static constexpr std::uint32_t kBytes = kTileSlots * kStages * 16;
  static_assert(kVectors <= Hits::kMaxVectors, "a mask is one word");

  // `buffer` is kBytes of shared memory, aligned to 16.
  __device__ explicit RowRing(void* buffer)
      : lane_(static_cast<unsigned char*>(buffer) + threadIdx.x * 16),
        target_(ptx::opaque_shared_address(lane_)) {}

  // Puts the row's first tiles on their way. No copy of an earlier start() may be pending.
  __device__ __forceinline__ void start(const RowSlots<kType>& slots) {
    source_ = slots.whole_slots() + slots.first_whole() + threadIdx.x;
    num_left_ = static_cast<std::int32_t>(slots.end_whole() - slots.first_whole());
    stage_ = 0;
#pragma unroll
    for (int stage = 0; stage < kStages; ++stage) {
      fetch(stage * kStageBytes, num_left_ - stage * kTileSlots);
    }
  }

  // Whether the current tile is behind the row.
  __device__ __forceinline__ bool is_done() const { return num_left_ <= 0; }

  // Waits for the current tile; tells which of its items reach a threshold. kIsNegated is
  // KeyMap::is_negated(): if not, words are compared as they are.
  template <bool kIsNegated>
  __device__ __forceinline__ Hits hits(const KeyMap<kType>& key_map,
                                       const KeyThreshold<kType>& threshold) const {
    ptx::wait_copies<kStages - 1>();
    Hits hits;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const uint4 bits = *reinterpret_cast<const uint4*>(lane_ + stage_ + v * kThreads * 16);
      if constexpr (kIsNegated) {
        hits.add(key_map, threshold, bits, v);
      } else {
        hits.template add_raw<false>(threshold, bits, v);
      }
    }
    hits.finish(threshold);
#pragma unroll
    for (int v = kVectors; v < Hits::kMaxVectors; ++v) hits.drop(v);
    if (num_left_ < kTileSlots) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        if (v * kThreads + static_cast<std::int32_t>(threadIdx.x) >= num_left_) hits.drop(v);
      }
    }
    return hits;
  }

  // The item at a distance, in items, from the thread's first of the tile: HitMask::pop_offset().
  __device__ __forceinline__ Bits item(std::uint32_t offset) const {
    return *reinterpret_cast<const Bits*>(lane_ + stage_ + offset * sizeof(Bits));
  }

  // Goes on to the next tile; the current one's place is filled anew.
  __device__ __forceinline__ void advance() {
    fetch(stage_, num_left_ - kStages * kTileSlots);
    num_left_ -= kTileSlots;
    stage_ = stage_ == (kStages - 1) * kStageBytes ? 0 : stage_ + kStageBytes;
  }

 private:
  static constexpr std::uint32_t kStageBytes = kTileSlots * 16;

  // Copies the tile at source_, of which `num_left` slots or more are left in the row, as a group.
  __device__ __forceinline__ void fetch(std::uint32_t stage, std::int32_t num_left) {
    if (num_left >= kTileSlots) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        ptx::copy_async_16(target_ + stage + v * kThreads * 16, source_ + v * kThreads);
      }
    } else {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        if (v * kThreads + static_cast<std::int32_t>(threadIdx.x) < num_left) {
          ptx::copy_async_16(target_ + stage + v * kThreads * 16, source_ + v * kThreads);
        }
      }
    }
    ptx::commit_copies();
    source_ += kTileSlots;
  }

  const unsigned char* lane_;  // this thread's first slot of the first stage
  std::uint32_t target_;       // ditto, as an address of shared memory
  const uint4* source_;        // this thread's first slot of the tile to be fetched next
  std::int32_t num_left_;      // slots of the row from the current tile's first on
  std::uint32_t stage_;        // the current tile's place in the ring, in bytes
};

}  // namespace deepselect::cuda
