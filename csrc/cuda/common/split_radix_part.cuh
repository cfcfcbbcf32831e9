// What a CTA of the split_radix kernels works on: a part of a row.
#pragma once

#include <cstdint>

#include "cuda/common/key_map.cuh"
#include "cuda/common/row_slots.cuh"
#include "cuda/common/slot_composites.cuh"
#include "cuda/ptx/prefetch.cuh"
#include "cuda/smem/split_radix.h"
#include "cuda/workspace/split_radix.h"
#include "deepselect/row_view.h"

namespace deepselect::cuda {

template <ValueType kType>
struct SplitRadixPart {
  __device__ SplitRadixPart(const TopkParams& params, const SplitRadixShape& shape,
                            std::int64_t first_row)
      : batch_row(blockIdx.x / shape.parts),
        part(blockIdx.x % shape.parts),
        num_parts(shape.parts),
        row(first_row + batch_row),
        view(row_view(params, row)),
        key_map(params),
        slots(params, view, row),
        num_wanted(num_wanted_of(params, slots.num_items())),
        begin(first_slot_of(part)),
        end(first_slot_of(part + 1)) {}

  // Asks for the part's beginning. One thread calls it.
  __device__ void prefetch(std::uint32_t num_bytes) const {
    const std::uint32_t first = max(begin, slots.first_whole());
    const std::uint32_t last = min(end, slots.end_whole());
    if (first < last) {
      ptx::prefetch_l2(slots.whole_slots() + first, min((last - first) * 16, num_bytes));
    }
  }

  // The part that an element belongs to.
  __device__ std::uint32_t part_of(std::uint32_t position) const {
    const std::uint64_t slot = slots.slot_of(position);
    return static_cast<std::uint32_t>(((slot + 1) * num_parts - 1) / slots.num_slots());
  }

  std::uint32_t batch_row;
  std::uint32_t part;
  std::uint32_t num_parts;
  std::int64_t row;
  RowView view;
  KeyMap<kType> key_map;
  RowSlots<kType> slots;
  std::uint32_t num_wanted;
  std::uint32_t begin;  // slots of this part
  std::uint32_t end;

 private:
  __device__ std::uint32_t first_slot_of(std::uint64_t index) const {
    return static_cast<std::uint32_t>(index * slots.num_slots() / num_parts);
  }
};

// Whether this CTA's part is the last of its row to arrive, once in each kernel. What the parts
// wrote before is visible then. All threads of the CTA call it.
template <class Smem>
__device__ __forceinline__ bool arrives_last(std::uint32_t num_parts, SplitRadixRow& state,
                                             Smem& smem) {
  // The fences pair with those of the other parts.
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    smem.is_last = atomicAdd(&state.num_arrived, 1u) == num_parts - 1;
    if (smem.is_last != 0) state.num_arrived = 0;
  }
  __syncthreads();
  if (smem.is_last == 0) return false;
  __threadfence();
  return true;
}

}  // namespace deepselect::cuda
