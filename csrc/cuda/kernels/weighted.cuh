// The kernels round the selection of a weighted call, for any shape (deepselect/weights.h):
//
//   bias_kernel     the biased scores of all rows, float32, for the selection to compare
//   window_kernel   for a softmax over windows: maximum and sum of a part of a row, in one pass
//   weights_kernel  a CTA per row: the values of the selected positions, pads after them
//
// Every sum has an order that depends on the shape alone, so results are the same in every run.
#pragma once

#include <cstdint>

#include "cuda/common/block.cuh"
#include "cuda/common/row_slots.cuh"
#include "cuda/common/score.cuh"
#include "cuda/tuning/weighted.h"
#include "cuda/workspace/weighted.h"
#include "deepselect/row_view.h"
#include "deepselect/weights.h"

namespace deepselect::cuda {

template <ValueType kType>
__global__ void __launch_bounds__(WeightedPolicy::kThreads)
    bias_kernel(const __grid_constant__ TopkParams params, float* compared,
                std::uint32_t tiles_per_row) {
  constexpr int kTileCols = WeightedPolicy::kTileCols;
  const std::int64_t row = blockIdx.x / tiles_per_row;
  const std::int64_t begin = std::int64_t{blockIdx.x % tiles_per_row} * kTileCols;
  const std::int64_t end = min(begin + kTileCols, params.num_cols);
  const auto* items =
      static_cast<const BitsOf<kType>*>(params.input) + row * params.input_row_stride_items;
  float* result = compared + row * params.num_cols;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += WeightedPolicy::kThreads) {
    result[i] = biased_score(params.weights, score_of<kType>(items[i]), __ldg(params.bias + i));
  }
}

// Over the CTA, in a fixed order; every thread has the result. `scratch` holds an item per warp;
// the CTA must not touch it between the call and its next barrier.
template <int kThreads>
__device__ ScoreSum block_sum(ScoreSum mine, PartSum* scratch) {
#pragma unroll
  for (int distance = kWarpThreads / 2; distance > 0; distance /= 2) {
    ScoreSum other;
    other.max = __shfl_xor_sync(kAllLanes, mine.max, distance);
    other.sum = __shfl_xor_sync(kAllLanes, mine.sum, distance);
    mine.merge(other);
  }
  if constexpr (kThreads == kWarpThreads) return mine;
  if (threadIdx.x % kWarpThreads == 0) {
    scratch[threadIdx.x / kWarpThreads] = {mine.sum, mine.max, 0.0f};
  }
  __syncthreads();
  ScoreSum total;
  for (int w = 0; w < kThreads / kWarpThreads; ++w) total.merge({scratch[w].max, scratch[w].sum});
  return total;
}

template <ValueType kType>
__global__ void __launch_bounds__(WeightedPolicy::kThreads)
    window_kernel(const __grid_constant__ TopkParams params, PartSum* sums,
                  std::uint32_t parts_per_row) {
  constexpr int kThreads = WeightedPolicy::kThreads;
  constexpr int kItems = KeyMap<kType>::kItemsPerVector;
  __shared__ PartSum scratch[kThreads / kWarpThreads];
  const std::int64_t row = blockIdx.x / parts_per_row;
  const std::uint32_t part = blockIdx.x % parts_per_row;
  const RowView view = row_view(params, row);
  const RowSlots<kType> slots(params, view, row);
  const std::uint64_t num_slots = slots.num_slots();
  ScoreSum mine;
  for_each_slot<kThreads, WeightedPolicy::kInFlight>(
      slots, static_cast<std::uint32_t>(num_slots * part / parts_per_row),
      static_cast<std::uint32_t>(num_slots * (part + 1) / parts_per_row),
      [&](std::uint32_t, std::uint32_t valid, const uint4& bits) {
        const std::uint32_t words[4] = {bits.x, bits.y, bits.z, bits.w};
        float max = kMinusInfinity;
#pragma unroll
        for (int i = 0; i < kItems; ++i) {
          const float score = score_of<kType>(item_bits<kType>(words, i));
          if ((valid >> i & 1) != 0) max = fmaxf(max, score);
        }
        mine.raise_to(max);
        const float base = mine.base();
        float sum = 0;
#pragma unroll
        for (int i = 0; i < kItems; ++i) {
          const float score = score_of<kType>(item_bits<kType>(words, i));
          if ((valid >> i & 1) != 0) sum += exp_in_sum(score - base);
        }
        mine.sum += static_cast<double>(sum);
      });
  const ScoreSum total = block_sum<kThreads>(mine, scratch);
  if (threadIdx.x == 0) sums[blockIdx.x] = {total.sum, total.max, 0.0f};
}

// What the weights of a row are shares of.
template <ValueType kType, int kThreads>
__device__ ScoreSum weights_total(const TopkParams& params, const RowSlots<kType>& slots,
                                  const std::int32_t* positions, std::int64_t count,
                                  const PartSum* sums, std::uint32_t parts_per_row,
                                  PartSum* scratch) {
  ScoreSum mine;
  if (params.weights == Weights::kSoftmax) {
    for (std::uint32_t i = threadIdx.x; i < parts_per_row; i += kThreads) {
      mine.merge({sums[i].max, sums[i].sum});
    }
    return block_sum<kThreads>(mine, scratch);
  }
  for (std::int64_t i = threadIdx.x; i < count; i += kThreads) {
    mine.max = fmaxf(mine.max, score_of<kType>(slots.item(positions[i])));
  }
  const float max = block_sum<kThreads>(mine, scratch).max;
  if constexpr (kThreads > kWarpThreads) __syncthreads();
  mine = {max, 0};
  for (std::int64_t i = threadIdx.x; i < count; i += kThreads) {
    const float score = score_of<kType>(slots.item(positions[i]));
    mine.sum += weight_term(params.weights, score, max);
  }
  return block_sum<kThreads>(mine, scratch);
}

// `step` is the selection that left its positions in raw_indices.
template <ValueType kType, int kThreads>
__global__ void __launch_bounds__(kThreads)
    weights_kernel(const __grid_constant__ TopkParams params,
                   const __grid_constant__ TopkParams step, const PartSum* sums,
                   std::uint32_t parts_per_row) {
  __shared__ PartSum scratch[kThreads / kWarpThreads];
  const std::int64_t row = blockIdx.x;
  const RowView view = row_view(params, row);
  const RowSlots<kType> slots(params, view, row);
  const std::int32_t* positions = step.raw_indices + row * step.raw_indices_row_stride_items;
  std::int64_t count = min(params.k, view.size());
  bool poisoned = false;
  if (count > 0 && params.nan_rule == NanRule::kPoison) {
    const std::int64_t item = row * step.values_row_stride_items;
    poisoned =
        step.value_type == ValueType::kFloat32
            ? is_nan<ValueType::kFloat32>(static_cast<const std::uint32_t*>(step.values)[item])
            : is_nan<kType>(static_cast<const BitsOf<kType>*>(step.values)[item]);
    if (poisoned) count = 0;
  }
  if (params.weights == Weights::kNone) {
    auto* values =
        static_cast<BitsOf<kType>*>(params.values) + row * params.values_row_stride_items;
    const auto pad = poisoned ? ValueTraits<kType>::kQuietNan
                              : static_cast<BitsOf<kType>>(params.pad_value_bits);
    for (std::int64_t i = threadIdx.x; i < params.k; i += kThreads) {
      values[i] = i < count ? slots.item(positions[i]) : pad;
    }
    return;
  }
  ScoreSum total;
  if (count > 0 && params.weights != Weights::kSigmoid) {
    total = weights_total<kType, kThreads>(params, slots, positions, count,
                                           sums + row * parts_per_row, parts_per_row, scratch);
  }
  float* weights = static_cast<float*>(params.values) + row * params.values_row_stride_items;
  const float pad =
      float_of_bits(poisoned ? ValueTraits<ValueType::kFloat32>::kQuietNan : params.pad_value_bits);
  const float sum = params.weights == Weights::kSigmoid ? 1.0f : static_cast<float>(total.sum);
  for (std::int64_t i = threadIdx.x; i < params.k; i += kThreads) {
    float weight = pad;
    if (i < count) {
      const float score = score_of<kType>(slots.item(positions[i]));
      const float term = weight_term(params.weights, score, total.max);
      weight = canonical_weight(rounded::divide(term, sum));
    }
    weights[i] = weight;
  }
}

}  // namespace deepselect::cuda
