// Elements as float32 scores, and the sums that weights are shares of.
#pragma once

#include <cstdint>

#include "cuda/common/key_map.cuh"
#include "cuda/ptx/arithmetic.cuh"
#include "deepselect/contract.h"
#include "deepselect/order_key.h"

namespace deepselect::cuda {

constexpr float kMinusInfinity = -__builtin_huge_valf();

template <ValueType kType>
__device__ __forceinline__ float score_of(BitsOf<kType> bits) {
  if constexpr (kType == ValueType::kFloat32) {
    return __uint_as_float(bits);
  } else if constexpr (kType == ValueType::kBFloat16) {
    return __uint_as_float(std::uint32_t{bits} << 16);
  } else if constexpr (kType == ValueType::kFloat16) {
    return ptx::float_of_f16(bits);
  } else {
    return 0.0f;  // never asked for: weights are of real scores
  }
}

// Item `i` of words as they lie in memory.
template <ValueType kType>
__device__ __forceinline__ BitsOf<kType> item_bits(const std::uint32_t* words, int i) {
  if constexpr (KeyMap<kType>::kIsPacked) {
    return static_cast<BitsOf<kType>>(i % 2 == 0 ? words[i / 2] & 0xFFFFu : words[i / 2] >> 16);
  } else {
    return words[i];
  }
}

// exp(difference) for a difference <= 0, to the accuracy of a term of a sum that is at least 1:
// what a large difference loses, the term is too small to show.
__device__ __forceinline__ float exp_in_sum(float difference) {
  constexpr float kLog2E = 1.44269504f;
  return ptx::exp2_approx(difference * kLog2E);
}

// The maximum and the sum of exp(score - maximum) of some scores, in one pass over them. NaN is
// passed over by the maximum and reaches the sum; so does +inf, as NaN.
struct ScoreSum {
  float max = kMinusInfinity;
  double sum = 0;

  __device__ __forceinline__ void raise_to(float new_max) {
    if (new_max > max) {
      sum *= exp_in_sum(max - new_max);
      max = new_max;
    }
  }

  // What terms are relative to: scores of -inf alone have none.
  __device__ __forceinline__ float base() const { return max == kMinusInfinity ? 0.0f : max; }

  __device__ __forceinline__ void merge(ScoreSum other) {
    raise_to(other.max);
    other.raise_to(max);
    sum += other.sum;
  }
};

}  // namespace deepselect::cuda
