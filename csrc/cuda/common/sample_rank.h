// Which rank in a sample bounds the k best of a row.
//
// Of the k best of `num_items`, a sample of `num_sampled` holds mean = k * num_sampled / num_items
// on average, with a variance of no more than mean * (1 - num_sampled / num_items). The sample's
// element of rank mean + kSigmas standard deviations is therefore worse than the k-th best of the
// row except by bad luck; about rank * num_items / num_sampled elements of the row reach it.
#pragma once

#include <cmath>
#include <cstdint>

#include "deepselect/macros.h"

namespace deepselect::cuda {

namespace detail {

// To a few ulp: a rank needs no more, and the exact ones are subroutines on the device.
DEEPSELECT_HOST_DEVICE inline float quick_sqrt(float x) {
#if defined(__CUDA_ARCH__)
  return x * rsqrtf(x);
#else
  return std::sqrt(x);
#endif
}
DEEPSELECT_HOST_DEVICE inline float quick_ratio(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fdividef(a, b);
#else
  return a / b;
#endif
}

}  // namespace detail

// From 1; about `num_wanted` where all of the row is sampled. A `severity` above 1 asks for a lower
// bound, after one that failed.
DEEPSELECT_HOST_DEVICE inline std::uint32_t sample_rank(std::uint32_t num_wanted,
                                                        std::uint32_t num_sampled,
                                                        std::uint32_t num_items, float sigmas,
                                                        float severity) {
  const float fraction =
      detail::quick_ratio(static_cast<float>(num_sampled), static_cast<float>(num_items));
  const float mean = static_cast<float>(num_wanted) * fraction;
  const float variance = mean * (1.0f - fraction);
  const float deviation = variance > 0.0f ? detail::quick_sqrt(variance) : 0.0f;
  return static_cast<std::uint32_t>((mean + sigmas * (deviation + 1.0f)) * severity) + 1;
}

}  // namespace deepselect::cuda
