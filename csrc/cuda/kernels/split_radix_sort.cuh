// split_radix in order of value: the winners as pairs (sort key, position), and outputs from them
// once they are sorted. The sort is stable, so equal keys stay in order of position.
//
// Sort keys ascend from the best. Where rows are sorted one by one a key takes 32 bits; where all
// are sorted at once, its 64 bits begin with the row, and pads come behind the row's winners.
#pragma once

#include <cstdint>

#include "cuda/common/key_map.cuh"
#include "cuda/common/row_output.cuh"
#include "cuda/common/split_radix_part.cuh"
#include "cuda/ptx/launch_control.cuh"
#include "cuda/workspace/split_radix.h"

namespace deepselect::cuda {

// The pairs of one row, in one of the workspace's two sets.
class WinnerPairs {
 public:
  __device__ WinnerPairs(const SplitRadixShape& shape, const SplitRadixWorkspace& workspace,
                         std::uint32_t batch_row, int set = 0)
      : keys_(workspace.sort_keys[set]),
        positions_(workspace.sort_positions[set]),
        first_(std::uint64_t{batch_row} * shape.sort_winners),
        num_pairs_(shape.sort_winners),
        batch_row_(batch_row),
        is_wide_(shape.sorts_by_row == 0) {}

  template <ValueType kType>
  __device__ __forceinline__ void put(std::uint32_t place, std::uint32_t key,
                                      std::uint32_t position) const {
    const std::uint32_t sort_key = KeyMap<kType>::kMaxKey - key;
    if (is_wide_) {
      wide_keys()[first_ + place] = row_bits<kType>() | sort_key;
    } else {
      narrow_keys()[first_ + place] = sort_key;
    }
    positions_[first_ + place] = position;
  }

  // The pairs from `first_pad` on become pads. All threads of the CTA call it.
  template <int kThreads, ValueType kType>
  __device__ void pad(std::uint32_t first_pad) const {
    for (std::uint32_t i = first_pad + threadIdx.x; i < num_pairs_; i += kThreads) {
      if (is_wide_) {
        wide_keys()[first_ + i] = row_bits<kType>() | 1ull << KeyMap<kType>::kKeyBits;
      } else {
        narrow_keys()[first_ + i] = ~0u;
      }
      positions_[first_ + i] = 0;
    }
  }

  template <ValueType kType>
  __device__ __forceinline__ std::uint32_t key(std::uint32_t place) const {
    constexpr std::uint32_t kMaxKey = KeyMap<kType>::kMaxKey;
    const auto sort_key = is_wide_ ? static_cast<std::uint32_t>(wide_keys()[first_ + place])
                                   : narrow_keys()[first_ + place];
    return kMaxKey - (sort_key & kMaxKey);
  }
  __device__ __forceinline__ std::uint32_t position(std::uint32_t place) const {
    return positions_[first_ + place];
  }

 private:
  __device__ __forceinline__ unsigned long long* wide_keys() const {
    return static_cast<unsigned long long*>(keys_);
  }
  __device__ __forceinline__ std::uint32_t* narrow_keys() const {
    return static_cast<std::uint32_t*>(keys_);
  }
  template <ValueType kType>
  __device__ __forceinline__ unsigned long long row_bits() const {
    return static_cast<unsigned long long>(batch_row_) << (KeyMap<kType>::kKeyBits + 1);
  }

  void* keys_;
  std::uint32_t* positions_;
  std::uint64_t first_;
  std::uint32_t num_pairs_;
  std::uint32_t batch_row_;
  bool is_wide_;
};

// Sorted pairs to outputs. `sorted` tells which of the two sets the sort left them in.
template <ValueType kType, class Policy>
__global__ void __launch_bounds__(Policy::kThreads)
    split_radix_write_kernel(const __grid_constant__ TopkParams params, SplitRadixShape shape,
                             SplitRadixWorkspace workspace, std::int64_t first_row,
                             std::uint32_t sorted) {
  constexpr int kThreads = Policy::kThreads;
  ptx::wait_for_dependencies();
  const SplitRadixPart<kType> part(params, shape, first_row);
  const RowOutput<kType> output(params, part.view, part.row);
  const bool is_poisoned = workspace.rows[part.batch_row].is_poisoned != 0;
  if (part.part == 0) {
    if (is_poisoned) {
      output.template write_poison<kThreads>();
    } else {
      output.template write_pads<kThreads>(part.num_wanted);
    }
  }
  if (is_poisoned) return;
  const WinnerPairs pairs(shape, workspace, part.batch_row, static_cast<int>(sorted));
  const std::uint64_t step = std::uint64_t{shape.parts} * kThreads;
  for (std::uint64_t i = std::uint64_t{part.part} * kThreads + threadIdx.x; i < part.num_wanted;
       i += step) {
    const auto place = static_cast<std::uint32_t>(i);
    const std::uint32_t position = pairs.position(place);
    BitsOf<kType> bits = 0;
    if (output.wants_values() && !part.key_map.value_of(pairs.template key<kType>(place), &bits)) {
      bits = part.slots.item(position);
    }
    output.write(place, position, bits);
  }
}

}  // namespace deepselect::cuda
