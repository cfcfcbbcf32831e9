// Weights of scores in float32, by additions, multiplications and divisions that round to nearest,
// none fused: the same bits on every device. So a sigmoid may take part in what is compared.
//
// Exponentials are zero, NaN or at least 2^-126, so flushing subnormals changes nothing.
#pragma once

#include <cstdint>
#if !defined(__CUDA_ARCH__)
#include <cstring>
#endif

#include "deepselect/contract.h"
#include "deepselect/macros.h"

namespace deepselect {

namespace rounded {

// Compilers fuse what is written with operators, unless told otherwise: device code is told here,
// files for the host with -ffp-contract=off.
DEEPSELECT_HOST_DEVICE inline float add(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fadd_rn(a, b);
#else
  return a + b;
#endif
}

DEEPSELECT_HOST_DEVICE inline float multiply(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

DEEPSELECT_HOST_DEVICE inline float divide(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fdiv_rn(a, b);
#else
  return a / b;
#endif
}

DEEPSELECT_HOST_DEVICE inline float multiply_add(float a, float b, float c) {
  return add(multiply(a, b), c);
}

}  // namespace rounded

DEEPSELECT_HOST_DEVICE inline float float_of_bits(std::uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(bits);
#else
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
#endif
}

DEEPSELECT_HOST_DEVICE inline std::uint32_t bits_of_float(float value) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(value);
#else
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
#endif
}

// exp(-(t + t_low)) for t >= 0 and |t_low| <= ulp(t), within 3e-7 of it relatively; 0 beyond
// t = 87.33, where it is below 2^-126. NaN for NaN.
//
// t = n ln 2 + r with |r| <= ln 2 / 2; exp(-r) by the polynomial of degree 5 that is 1 at 0 and
// nearest to it in relative error, 9.3e-8.
DEEPSELECT_HOST_DEVICE inline float exp_of_negative(float t, float t_low = 0.0f) {
  constexpr float kMaxT = 87.33f;
  constexpr float kLog2E = 1.44269504f;
  constexpr float kLn2High = 0.693145751953125f;  // 17 bits: its product with n is exact
  constexpr float kLn2Low = 1.42860677e-6f;
  // Added, it leaves the nearest integer in the low bits.
  constexpr float kRounder = 12582912.0f;
  constexpr std::uint32_t kRounderBits = 0x4B400000u;
  const float rounded_n = rounded::multiply_add(t, kLog2E, kRounder);
  const float n = rounded::add(rounded_n, -kRounder);
  float r = rounded::multiply_add(n, -kLn2High, t);
  r = rounded::add(rounded::multiply_add(n, -kLn2Low, r), t_low);
  float sum = rounded::multiply_add(-0.008290261f, r, 0.041898154f);
  sum = rounded::multiply_add(sum, r, -0.16667639f);
  sum = rounded::multiply_add(sum, r, 0.49999148f);
  sum = rounded::multiply_add(sum, r, -0.9999997f);
  sum = rounded::multiply_add(sum, r, 1.0f);
  const std::uint32_t scale_bits = (127u - (bits_of_float(rounded_n) - kRounderBits)) << 23;
  const float result = rounded::multiply(sum, float_of_bits(scale_bits));
  return t > kMaxT ? 0.0f : result;
}

// 1 / (1 + exp(-score)); 0 below -87.33.
DEEPSELECT_HOST_DEVICE inline float sigmoid(float score) {
  const float e = exp_of_negative(score < 0 ? -score : score);
  return rounded::divide(score < 0 ? e : 1.0f, rounded::add(1.0f, e));
}

// exp(score - max) for score <= max. The difference's rounding error is put back: times a large
// difference it would show in the result.
DEEPSELECT_HOST_DEVICE inline float softmax_term(float score, float max) {
  const float t = rounded::add(max, -score);
  const float minus_score = rounded::add(t, -max);
  const float from_max = rounded::add(max, -rounded::add(t, -minus_score));
  const float t_low = rounded::add(from_max, rounded::add(-score, -minus_score));
  const bool is_finite = t_low - t_low == 0.0f;
  return exp_of_negative(t, is_finite ? t_low : 0.0f);
}

// sigmoid(score) as a share of exp(min(max, 0)), so that a sum of them over scores up to `max` is
// at least 1/2 wherever the scores lie.
DEEPSELECT_HOST_DEVICE inline float sigmoid_term(float score, float max) {
  const float e = exp_of_negative(score < 0 ? -score : score);
  const float term = softmax_term(score < 0 ? score : 0.0f, max < 0 ? max : 0.0f);
  return rounded::divide(term, rounded::add(1.0f, e));
}

// What a weight is the share of, up to a factor that the sum has too; `max` is that of the scores
// in the sum. A sigmoid is its own weight.
DEEPSELECT_HOST_DEVICE inline float weight_term(Weights weights, float score, float max) {
  if (weights == Weights::kSigmoid) return sigmoid(score);
  return weights == Weights::kSigmoidSelected ? sigmoid_term(score, max) : softmax_term(score, max);
}

// A score as it is compared.
DEEPSELECT_HOST_DEVICE inline float biased_score(Weights weights, float score, float bias) {
  return rounded::add(is_sigmoid(weights) ? sigmoid(score) : score, bias);
}

// NaN of any kind becomes the canonical one.
DEEPSELECT_HOST_DEVICE inline float canonical_weight(float weight) {
  return weight == weight ? weight : float_of_bits(0x7FC00000u);
}

// What a plain selection of the compared scores needs beside the call's own outputs; rows are
// contiguous.
struct WeightedScratch {
  float* compared;          // (num_rows, num_cols): the biased scores; unused without a bias
  std::int32_t* positions;  // (num_rows, k); unused where the call wants raw indices
  void* selected;           // (num_rows, k) compared scores; unused but under the poison rule
};

// A weighted call's first step, a plain selection of the compared scores. The second makes values
// from the positions it leaves in raw_indices; a row is poisoned where `selected` begins with NaN.
inline TopkParams selection_step(const TopkParams& params, const WeightedScratch& scratch) {
  TopkParams step = params;
  step.weights = Weights::kNone;
  step.bias = nullptr;
  if (params.bias != nullptr) {
    step.input = scratch.compared;
    step.input_row_stride_items = params.num_cols;
    step.value_type = ValueType::kFloat32;
  }
  if (params.raw_indices == nullptr) {
    step.raw_indices = params.values == nullptr ? nullptr : scratch.positions;
    step.raw_indices_row_stride_items = params.k;
  }
  const bool wants_selected = params.values != nullptr && params.nan_rule == NanRule::kPoison;
  step.values = wants_selected ? scratch.selected : nullptr;
  step.values_row_stride_items = params.k;
  return step;
}

}  // namespace deepselect
