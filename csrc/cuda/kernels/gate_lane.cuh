// gate where rows are a lane's: a router's call (is_router_call()) with up to kItems experts and
// kMaxWinners winners. A lane loads its row, sorts all of it by a network, weighs the winners and
// stores them: no lane waits for another, and each instruction serves 32 rows.
#pragma once

#include <cstdint>

#include "cuda/common/key_map.cuh"
#include "cuda/common/lanes.cuh"
#include "cuda/common/score.cuh"
#include "cuda/kernels/gate.cuh"
#include "cuda/tuning/gate.h"
#include "deepselect/weights.h"

namespace deepselect::cuda {

namespace detail {

// Stores `words[0, count)`, by the widest vectors that `target` and `count` allow.
template <int kWords>
__device__ __forceinline__ void store_words(std::uint32_t* target, std::uint32_t count,
                                            const std::uint32_t (&words)[kWords]) {
  static_assert(kWords % 4 == 0, "whole vectors");
  const std::uint32_t unit =
      count |
      static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(target) / sizeof(*target));
  if (unit % 4 == 0) {
#pragma unroll
    for (std::uint32_t i = 0; i < kWords; i += 4) {
      if (i < count) {
        *reinterpret_cast<uint4*>(target + i) = {words[i], words[i + 1], words[i + 2],
                                                 words[i + 3]};
      }
    }
  } else if (unit % 2 == 0) {
#pragma unroll
    for (std::uint32_t i = 0; i < kWords; i += 2) {
      if (i < count) *reinterpret_cast<uint2*>(target + i) = {words[i], words[i + 1]};
    }
  } else {
#pragma unroll
    for (std::uint32_t i = 0; i < kWords; ++i) {
      if (i < count) target[i] = words[i];
    }
  }
}

// The weights of the first `count` scores, in place.
template <int kItems>
__device__ __forceinline__ void weigh_lane(Weights kind, WindowSoftmax total, std::uint32_t count,
                                           float (&scores)[kItems]) {
  if (is_share_of_selection(kind)) {
    total = {kMinusInfinity, 0};
#pragma unroll
    for (std::uint32_t i = 0; i < kItems; ++i) {
      if (i < count) total.max = fmaxf(total.max, scores[i]);
    }
  }
#pragma unroll
  for (std::uint32_t i = 0; i < kItems; ++i) {
    if (i >= count) continue;
    scores[i] = weight_term(kind, scores[i], total.max);
    if (is_share_of_selection(kind)) total.sum += scores[i];
  }
#pragma unroll
  for (std::uint32_t i = 0; i < kItems; ++i) {
    if (i >= count) continue;
    const float share =
        kind == Weights::kSigmoid ? scores[i] : rounded::divide(scores[i], total.sum);
    scores[i] = canonical_weight(share);
  }
}

}  // namespace detail

template <ValueType kType, bool kIsBiased, class Policy>
__global__ void __launch_bounds__(Policy::kCtaThreads)
    gate_lane_kernel(const __grid_constant__ TopkParams params) {
  constexpr ValueType kKeyType = kIsBiased ? ValueType::kFloat32 : kType;
  constexpr int kItems = Policy::kItems;
  constexpr int kWinners = Policy::kMaxWinners;
  using ItemOf = GateItem<kKeyType>;
  const std::int64_t row = std::int64_t{blockIdx.x} * Policy::kCtaThreads + threadIdx.x;
  if (row >= params.num_rows) return;
  const auto num_cols = static_cast<std::uint32_t>(params.num_cols);
  const auto count = static_cast<std::uint32_t>(params.k);
  const auto* source =
      static_cast<const BitsOf<kType>*>(params.input) + row * params.input_row_stride_items;

  GateElements<kType, kItems> elements;
  elements.load(source, 0, num_cols, 0);
  GateBias<kItems> bias;
  if constexpr (kIsBiased) bias.follow(params, elements, 0);
  typename ItemOf::Type items[kItems];
  make_items<kType, ItemOf, kIsBiased>(KeyMap<kKeyType>(params), params.weights, elements, bias, 0,
                                       items);
  sort_descending(items);

  std::uint32_t positions[kWinners];
  BitsOf<kType> bits[kWinners];
#pragma unroll
  for (std::uint32_t i = 0; i < kWinners; ++i) {
    positions[i] = ItemOf::position(items[i]);
    // Read again: an element at a position that is not known to the compiler is in no register.
    bits[i] = i < count && params.values != nullptr ? source[positions[i]] : BitsOf<kType>{0};
  }
  detail::store_words(
      static_cast<std::uint32_t*>(params.indices) + row * params.indices_row_stride_items, count,
      positions);
  if (params.values == nullptr) return;

  const std::int64_t first_value = row * params.values_row_stride_items;
  if (params.weights == Weights::kNone) {
#pragma unroll
    for (std::uint32_t i = 0; i < kWinners; ++i) {
      if (i < count) static_cast<BitsOf<kType>*>(params.values)[first_value + i] = bits[i];
    }
    return;
  }
  WindowSoftmax window{0, 0};
  if (params.weights == Weights::kSoftmax) window = window_softmax<LaneGroup<1>>(elements);
  float weights[kWinners];
#pragma unroll
  for (int i = 0; i < kWinners; ++i) weights[i] = score_of<kType>(bits[i]);
  detail::weigh_lane(params.weights, window, count, weights);
  std::uint32_t words[kWinners];
#pragma unroll
  for (int i = 0; i < kWinners; ++i) words[i] = __float_as_uint(weights[i]);
  detail::store_words(static_cast<std::uint32_t*>(params.values) + first_value, count, words);
}

}  // namespace deepselect::cuda
