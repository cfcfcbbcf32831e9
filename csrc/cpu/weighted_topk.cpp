#include "cpu/weighted_topk.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "cpu/buffer.h"
#include "cpu/tasks.h"
#include "deepselect/order_key.h"
#include "deepselect/row_view.h"
#include "deepselect/weights.h"

namespace deepselect::cpu {
namespace {

template <ValueType kType>
float score_of(BitsOf<kType> bits) {
  if constexpr (kType == ValueType::kFloat32) {
    return float_of_bits(bits);
  } else if constexpr (kType == ValueType::kBFloat16) {
    return float_of_bits(std::uint32_t{bits} << 16);
  } else {
    const std::uint32_t sign = (bits & 0x8000u) << 16;
    const std::uint32_t exponent = bits >> 10 & 0x1Fu;
    const std::uint32_t mantissa = bits & 0x3FFu;
    if (exponent == 0x1F) return float_of_bits(sign | 0x7F800000u | mantissa << 13);
    if (exponent != 0) return float_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
}

template <ValueType kType>
class WeightedCall {
  using Bits = BitsOf<kType>;

 public:
  WeightedCall(const TopkParams& params, const ThreadPool& pool) : params_(params), pool_(pool) {}

  void run(const IsaPrimitives& isa) {
    WeightedScratch scratch{};
    if (params_.bias != nullptr) {
      scratch.compared = compared_.reserve(params_.num_rows * params_.num_cols);
      write_compared(scratch.compared);
    }
    const std::int64_t num_entries = params_.num_rows * params_.k;
    if (params_.values != nullptr) {
      if (params_.raw_indices == nullptr) scratch.positions = positions_.reserve(num_entries);
      if (params_.nan_rule == NanRule::kPoison) scratch.selected = selected_.reserve(num_entries);
    }
    const TopkParams step = selection_step(params_, scratch);
    topk_with(isa, step, pool_);
    if (params_.values == nullptr) return;
    for_each_row(params_.k + (params_.weights == Weights::kSoftmax ? params_.num_cols : 0),
                 [&](std::int64_t row) { write_values(step, row); });
  }

 private:
  static constexpr std::int64_t kTaskItems = 65536;  // scores worth a task of their own

  template <typename Function>
  void for_each_row(std::int64_t items_per_row, const Function& function) const {
    const std::int64_t task_rows = std::max<std::int64_t>(1, kTaskItems / (items_per_row + 1));
    const std::int64_t num_tasks = (params_.num_rows + task_rows - 1) / task_rows;
    run_tasks(pool_, pool_.num_threads, num_tasks, [&](int, std::int64_t task) {
      const std::int64_t end = std::min((task + 1) * task_rows, params_.num_rows);
      for (std::int64_t row = task * task_rows; row < end; ++row) function(row);
    });
  }

  const Bits* input_row(std::int64_t row) const {
    return static_cast<const Bits*>(params_.input) + row * params_.input_row_stride_items;
  }

  void write_compared(float* compared) const {
    for_each_row(params_.num_cols, [&](std::int64_t row) {
      const Bits* items = input_row(row);
      float* result = compared + row * params_.num_cols;
      for (std::int64_t i = 0; i < params_.num_cols; ++i) {
        result[i] = biased_score(params_.weights, score_of<kType>(items[i]), params_.bias[i]);
      }
    });
  }

  bool is_poisoned(const TopkParams& step, std::int64_t row) const {
    if (params_.nan_rule != NanRule::kPoison) return false;
    const std::int64_t item = row * step.values_row_stride_items;
    if (step.value_type == ValueType::kFloat32) {
      return is_nan<ValueType::kFloat32>(static_cast<const std::uint32_t*>(step.values)[item]);
    }
    return is_nan<kType>(static_cast<const Bits*>(step.values)[item]);
  }

  void write_values(const TopkParams& step, std::int64_t row) const {
    const RowView view = row_view(params_, row);
    const Bits* window = input_row(row) + view.begin;
    const std::int32_t* positions = step.raw_indices + row * step.raw_indices_row_stride_items;
    std::int64_t num_selected = std::min(params_.k, view.size());
    const bool poisoned = num_selected > 0 && is_poisoned(step, row);
    if (poisoned) num_selected = 0;
    const std::int64_t first_value = row * params_.values_row_stride_items;

    if (params_.weights == Weights::kNone) {
      Bits* values = static_cast<Bits*>(params_.values) + first_value;
      for (std::int64_t i = 0; i < num_selected; ++i) values[i] = window[positions[i]];
      const Bits pad =
          poisoned ? ValueTraits<kType>::kQuietNan : static_cast<Bits>(params_.pad_value_bits);
      std::fill(values + num_selected, values + params_.k, pad);
      return;
    }
    float* weights = static_cast<float*>(params_.values) + first_value;
    for (std::int64_t i = 0; i < num_selected; ++i) {
      weights[i] = score_of<kType>(window[positions[i]]);
    }
    weigh(weights, num_selected, window, view.size());
    const std::uint32_t pad =
        poisoned ? ValueTraits<ValueType::kFloat32>::kQuietNan : params_.pad_value_bits;
    std::fill(weights + num_selected, weights + params_.k, float_of_bits(pad));
  }

  // Scores become their weights.
  void weigh(float* scores, std::int64_t count, const Bits* window, std::int64_t size) const {
    if (count == 0) return;
    float max = 0;
    double sum = 1;
    switch (params_.weights) {
      case Weights::kSoftmax:
        max = max_of(size, [&](std::int64_t i) { return score_of<kType>(window[i]); });
        sum = sum_of(size, [&](std::int64_t i) {
          return exp_of_negative(max - score_of<kType>(window[i]));
        });
        break;
      case Weights::kSoftmaxSelected:
      case Weights::kSigmoidSelected:
        max = max_of(count, [&](std::int64_t i) { return scores[i]; });
        sum = sum_of(count,
                     [&](std::int64_t i) { return weight_term(params_.weights, scores[i], max); });
        break;
      case Weights::kSigmoid:
      case Weights::kNone:
        break;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const float term = weight_term(params_.weights, scores[i], max);
      scores[i] = canonical_weight(static_cast<float>(term / sum));
    }
  }

  // NaN is passed over; it reaches the sum.
  template <typename Score>
  static float max_of(std::int64_t count, const Score& score_at) {
    float max = -std::numeric_limits<float>::infinity();
    for (std::int64_t i = 0; i < count; ++i) {
      const float score = score_at(i);
      max = score > max ? score : max;
    }
    return max;
  }

  template <typename Term>
  static double sum_of(std::int64_t count, const Term& term_at) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i) sum += static_cast<double>(term_at(i));
    return sum;
  }

  const TopkParams& params_;
  const ThreadPool& pool_;
  Buffer<float> compared_;
  Buffer<std::int32_t> positions_;
  Buffer<float> selected_;  // large enough for any type
};

}  // namespace

void weighted_topk(const IsaPrimitives& isa, const TopkParams& params, const ThreadPool& pool) {
  switch (params.value_type) {
    case ValueType::kBFloat16:
      return WeightedCall<ValueType::kBFloat16>(params, pool).run(isa);
    case ValueType::kFloat16:
      return WeightedCall<ValueType::kFloat16>(params, pool).run(isa);
    case ValueType::kFloat32:
      return WeightedCall<ValueType::kFloat32>(params, pool).run(isa);
    case ValueType::kInt32:
      return;  // refused before: weights are of real scores
  }
}

}  // namespace deepselect::cpu
