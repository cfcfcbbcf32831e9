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

// From 1; `num_wanted` itself where all of the row is sampled. A `severity` above 1 asks for a
// lower bound, after one that failed; it is a power of four and the product stays below 2^32.
DEEPSELECT_HOST_DEVICE inline std::uint32_t sample_rank(std::uint32_t num_wanted,
                                                        std::uint32_t num_sampled,
                                                        std::uint32_t num_items, float sigmas,
                                                        std::uint32_t severity) {
  if (num_sampled >= num_items) return num_wanted * severity;
  const float fraction = static_cast<float>(num_sampled) / static_cast<float>(num_items);
  const float mean = static_cast<float>(num_wanted) * fraction;
  const float spread = sigmas * (sqrtf(mean * (1.0f - fraction)) + 1.0f);
  return static_cast<std::uint32_t>((mean + spread) * static_cast<float>(severity)) + 1;
}

}  // namespace deepselect::cuda
