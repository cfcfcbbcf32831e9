// The output side of one row: the index map in 64 bits, the values' exact bits, pads, poison.
// Weights are not its business. Threads write neighbouring places, so stores coalesce whatever the
// order of the winners was; no store leaves the row's k places.
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
    values_ = params.values == nullptr || params.weights != Weights::kNone
                  ? nullptr
                  : static_cast<Bits*>(params.values) + row * params.values_row_stride_items;
    raw_indices_ = params.raw_indices == nullptr
                       ? nullptr
                       : params.raw_indices + row * params.raw_indices_row_stride_items;
    is_plain_ = view.table == nullptr && !is_int64 && values_ == nullptr && raw_indices_ == nullptr;
  }

  __device__ bool wants_values() const { return values_ != nullptr; }

  // Whether int32 indices without a table are all there is to write.
  __device__ bool is_plain() const { return is_plain_; }

  // The index of `position` into place `place`, where is_plain().
  __device__ __forceinline__ void write_plain(std::int64_t place, std::uint32_t position) const {
    reinterpret_cast<std::uint32_t*>(indices_)[place] =
        position + static_cast<std::uint32_t>(view_.offset);
  }

  // The selected element at `position` of the window, into place `place`.
  __device__ __forceinline__ void write(std::int64_t place, std::uint32_t position,
                                        Bits bits) const {
    write_index(place, view_.index_of(position));
    if (raw_indices_ != nullptr) raw_indices_[place] = static_cast<std::int32_t>(position);
    if (values_ != nullptr) values_[place] = bits;
  }

  // A winner into place `place`.
  __device__ __forceinline__ void write(std::int64_t place, Composite winner,
                                        const KeyMap<kType>& key_map,
                                        const RowSlots<kType>& slots) const {
    const std::uint32_t position = position_of(winner);
    if (is_plain_) {
      write_plain(place, position);
      return;
    }
    Bits bits = 0;
    if (wants_values() && !key_map.value_of(key_of(winner), &bits)) bits = slots.item(position);
    write(place, position, bits);
  }

  // Positions [0, count) into the places of the same numbers and pads behind them, where
  // is_plain(). kThreads threads call it, each with its own `thread`.
  template <int kThreads>
  __device__ __forceinline__ void write_all_plain(std::uint32_t count, std::uint32_t thread) const {
    auto* indices = reinterpret_cast<std::uint32_t*>(indices_);
    const auto pad = static_cast<std::uint32_t>(params_.pad_index);
    const auto offset = static_cast<std::uint32_t>(view_.offset);
    const auto index_at = [&](std::int64_t place) {
      return place < count ? static_cast<std::uint32_t>(place) + offset : pad;
    };
    std::int64_t first = 0;
    if (reinterpret_cast<std::uintptr_t>(indices_) % 16 == 0) {
      first = params_.k / 4 * 4;
#pragma unroll 1
      for (std::int64_t i = 4 * thread; i < first; i += 4 * kThreads) {
        *reinterpret_cast<uint4*>(indices + i) = {index_at(i), index_at(i + 1), index_at(i + 2),
                                                  index_at(i + 3)};
      }
    }
#pragma unroll 1
    for (std::int64_t i = first + thread; i < params_.k; i += kThreads) indices[i] = index_at(i);
  }

  // Places [first, k) become pads. All threads of the CTA call it.
  template <int kThreads>
  __device__ void write_pads(std::int64_t first, std::uint32_t thread = threadIdx.x) const {
    write_fill<kThreads>(first, static_cast<Bits>(params_.pad_value_bits), thread);
  }

  // The whole row under the poison rule. All threads of the CTA call it.
  template <int kThreads>
  __device__ void write_poison(std::uint32_t thread = threadIdx.x) const {
    if constexpr (is_floating(kType)) {
      write_fill<kThreads>(0, ValueTraits<kType>::kQuietNan, thread);
    }
  }

  // The selected elements at `positions[0, count)`, in their order. `positions` is in shared
  // memory, aligned to 8 bytes; kThreads threads call it, each with its own `thread`.
  template <int kThreads>
  __device__ __forceinline__ void write_positions(const std::uint16_t* positions,
                                                  std::uint32_t count, const RowSlots<kType>& slots,
                                                  std::uint32_t thread) const {
    std::uint32_t first = 0;
    if (is_plain_ && reinterpret_cast<std::uintptr_t>(indices_) % 16 == 0) {
      const auto offset = static_cast<std::uint32_t>(view_.offset);
      first = count & ~3u;
#pragma unroll 1
      for (std::uint32_t i = 4 * thread; i < first; i += 4 * kThreads) {
        const uint2 packed = *reinterpret_cast<const uint2*>(positions + i);
        *reinterpret_cast<uint4*>(indices_ + 4 * i) = {
            (packed.x & 0xFFFFu) + offset, (packed.x >> 16) + offset, (packed.y & 0xFFFFu) + offset,
            (packed.y >> 16) + offset};
      }
    }
#pragma unroll 1
    for (std::uint32_t i = first + thread; i < count; i += kThreads) {
      const std::uint32_t position = positions[i];
      write(i, position, wants_values() ? slots.item(position) : Bits{0});
    }
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
  __device__ void write_fill(std::int64_t first, Bits bits, std::uint32_t thread) const {
#pragma unroll 1
    for (std::int64_t place = first + thread; place < params_.k; place += kThreads) {
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
  bool is_plain_;  // int32 indices and nothing else
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
    output.write(i, winners[i], key_map, slots);
  }
  output.template write_pads<kThreads>(num_winners);
}

}  // namespace deepselect::cuda
