// Checks of every argument but the outputs.
#include <torch/headeronly/util/BFloat16.h>
#include <torch/headeronly/util/Half.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "op/checks.h"
#include "op/errors.h"
#include "op/tensor_rows.h"

namespace deepselect::op {
namespace {

std::optional<ValueType> value_type_of(ScalarType type) {
  switch (type) {
    case ScalarType::BFloat16:
      return ValueType::kBFloat16;
    case ScalarType::Half:
      return ValueType::kFloat16;
    case ScalarType::Float:
      return ValueType::kFloat32;
    case ScalarType::Int:
      return ValueType::kInt32;
    default:
      return std::nullopt;
  }
}

std::string supported_dtypes(std::uint32_t value_types) {
  constexpr std::array<ScalarType, 4> kTypes{ScalarType::BFloat16, ScalarType::Half,
                                             ScalarType::Float, ScalarType::Int};
  std::string text;
  for (ScalarType type : kTypes) {
    if ((value_types & value_type_bit(*value_type_of(type))) == 0) continue;
    text += (text.empty() ? "" : ", ") + dtype_name(type);
  }
  return text;
}

void check_alignment(const Tensor& input, const RowLayout& rows, const BackendLimits& limits) {
  const std::int64_t alignment = limits.row_alignment_bytes;
  if (alignment <= 1 || rows.num_rows == 0 || rows.num_cols == 0) return;
  const std::int64_t stride_bytes =
      rows.row_stride_items * static_cast<std::int64_t>(input.element_size());
  const auto address = reinterpret_cast<std::uintptr_t>(input.const_data_ptr());
  if (address % static_cast<std::uintptr_t>(alignment) == 0 &&
      (rows.num_rows == 1 || stride_bytes % alignment == 0)) {
    return;
  }
  raise_value_error("input must have its base address and row stride aligned to ", alignment,
                    " bytes on ", limits.name, ", got address modulo ", alignment, " = ",
                    address % static_cast<std::uintptr_t>(alignment), " and row stride ",
                    stride_bytes, " bytes; allocate it with deepselect.empty_rows");
}

void describe_input(const Tensor& input, const BackendLimits& limits, TopkParams* params) {
  const std::optional<ValueType> type = value_type_of(input.scalar_type());
  if (!type || (limits.value_types & value_type_bit(*type)) == 0) {
    raise_type_error("input must have one of the dtypes ", supported_dtypes(limits.value_types),
                     " on ", limits.name, ", got ", dtype_name(input.scalar_type()),
                     "; convert it, e.g. with .float()");
  }
  if (input.dim() == 0) {
    raise_value_error(
        "input must have at least 1 dimension, got a 0-dim tensor; use input.reshape(1)");
  }
  const RowLayout rows = collapse_rows("input", input, "; use input.contiguous()");
  if (rows.num_cols > limits.max_cols) {
    raise_value_error("input must have at most ", limits.max_cols, " columns on ", limits.name,
                      ", got ", rows.num_cols);
  }
  check_alignment(input, rows, limits);
  params->input = input.const_data_ptr();
  params->value_type = *type;
  params->num_rows = rows.num_rows;
  params->num_cols = rows.num_cols;
  params->input_row_stride_items = rows.row_stride_items;
}

void check_k(std::int64_t k, const BackendLimits& limits) {
  if (k < 0) raise_value_error("k must be >= 0, got ", k);
  if (k > limits.max_k) {
    raise_value_error("k must be at most ", limits.max_k, " on ", limits.name, ", got ", k);
  }
}

// A tensor of shape (rows,) with one integer per row.
RowVector describe_row_vector(const char* name, const std::optional<Tensor>& tensor,
                              bool allow_int64, const TopkArguments& arguments,
                              const TopkParams& params) {
  if (!tensor) return {};
  const ScalarType type = tensor->scalar_type();
  const bool is_int64 = type == ScalarType::Long;
  if (type != ScalarType::Int && !(is_int64 && allow_int64)) {
    raise_type_error(name, " must be ", allow_int64 ? "int32 or int64" : "int32", ", got ",
                     dtype_name(type), "; convert it with .to(torch.int32)");
  }
  if (tensor->dim() != 1 || tensor->size(0) != params.num_rows) {
    raise_value_error(name, " must have shape (rows,) = (", params.num_rows, ",), got ",
                      tuple_text(tensor->sizes()),
                      "; it is not broadcast: use .expand or .reshape(-1)");
  }
  check_device(name, *tensor, arguments.input);
  RowVector vector{};
  vector.data = tensor->const_data_ptr();
  vector.stride_items = tensor->stride(0);
  vector.type = is_int64 ? IndexType::kInt64 : IndexType::kInt32;
  return vector;
}

std::int32_t check_page_size(std::int64_t page_size) {
  const bool in_range = page_size >= 1 && page_size <= (std::int64_t{1} << kMaxLog2PageSize);
  if (!in_range || (page_size & (page_size - 1)) != 0) {
    raise_value_error("page_size must be a power of two from 1 to 2^", kMaxLog2PageSize, ", got ",
                      page_size);
  }
  std::int32_t log2 = 0;
  while ((std::int64_t{1} << log2) < page_size) ++log2;
  return log2;
}

void describe_page_table(const TopkArguments& arguments, TopkParams* params) {
  params->log2_page_size = check_page_size(arguments.page_size);
  if (!arguments.page_table) {
    if (arguments.page_size != 1) {
      raise_value_error("page_size must be 1 where page_table is not given, got ",
                        arguments.page_size, "; pass page_table");
    }
    if (arguments.page_table_row) {
      raise_value_error("page_table_row must not be given without page_table; pass page_table");
    }
    if (arguments.page_table_begin) {
      raise_value_error("page_table_begin must not be given without page_table; pass page_table");
    }
    return;
  }
  const Tensor& table = *arguments.page_table;
  if (table.scalar_type() != ScalarType::Int) {
    raise_type_error("page_table must be int32, got ", dtype_name(table.scalar_type()),
                     "; convert it with .to(torch.int32)");
  }
  if (table.dim() != 2) {
    raise_value_error("page_table must have shape (tables, pages), got ",
                      tuple_text(table.sizes()));
  }
  check_device("page_table", table, arguments.input);
  if (arguments.index_offset) {
    raise_value_error(
        "index_offset must not be given together with page_table, got both; add the offset to "
        "the table's entries");
  }
  params->num_tables = table.size(0);
  params->num_table_pages = table.size(1);
  if (params->num_table_pages > kMaxInt32) {
    raise_value_error("page_table must have fewer than 2^31 pages, got ", params->num_table_pages);
  }
  if (!arguments.page_table_row && params->num_tables < params->num_rows) {
    raise_value_error("page_table must have a row for each of input's ", params->num_rows,
                      " rows, got ", params->num_tables, "; pass page_table_row to share rows");
  }
  // An empty table has no memory, but is not an absent one: every window is empty, nothing is read.
  static constexpr std::int32_t kNoEntry = 0;
  const void* entries = table.const_data_ptr();
  params->page_table = entries == nullptr ? &kNoEntry : static_cast<const std::int32_t*>(entries);
  params->page_table_row_stride_items = table.stride(0);
  params->page_table_col_stride_items = table.stride(1);
  params->page_table_row =
      describe_row_vector("page_table_row", arguments.page_table_row, false, arguments, *params);
  params->page_table_begin = describe_row_vector("page_table_begin", arguments.page_table_begin,
                                                 false, arguments, *params);
}

Order check_order(std::string_view name) {
  if (name == "any") return Order::kAny;
  if (name == "value") return Order::kValue;
  if (name == "index") return Order::kIndex;
  raise_value_error("order must be 'any', 'value' or 'index', got '", name, "'");
}

NanRule check_nan(std::string_view name) {
  if (name == "largest") return NanRule::kLargest;
  if (name == "smallest") return NanRule::kSmallest;
  if (name == "poison") return NanRule::kPoison;
  raise_value_error("nan must be 'largest', 'smallest' or 'poison', got '", name, "'");
}

Weights check_weights(std::string_view name) {
  if (name == "none") return Weights::kNone;
  if (name == "softmax") return Weights::kSoftmax;
  if (name == "softmax_selected") return Weights::kSoftmaxSelected;
  if (name == "sigmoid") return Weights::kSigmoid;
  if (name == "sigmoid_selected") return Weights::kSigmoidSelected;
  raise_value_error(
      "weights must be 'none', 'softmax', 'softmax_selected', 'sigmoid' or 'sigmoid_selected', "
      "got '",
      name, "'");
}

const float* check_bias(const TopkArguments& arguments, const TopkParams& params) {
  if (arguments.bias == nullptr) return nullptr;
  const Tensor& bias = *arguments.bias;
  if (bias.scalar_type() != ScalarType::Float) {
    raise_type_error("bias must be float32, got ", dtype_name(bias.scalar_type()),
                     "; convert it with .float()");
  }
  if (bias.dim() != 1 || bias.size(0) != params.num_cols) {
    raise_value_error("bias must have shape (cols,) = (", params.num_cols, ",), got ",
                      tuple_text(bias.sizes()));
  }
  check_device("bias", bias, arguments.input);
  if (params.num_cols > 1 && bias.stride(0) != 1) {
    raise_value_error("bias must have stride 1, got ", bias.stride(0), "; use bias.contiguous()");
  }
  // An empty bias has no memory and nothing to add to.
  return static_cast<const float*>(bias.const_data_ptr());
}

// Weights and bias are of real scores, and not of every backend.
void describe_weights(const TopkArguments& arguments, const BackendLimits& limits,
                      TopkParams* params) {
  params->weights = check_weights(arguments.weights);
  params->bias = check_bias(arguments, *params);
  if (params->weights == Weights::kNone && arguments.bias == nullptr) return;
  const char* name = params->weights != Weights::kNone ? "weights" : "bias";
  if (!is_floating(params->value_type)) {
    raise_type_error(name, " must not be given for an int32 input; convert it with .float()");
  }
  if (!limits.has_weights) {
    raise_value_error(name, " must not be given on ", limits.name,
                      ", which does not serve weights and bias; compute them from the values");
  }
}

double worst_value(ValueType type, bool largest) {
  if (is_floating(type)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return largest ? -infinity : infinity;
  }
  return largest ? std::numeric_limits<std::int32_t>::min()
                 : std::numeric_limits<std::int32_t>::max();
}

// Rounds as torch.full does: to float32, then to nearest even.
std::uint32_t check_pad_value(std::optional<double> given, ValueType type, bool largest) {
  const double value = given.value_or(worst_value(type, largest));
  if (type == ValueType::kInt32) {
    const bool in_range = value >= std::numeric_limits<std::int32_t>::min() &&
                          value <= std::numeric_limits<std::int32_t>::max();
    if (!in_range || std::nearbyint(value) != value) {
      raise_value_error("pad_value must be an integer in int32's range for an int32 input, got ",
                        value);
    }
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
  }
  if (type == ValueType::kFloat32 && std::isfinite(value) &&
      std::fabs(value) > static_cast<double>(std::numeric_limits<float>::max())) {
    raise_value_error("pad_value must be in float32's range for float32 values, got ", value);
  }
  const float rounded = static_cast<float>(value);
  if (type == ValueType::kBFloat16) return torch::headeronly::BFloat16(rounded).x;
  if (type == ValueType::kFloat16) return torch::headeronly::Half(rounded).x;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &rounded, sizeof(bits));
  return bits;
}

}  // namespace

TopkParams describe_inputs(const TopkArguments& arguments, const BackendLimits& limits) {
  TopkParams params{};
  describe_input(arguments.input, limits, &params);
  check_k(arguments.k, limits);
  params.k = arguments.k;
  params.begin = describe_row_vector("begin", arguments.begin, true, arguments, params);
  params.end = describe_row_vector("end", arguments.end, true, arguments, params);
  params.index_offset =
      describe_row_vector("index_offset", arguments.index_offset, true, arguments, params);
  describe_page_table(arguments, &params);
  describe_weights(arguments, limits, &params);
  params.order = check_order(arguments.order);
  params.nan_rule = check_nan(arguments.nan);
  params.largest = arguments.largest;
  params.pad_index = arguments.pad_index;
  params.pad_value_bits =
      params.weights == Weights::kNone
          ? check_pad_value(arguments.pad_value, params.value_type, arguments.largest)
          : check_pad_value(arguments.pad_value.value_or(0.0), ValueType::kFloat32, true);
  return params;
}

}  // namespace deepselect::op
