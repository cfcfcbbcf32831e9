// The two overloads of the op for one backend: unbox, check, allocate, run. A backend is a type
// with
//   static constexpr BackendLimits kLimits;
//   static void run(const TopkParams& params, std::int32_t device_index);
// and registers both functions:
//   STABLE_TORCH_LIBRARY_IMPL(deepselect, CPU, m) { op::register_backend<CpuBackend>(m); }
// A backend with variants also defines a private op per variant V, deepselect::_topk_V, with topk's
// schema, which forces it; deepselect.testing finds them by this name.
#pragma once

#include <torch/csrc/stable/library.h>

#include <optional>
#include <string>
#include <tuple>

#include "op/checks.h"
#include "op/schema.h"

namespace deepselect::op {

template <class Backend>
void run_if_any(const TopkParams& params, const Tensor& input) {
  if (params.num_rows == 0 || params.k == 0) return;
  Backend::run(params, input.get_device_index());
}

template <class Backend>
std::tuple<Tensor, Tensor> topk(const Tensor& input, std::int64_t k, std::optional<Tensor> begin,
                                std::optional<Tensor> end, std::optional<Tensor> index_offset,
                                std::optional<Tensor> page_table,
                                std::optional<Tensor> page_table_row,
                                std::optional<Tensor> page_table_begin, std::optional<Tensor> bias,
                                std::int64_t page_size, StringHandle order, bool largest,
                                StringHandle nan, StringHandle weights, bool return_values,
                                std::optional<ScalarType> index_dtype, std::int64_t pad_index,
                                std::optional<double> pad_value) {
  const StringArgument order_name(order);
  const StringArgument nan_name(nan);
  const StringArgument weights_name(weights);
  const TopkArguments arguments{input,
                                k,
                                begin,
                                end,
                                index_offset,
                                page_table,
                                page_table_row,
                                page_table_begin,
                                page_size,
                                order_name.view(),
                                largest,
                                nan_name.view(),
                                pad_index,
                                pad_value,
                                bias ? &*bias : nullptr,
                                weights_name.view()};
  TopkParams params = describe_inputs(arguments, Backend::kLimits);
  std::tuple<Tensor, Tensor> results =
      add_new_outputs(arguments, return_values, index_dtype, &params);
  run_if_any<Backend>(params, input);
  return results;
}

template <class Backend>
void topk_out(const Tensor& input, std::int64_t k, std::optional<Tensor> begin,
              std::optional<Tensor> end, std::optional<Tensor> index_offset,
              std::optional<Tensor> page_table, std::optional<Tensor> page_table_row,
              std::optional<Tensor> page_table_begin, std::optional<Tensor> bias,
              std::int64_t page_size, StringHandle order, bool largest, StringHandle nan,
              StringHandle weights, std::int64_t pad_index, std::optional<double> pad_value,
              const Tensor& indices, std::optional<Tensor> values,
              std::optional<Tensor> raw_indices) {
  const StringArgument order_name(order);
  const StringArgument nan_name(nan);
  const StringArgument weights_name(weights);
  const TopkArguments arguments{input,
                                k,
                                begin,
                                end,
                                index_offset,
                                page_table,
                                page_table_row,
                                page_table_begin,
                                page_size,
                                order_name.view(),
                                largest,
                                nan_name.view(),
                                pad_index,
                                pad_value,
                                bias ? &*bias : nullptr,
                                weights_name.view()};
  TopkParams params = describe_inputs(arguments, Backend::kLimits);
  add_given_outputs(arguments, {values, indices, raw_indices}, &params);
  run_if_any<Backend>(params, input);
}

template <class Backend>
void register_backend(torch::stable::detail::StableLibrary& library) {
  library.impl("topk", TORCH_BOX(&topk<Backend>));
  library.impl("topk.out", TORCH_BOX(&topk_out<Backend>));
}

inline void define_variant(torch::stable::detail::StableLibrary& library, const char* variant) {
  const std::string name = std::string("_topk_") + variant;
  library.def((name + kTopkSignature).c_str());
  library.def((name + ".out" + kTopkOutSignature).c_str());
}

// `ForcedBackend` runs that variant, or says that it cannot serve the call.
template <class ForcedBackend>
void register_variant(torch::stable::detail::StableLibrary& library, const char* variant) {
  const std::string name = std::string("_topk_") + variant;
  library.impl(name.c_str(), TORCH_BOX(&topk<ForcedBackend>));
  library.impl((name + ".out").c_str(), TORCH_BOX(&topk_out<ForcedBackend>));
}

}  // namespace deepselect::op
