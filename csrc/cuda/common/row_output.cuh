// The output side of one row: the index map in 64 bits, the values' exact bits, pads, poison.
// Threads write neighbouring places, so stores coalesce whatever the order of the winners was; no
// store leaves the row's k places.
#pragma once

#include <cstdint>

#include "cuda/common/composite.h"
#include "cuda/common/key_map.cuh"
#include "cuda/common/row_slots.cuh"
#include "deepselect/contract.h"
#include "deepselect/row_view.h"

namespace deepselect::cuda {

template <ValueType kType>
class RowOutput {
 public:
  using Bits = BitsOf<kType>;

  __device__ RowOutput(const TopkParams& params, const RowView& view, std::int64_t row)
      : params_(params), view_(view) {
    const bool is_int64 = params.index_type == IndexType::kInt64;
    indices_ = static_cast<char*>(params.indices) +
               row * params.indices_row_stride_items * (is_int64 ? 8 : 4);
    values_ = params.values == nullptr
                  ? nullptr
                  : static_cast<Bits*>(params.values) + row * params.values_row_stride_items;
    raw_indices_ = params.raw_indices == nullptr
                       ? nullptr
                       : params.raw_indices + row * params.raw_indices_row_stride_items;
  }

  __device__ bool wants_values() const { return values_ != nullptr; }

  // The selected element at `position` of the window, into place `place`.
  __device__ __forceinline__ void write(std::int64_t place, std::uint32_t position,
                                        Bits bits) const {
    write_index(place, view_.index_of(position));
    if (raw_indices_ != nullptr) raw_indices_[place] = static_cast<std::int32_t>(position);
    if (values_ != nullptr) values_[place] = bits;
  }

  // Places [first, k) become pads. All threads of the CTA call it.
  template <int kThreads>
  __device__ void write_pads(std::int64_t first) const {
    write_fill<kThreads>(first, static_cast<Bits>(params_.pad_value_bits));
  }

  // The whole row under the poison rule. All threads of the CTA call it.
  template <int kThreads>
  __device__ void write_poison() const {
    if constexpr (is_floating(kType)) write_fill<kThreads>(0, ValueTraits<kType>::kQuietNan);
  }

 private:
  __device__ __forceinline__ void write_index(std::int64_t place, std::int64_t index) const {
    if (params_.index_type == IndexType::kInt64) {
      reinterpret_cast<std::int64_t*>(indices_)[place] = index;
    } else {
      reinterpret_cast<std::int32_t*>(indices_)[place] = static_cast<std::int32_t>(index);
    }
  }

  template <int kThreads>
  __device__ void write_fill(std::int64_t first, Bits bits) const {
    for (std::int64_t place = first + threadIdx.x; place < params_.k; place += kThreads) {
      write_index(place, params_.pad_index);
      if (raw_indices_ != nullptr) {
        raw_indices_[place] = static_cast<std::int32_t>(params_.pad_index);
      }
      if (values_ != nullptr) values_[place] = bits;
    }
  }

  const TopkParams& params_;
  const RowView& view_;
  char* indices_;
  Bits* values_;
  std::int32_t* raw_indices_;
};

// Whether a selected key poisons its row.
template <ValueType kType>
__device__ __forceinline__ bool is_poison(const TopkParams& params, std::uint32_t key) {
  return is_floating(kType) && params.nan_rule == NanRule::kPoison && key == KeyMap<kType>::kMaxKey;
}

// Writes a whole row from its winners in shared memory, in their order. All threads of the CTA call
// it; winners must be complete.
template <int kThreads, ValueType kType>
__device__ void write_winners(const TopkParams& params, const KeyMap<kType>& key_map,
                              const RowSlots<kType>& slots, const RowOutput<kType>& output,
                              const Composite* winners, std::uint32_t num_winners) {
  bool poisoned = false;
  if (is_floating(kType) && params.nan_rule == NanRule::kPoison) {
    for (std::uint32_t i = threadIdx.x; i < num_winners; i += kThreads) {
      poisoned |= is_poison<kType>(params, key_of(winners[i]));
    }
    if (__syncthreads_or(poisoned)) {
      output.template write_poison<kThreads>();
      return;
    }
  }
  for (std::uint32_t i = threadIdx.x; i < num_winners; i += kThreads) {
    const Composite winner = winners[i];
    const std::uint32_t position = position_of(winner);
    BitsOf<kType> bits = 0;
    if (output.wants_values() && !key_map.value_of(key_of(winner), &bits)) {
      bits = slots.item(position);
    }
    output.write(i, position, bits);
  }
  output.template write_pads<kThreads>(num_winners);
}

}  // namespace deepselect::cuda
