// row_registers: one CTA per row, the row in registers, read once. For short rows.
//
//   1. load     each thread takes neighbouring 16-byte slots, as keys
//   2. rounds   a histogram of one byte of the key, the highest first, over the elements that share
//               the bytes found so far; every warp finds the bin of the k-th best by itself. Ends
//               when the whole bin is wanted, at the latest after the lowest byte: then the
//               threshold's group of equal keys is known, and how many of it are wanted
//   3. winners  a prefix sum over the threads gives each element its place in order of position, so
//               the wanted ones of the threshold's group are those of lowest position
//   4. output   from shared memory, sorted first where the order asks for it
//
// Two barriers per round, one for the prefix sum, one for the winners. Histograms of hot bins are
// fine: same-address additions of a warp are merged by the hardware (count_shared).
//
// Limits: the window fits into the policy's registers.
#pragma once

#include <cstdint>

#include "cuda/common/block.cuh"
#include "cuda/common/composite.h"
#include "cuda/common/finish.cuh"
#include "cuda/common/key_map.cuh"
#include "cuda/common/row_output.cuh"
#include "cuda/common/row_slots.cuh"
#include "cuda/smem/row_registers.h"
#include "cuda/tuning/row_registers.h"
#include "deepselect/row_view.h"

namespace deepselect::cuda {

// The keys that are selected: all above `last_group_key`; of those from `first_group_key` to it the
// `num_of_group` of lowest position.
struct KeySelection {
  std::uint32_t first_group_key;
  std::uint32_t last_group_key;
  std::uint32_t num_of_group;
};

namespace detail {

struct PivotByte {
  std::uint32_t byte;
  std::uint32_t above;  // elements in better bins
  std::uint32_t count;  // elements in the bin
};

// The bin that holds the element of rank `rank` (0 is the best) in 256 complete bins by ascending
// byte. Every warp does it for itself.
__device__ __forceinline__ PivotByte find_pivot_byte(const std::uint32_t* bins,
                                                     std::uint32_t rank) {
  constexpr int kBinsPerLane = RowRegistersSmem::kNumBins / kWarpThreads;
  const std::uint32_t lane = threadIdx.x % kWarpThreads;
  // Lane 0 has the best bins.
  const std::uint32_t first = RowRegistersSmem::kNumBins - kBinsPerLane * (lane + 1);
  const auto* quads = reinterpret_cast<const uint4*>(bins + first);
  const uint4 low = quads[0];
  const uint4 high = quads[1];
  const std::uint32_t counts[kBinsPerLane] = {high.w, high.z, high.y, high.x,
                                              low.w,  low.z,  low.y,  low.x};
  std::uint32_t sum = 0;
#pragma unroll
  for (int i = 0; i < kBinsPerLane; ++i) sum += counts[i];
  std::uint32_t above = warp_prefix(sum).before;
  const bool is_mine = above <= rank && rank - above < sum;
  PivotByte pivot{0, 0, 0};
#pragma unroll
  for (int i = 0; i < kBinsPerLane; ++i) {
    if (is_mine && above <= rank && rank - above < counts[i]) {
      pivot = {first + kBinsPerLane - 1 - i, above, counts[i]};
    }
    above += counts[i];
  }
  const int owner = __ffs(static_cast<int>(__ballot_sync(kAllLanes, is_mine))) - 1;
  return {__shfl_sync(kAllLanes, pivot.byte, owner), __shfl_sync(kAllLanes, pivot.above, owner),
          __shfl_sync(kAllLanes, pivot.count, owner)};
}

}  // namespace detail

// A row's keys in the registers of a CTA: each thread's slots are neighbours.
template <ValueType kType, class Policy>
class RegisterRow {
 public:
  static constexpr int kVectors = Policy::kVectors;
  static constexpr int kItems = KeyMap<kType>::kItemsPerVector;
  static constexpr int kKeyBits = KeyMap<kType>::kKeyBits;

  __device__ __forceinline__ RegisterRow(const RowSlots<kType>& slots, const KeyMap<kType>& key_map)
      : valid_(0) {
    const std::uint32_t first_slot = threadIdx.x * kVectors;
    first_position_ = slots.first_position(first_slot);
    uint4 bits[kVectors];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const bool inside = first_slot + v < slots.num_slots();
      bits[v] = inside ? slots.load(first_slot + v) : uint4{0, 0, 0, 0};
      if (inside) valid_ |= slots.valid_items(first_slot + v) << (v * kItems);
    }
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      keys_[v][0] = key_map.word_keys(bits[v].x);
      keys_[v][1] = key_map.word_keys(bits[v].y);
      keys_[v][2] = key_map.word_keys(bits[v].z);
      keys_[v][3] = key_map.word_keys(bits[v].w);
    }
  }

  // Calls `body(key, position)` for each element of this thread, in order of position.
  template <class Body>
  __device__ __forceinline__ void for_each(Body&& body) const {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
#pragma unroll
      for (int i = 0; i < kItems; ++i) {
        if ((valid_ >> (v * kItems + i) & 1) != 0) {
          body(item_key<kType>(keys_[v], i), first_position_ + v * kItems + i);
        }
      }
    }
  }

  // The keys of the `num_wanted` best, 1 <= num_wanted < elements of the row. All threads of the
  // CTA call it; the bins are empty, a barrier before.
  __device__ __forceinline__ KeySelection select(std::uint32_t num_wanted,
                                                 RowRegistersSmem& smem) const {
    std::uint32_t prefix = 0;  // the bytes found so far
    std::uint32_t num_left = num_wanted;
#pragma unroll
    for (int round = 0; round < kKeyBits / 8; ++round) {
      const int shift = kKeyBits - 8 * (round + 1);
      std::uint32_t* bins = smem.bins[round];
      for_each([&](std::uint32_t key, std::uint32_t) {
        if (round == 0 || key >> (shift + 8) == prefix) count_shared(&bins[key >> shift & 0xFF]);
      });
      __syncthreads();
      const detail::PivotByte pivot = detail::find_pivot_byte(bins, num_left - 1);
      prefix = prefix << 8 | pivot.byte;
      num_left -= pivot.above;
      if (num_left == pivot.count || shift == 0) {
        const std::uint32_t first = prefix << shift;
        return {first, first | ((1u << shift) - 1), num_left};
      }
    }
    return {};  // not reached: the last round returns
  }

  // Hands the selected elements to `emit(place, key, position)`, places in order of position. All
  // threads of the CTA call it; `warp_totals` is one word per warp.
  template <class Emit>
  __device__ __forceinline__ void emit_selected(const KeySelection& selection,
                                                std::uint32_t* warp_totals, Emit&& emit) const {
    // Elements above the group in the low half, those of it in the high half: at most 2^15 each.
    std::uint32_t counts = 0;
    for_each([&](std::uint32_t key, std::uint32_t) {
      counts += key > selection.last_group_key ? 1u : 0u;
      counts += key >= selection.first_group_key && key <= selection.last_group_key ? 1u << 16 : 0u;
    });
    const std::uint32_t before = block_prefix<Policy::kThreads>(counts, warp_totals).before;
    std::uint32_t num_above = before & 0xFFFF;
    std::uint32_t num_of_group = before >> 16;
    for_each([&](std::uint32_t key, std::uint32_t position) {
      if (key < selection.first_group_key) return;
      const std::uint32_t place = num_above + min(num_of_group, selection.num_of_group);
      if (key > selection.last_group_key) {
        ++num_above;
      } else if (num_of_group++ >= selection.num_of_group) {
        return;
      }
      emit(place, key, position);
    });
  }

 private:
  static_assert(kVectors * kItems <= 32, "one word of valid bits");
  static_assert(Policy::kMaxSlots * kItems <= 1 << 15, "counts of half a word");

  std::uint32_t keys_[kVectors][4];
  std::uint32_t valid_;  // bit per item
  std::uint32_t first_position_;
};

template <ValueType kType, class Policy>
__global__ void __launch_bounds__(Policy::kThreads)
    row_registers_kernel(const __grid_constant__ TopkParams params) {
  constexpr int kThreads = Policy::kThreads;
  extern __shared__ __align__(16) unsigned char dynamic_smem[];
  auto& smem = *reinterpret_cast<RowRegistersSmem*>(dynamic_smem);
  auto* winners = reinterpret_cast<Composite*>(dynamic_smem + sizeof(RowRegistersSmem));

  const std::int64_t row = blockIdx.x;
  const RowView view = row_view(params, row);
  const KeyMap<kType> key_map(params);
  const RowSlots<kType> slots(params, view, row);
  const RowOutput<kType> output(params, view, row);
  const std::uint32_t num_items = slots.num_items();
  const auto num_wanted =
      static_cast<std::uint32_t>(params.k < num_items ? params.k : std::int64_t{num_items});
  if (num_wanted == 0) {
    output.template write_pads<kThreads>(0);
    return;
  }
  const RegisterRow<kType, Policy> register_row(slots, key_map);
  KeySelection selection{0, KeyMap<kType>::kMaxKey, num_items};
  if (num_wanted < num_items) {
    auto* quads = reinterpret_cast<uint4*>(smem.bins);
    constexpr int kQuads = KeyMap<kType>::kKeyBits / 8 * RowRegistersSmem::kNumBins / 4;
    for (int i = threadIdx.x; i < kQuads; i += kThreads) quads[i] = {0, 0, 0, 0};
    __syncthreads();
    selection = register_row.select(num_wanted, smem);
  }
  register_row.emit_selected(selection, smem.warp_totals,
                             [&](std::uint32_t place, std::uint32_t key, std::uint32_t position) {
                               winners[place] = composite_key(key, position);
                             });
  __syncthreads();
  if (params.order == Order::kValue) sort_winners<kThreads>(params.order, winners, num_wanted);
  write_winners<kThreads>(params, key_map, slots, output, winners, num_wanted);
}

}  // namespace deepselect::cuda
