// The slots of a row that come to one thread of row_registers: neighbouring ones, as many as the
// policy has vectors a thread.
#pragma once

#include <cstdint>

#include "cuda/common/key_map.cuh"
#include "cuda/common/row_slots.cuh"
#include "cuda/common/row_team.cuh"
#include "cuda/ptx/bulk_load.cuh"
#include "cuda/ptx/mbarrier.cuh"
#include "cuda/smem/row_registers.h"

namespace deepselect::cuda {

// How a row comes into the registers.
enum class RowLoad {
  kStaged,  // whole slots by way of shared memory
  kWhole,   // most threads have whole slots alone
  kWindow,  // from anywhere to anywhere: threads may have nothing
};

template <ValueType kType, class Policy, RowLoad kLoad>
class RegisterSlots {
 protected:
  using Team = RowTeam<Policy::kThreads, Policy::kTeams>;
  using Smem = RowRegistersSmemOf<Policy>;
  static constexpr int kVectors = Policy::kVectors;
  static constexpr int kItems = KeyMap<kType>::kItemsPerVector;
  static constexpr int kThreadItems = kVectors * kItems;
  static constexpr std::uint32_t kAllItems =
      kThreadItems == 32 ? ~0u : (1u << (kThreadItems % 32)) - 1;

  // Takes the thread's slots to `bits`, zero where an item lies outside the row.
  __device__ __forceinline__ void load(const RowSlots<kType>& slots, Smem& smem, uint4* stage,
                                       uint4 (&bits)[kVectors]) {
    const std::uint32_t first_slot = Team::rank() * kVectors;
    if constexpr (kLoad == RowLoad::kStaged) load_stage(slots, smem, stage);
    first_position_ = slots.first_position(first_slot);
    valid_ = kAllItems;
    if (kLoad != RowLoad::kWindow && first_slot >= slots.first_whole() &&
        first_slot + kVectors <= slots.end_whole()) {
      const uint4* source = slots.whole_slots() + first_slot;
      if constexpr (kLoad == RowLoad::kStaged) {
        ptx::mbarrier_wait_first(&smem.stage_barriers[Team::warp()]);
#pragma unroll
        for (std::uint32_t v = 0; v < kVectors; ++v) {
          bits[v] = stage[first_slot + (v + rotation()) % kVectors];
        }
      } else {
#pragma unroll
        for (int v = 0; v < kVectors; ++v) bits[v] = source[v];
      }
    } else {
      load_part(slots, first_slot, bits);
    }
  }

  // Of whole rows not asked, unless with a vector a thread: most of their threads have some.
  __device__ __forceinline__ bool may_have_items() const {
    return (kLoad != RowLoad::kWindow && kVectors > 1) || valid_ != 0;
  }

  // Bits of items as the vectors were taken, in order of position.
  __device__ static std::uint32_t in_order(std::uint32_t mask) {
    const std::uint32_t places = rotation() * kItems;
    if constexpr (kThreadItems == 32) {
      return __funnelshift_l(mask, mask, places);
    } else {
      return (mask << places | mask >> (kThreadItems - places)) & kAllItems;
    }
  }

  std::uint32_t valid_;  // bit per item
  std::uint32_t first_position_;

 private:
  // A thread's vectors out of the stage are taken in an order that starts elsewhere for every other
  // thread, so that eight neighbours meet eight different groups of banks.
  __device__ static std::uint32_t rotation() { return threadIdx.x / 2 % kVectors; }

  // Starts the copy of the slots of this warp's threads that are wholly inside the row, one of
  // which at least waits for it: it must not outlive the CTA.
  __device__ __forceinline__ static void load_stage(const RowSlots<kType>& slots, Smem& smem,
                                                    uint4* stage) {
    if (Team::lane() == 0) {
      constexpr std::uint32_t kMaxSlots = Team::kLanes * kVectors;
      const std::uint32_t first = Team::warp() * kMaxSlots;
      std::uint64_t* barrier = &smem.stage_barriers[Team::warp()];
      ptx::mbarrier_init(barrier, 1);
      ptx::fence_mbarrier_init();  // for the copy engine
      if (first + kVectors <= slots.end_whole()) {
        const std::uint32_t num_slots =
            min((slots.end_whole() - first) / kVectors * kVectors, kMaxSlots);
        ptx::mbarrier_expect(barrier, 16 * num_slots);
        ptx::load_bulk(stage + first, slots.whole_slots() + first, 16 * num_slots, barrier);
      }
    }
    __syncwarp(Team::lanes());
  }

  // The slots of a thread that may have others than whole ones.
  __device__ __forceinline__ void load_part(const RowSlots<kType>& slots, std::uint32_t first_slot,
                                            uint4 (&bits)[kVectors]) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const std::uint32_t slot = first_slot + v;
      const bool is_whole = slot >= slots.first_whole() && slot < slots.end_whole();
      bits[v] = is_whole ? slots.whole_slots()[slot] : uint4{0, 0, 0, 0};
    }
    // One slot at either end, while the whole ones are under way.
    if (kLoad == RowLoad::kWindow && first_slot == 0 && slots.first_whole() != 0) {
      bits[0] = slots.load(0);
    }
    const std::uint32_t end_edge = slots.end_whole() - first_slot;
    if (end_edge < kVectors && slots.end_whole() < slots.num_slots()) {
      const uint4 edge = slots.load(slots.end_whole());
#pragma unroll
      for (std::uint32_t v = 0; v < kVectors; ++v) {
        if (v == end_edge) bits[v] = edge;
      }
    }

    const int num_left = static_cast<int>(slots.num_items() - first_position_);
    valid_ = num_left <= 0 ? 0u : (num_left >= kThreadItems ? kAllItems : (1u << num_left) - 1);
    if (kLoad == RowLoad::kWindow && first_slot == 0) valid_ &= kAllItems << (0u - first_position_);
  }
};

}  // namespace deepselect::cuda
