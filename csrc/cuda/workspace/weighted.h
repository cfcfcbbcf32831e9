// Global memory of a weighted call that takes two steps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "deepselect/contract.h"
#include "deepselect/weights.h"

namespace deepselect::cuda {

// A ScoreSum as it lies in memory.
struct PartSum {
  double sum;
  float max;
  float unused;
};

// Blocks one after the other, each a multiple of 256 bytes.
class WeightedWorkspace {
 public:
  WeightedWorkspace(const TopkParams& params, std::int64_t parts_per_row) {
    const std::int64_t num_entries = params.num_rows * params.k;
    const bool has_values = params.values != nullptr;
    const bool is_softmax = params.weights == Weights::kSoftmax;
    compared_ = add(params.bias != nullptr ? params.num_rows * params.num_cols : 0, sizeof(float));
    positions_ =
        add(has_values && params.raw_indices == nullptr ? num_entries : 0, sizeof(std::int32_t));
    selected_ =
        add(has_values && params.nan_rule == NanRule::kPoison ? num_entries : 0, sizeof(float));
    sums_ = add(is_softmax ? params.num_rows * parts_per_row : 0, sizeof(PartSum));
  }

  std::size_t num_bytes() const { return num_bytes_; }

  WeightedScratch scratch(void* memory) const {
    return {at<float>(memory, compared_), at<std::int32_t>(memory, positions_),
            at<void>(memory, selected_)};
  }
  PartSum* sums(void* memory) const { return at<PartSum>(memory, sums_); }

 private:
  std::size_t add(std::int64_t count, std::size_t item_bytes) {
    const std::size_t offset = num_bytes_;
    num_bytes_ += (static_cast<std::size_t>(count) * item_bytes + 255) / 256 * 256;
    return offset;
  }

  template <class T>
  static T* at(void* memory, std::size_t offset) {
    return reinterpret_cast<T*>(static_cast<char*>(memory) + offset);
  }

  std::size_t num_bytes_ = 0;
  std::size_t compared_;
  std::size_t positions_;
  std::size_t selected_;
  std::size_t sums_;
};

}  // namespace deepselect::cuda
