// First, plain form of the CPU backend: composite keys of the window, a
// partial sort, the output order.
#include "topk_cpu.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "deepselect/order_key.h"
#include "deepselect/row_view.h"
#include "row_output.h"

namespace deepselect::cpu {
namespace {

template <ValueType kType>
void select_row(const TopkParams& params, std::int64_t row, std::vector<std::uint64_t>& composite,
                std::vector<std::uint32_t>& relative) {
  using Bits = BitsOf<kType>;
  const RowView view = row_view(params, row);
  const Bits* window =
      static_cast<const Bits*>(params.input) + row * params.input_row_stride_items + view.begin;
  Bits pad_bits = static_cast<Bits>(params.pad_value_bits);

  bool has_nan = false;
  composite.clear();
  for (std::int64_t i = 0; i < view.size(); ++i) {
    has_nan |= is_nan<kType>(window[i]);
    const Bits key =
        order_key<kType>(window[i], params.nan_rule != NanRule::kSmallest, params.largest);
    composite.push_back(composite_key(key, static_cast<std::uint32_t>(i)));
  }
  std::int64_t num_selected = std::min(params.k, view.size());
  if constexpr (is_floating(kType)) {
    if (has_nan && params.nan_rule == NanRule::kPoison) {
      num_selected = 0;
      pad_bits = ValueTraits<kType>::kQuietNan;
    }
  }
  std::partial_sort(composite.begin(), composite.begin() + num_selected, composite.end(),
                    std::greater<>());
  relative.clear();
  for (std::int64_t i = 0; i < num_selected; ++i) {
    relative.push_back(~static_cast<std::uint32_t>(composite[i]));
  }
  if (params.order != Order::kValue) std::sort(relative.begin(), relative.end());
  write_row<Bits>(params, view, window, relative.data(), num_selected, pad_bits,
                  row_output(params, row));
}

struct Call {
  const TopkParams& params;
  std::mutex mutex;
  std::exception_ptr error;
};

template <ValueType kType>
void select_rows(std::int64_t begin, std::int64_t end, void* context) {
  Call& call = *static_cast<Call*>(context);
  try {
    std::vector<std::uint64_t> composite;
    std::vector<std::uint32_t> relative;
    for (std::int64_t row = begin; row < end; ++row) {
      select_row<kType>(call.params, row, composite, relative);
    }
  } catch (...) {
    const std::lock_guard<std::mutex> lock(call.mutex);
    call.error = std::current_exception();
  }
}

}  // namespace

void topk(const TopkParams& params, const ThreadPool& pool) {
  constexpr ThreadPool::Body kBodies[] = {
      select_rows<ValueType::kBFloat16>, select_rows<ValueType::kFloat16>,
      select_rows<ValueType::kFloat32>, select_rows<ValueType::kInt32>};
  Call call{params, {}, nullptr};
  pool.parallel_for(0, params.num_rows, 1, kBodies[static_cast<int>(params.value_type)], &call);
  if (call.error) std::rethrow_exception(call.error);
}

}  // namespace deepselect::cpu
