// New outputs, and checks of those that the caller gives.
#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "op/checks.h"
#include "op/errors.h"
#include "op/tensor_rows.h"

namespace deepselect::op {
namespace {

IndexType check_index_dtype(std::optional<ScalarType> index_dtype) {
  if (!index_dtype || *index_dtype == ScalarType::Int) return IndexType::kInt32;
  if (*index_dtype == ScalarType::Long) return IndexType::kInt64;
  raise_type_error("index_dtype must be torch.int32 or torch.int64, got ",
                   dtype_name(*index_dtype));
}

void check_pad_index(std::int64_t pad_index, IndexType type) {
  if (type == IndexType::kInt64) return;
  if (pad_index >= std::numeric_limits<std::int32_t>::min() &&
      pad_index <= std::numeric_limits<std::int32_t>::max()) {
    return;
  }
  raise_value_error("pad_index must be in int32's range, got ", pad_index,
                    "; ask for int64 indices");
}

ScalarType values_type(const TopkArguments& arguments, const TopkParams& params) {
  return params.weights == Weights::kNone ? arguments.input.scalar_type() : ScalarType::Float;
}

void check_weights_have_values(bool has_values, const TopkArguments& arguments,
                               const TopkParams& params) {
  if (has_values || params.weights == Weights::kNone) return;
  raise_value_error("weights must be 'none' where values are not wanted, got '", arguments.weights,
                    "'; ask for values or omit weights");
}

std::vector<std::int64_t> output_sizes(const TopkArguments& arguments) {
  const IntHeaderOnlyArrayRef sizes = arguments.input.sizes();
  std::vector<std::int64_t> result(sizes.begin(), sizes.end());
  result.back() = arguments.k;
  return result;
}

Tensor new_contiguous(const std::vector<std::int64_t>& sizes, ScalarType type, const Tensor& like) {
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= sizes[i] > 1 ? sizes[i] : 1;
  }
  AtenTensorHandle handle = nullptr;
  TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(
      static_cast<std::int64_t>(sizes.size()), sizes.data(), strides.data(),
      torch::stable::detail::to<std::int32_t>(torch::stable::detail::from(type)), device_type(like),
      like.get_device_index(), &handle));
  return Tensor(handle);
}

// A caller-given output; returns its row stride in items.
std::int64_t check_output(const char* name, const Tensor& output, const TopkArguments& arguments) {
  const std::vector<std::int64_t> expected = output_sizes(arguments);
  const IntHeaderOnlyArrayRef expected_sizes(expected.data(), expected.size());
  const IntHeaderOnlyArrayRef sizes = output.sizes();
  if (!std::equal(sizes.begin(), sizes.end(), expected.begin(), expected.end())) {
    raise_value_error(name, " must have shape ", tuple_text(expected_sizes), ", got ",
                      tuple_text(sizes), "; outputs are not resized");
  }
  check_device(name, output, arguments.input);
  const RowLayout rows = collapse_rows(name, output, "; allocate it contiguous");
  if (rows.num_rows > 1 && rows.row_stride_items < rows.num_cols) {
    raise_value_error(name, " must have rows that do not overlap, got row stride ",
                      rows.row_stride_items, " for ", rows.num_cols,
                      " columns; allocate it contiguous");
  }
  return rows.row_stride_items;
}

void check_disjoint(const TopkArguments& arguments, const TopkOutputs& outputs) {
  std::vector<AddressRange> written{address_range("indices", outputs.indices)};
  if (outputs.values) written.push_back(address_range("values", *outputs.values));
  if (outputs.raw_indices) written.push_back(address_range("raw_indices", *outputs.raw_indices));

  std::vector<AddressRange> ranges{address_range("input", arguments.input)};
  const std::pair<const char*, const std::optional<Tensor>&> optional_inputs[] = {
      {"begin", arguments.begin},
      {"end", arguments.end},
      {"index_offset", arguments.index_offset},
      {"page_table", arguments.page_table},
      {"page_table_row", arguments.page_table_row},
      {"page_table_begin", arguments.page_table_begin}};
  for (const auto& [name, tensor] : optional_inputs) {
    if (tensor) ranges.push_back(address_range(name, *tensor));
  }
  if (arguments.bias != nullptr) ranges.push_back(address_range("bias", *arguments.bias));
  for (const AddressRange& output : written) {
    for (const AddressRange& other : ranges) {
      if (output.first < other.past && other.first < output.past) {
        raise_value_error(output.name, " must not share memory with ", other.name,
                          ", got overlapping address ranges; allocate it separately");
      }
    }
    ranges.push_back(output);
  }
}

}  // namespace

std::tuple<Tensor, Tensor> add_new_outputs(const TopkArguments& arguments, bool return_values,
                                           std::optional<ScalarType> index_dtype,
                                           TopkParams* params) {
  params->index_type = check_index_dtype(index_dtype);
  check_weights_have_values(return_values, arguments, *params);
  check_pad_index(arguments.pad_index, params->index_type);
  const std::vector<std::int64_t> sizes = output_sizes(arguments);
  const ScalarType index_scalar_type =
      params->index_type == IndexType::kInt64 ? ScalarType::Long : ScalarType::Int;
  Tensor indices = new_contiguous(sizes, index_scalar_type, arguments.input);
  Tensor values = new_contiguous(return_values ? sizes : std::vector<std::int64_t>{0},
                                 values_type(arguments, *params), arguments.input);
  params->indices = indices.mutable_data_ptr();
  params->indices_row_stride_items = arguments.k;
  if (return_values) {
    params->values = values.mutable_data_ptr();
    params->values_row_stride_items = arguments.k;
  }
  return {values, indices};
}

void add_given_outputs(const TopkArguments& arguments, const TopkOutputs& outputs,
                       TopkParams* params) {
  const ScalarType index_scalar_type = outputs.indices.scalar_type();
  if (index_scalar_type != ScalarType::Int && index_scalar_type != ScalarType::Long) {
    raise_type_error("indices must be int32 or int64, got ", dtype_name(index_scalar_type));
  }
  params->index_type = check_index_dtype(index_scalar_type);
  check_weights_have_values(outputs.values.has_value(), arguments, *params);
  check_pad_index(arguments.pad_index, params->index_type);
  params->indices_row_stride_items = check_output("indices", outputs.indices, arguments);
  if (outputs.values) {
    const ScalarType wanted = values_type(arguments, *params);
    if (outputs.values->scalar_type() != wanted) {
      raise_type_error(params->weights == Weights::kNone
                           ? "values must have input's dtype, "
                           : "values must have the dtype of weights, ",
                       dtype_name(wanted), ", got ", dtype_name(outputs.values->scalar_type()));
    }
    params->values_row_stride_items = check_output("values", *outputs.values, arguments);
  }
  if (outputs.raw_indices) {
    if (outputs.raw_indices->scalar_type() != ScalarType::Int) {
      raise_type_error("raw_indices must be int32, got ",
                       dtype_name(outputs.raw_indices->scalar_type()));
    }
    params->raw_indices_row_stride_items =
        check_output("raw_indices", *outputs.raw_indices, arguments);
  }
  check_disjoint(arguments, outputs);
  params->indices = outputs.indices.mutable_data_ptr();
  if (outputs.values) params->values = outputs.values->mutable_data_ptr();
  if (outputs.raw_indices) {
    params->raw_indices = static_cast<std::int32_t*>(outputs.raw_indices->mutable_data_ptr());
  }
}

}  // namespace deepselect::op
