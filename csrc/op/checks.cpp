#include "op/checks.h"

#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/headeronly/util/BFloat16.h>
#include <torch/headeronly/util/Half.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "deepselect/order_key.h"
#include "op/errors.h"

namespace deepselect::op {
namespace {

using torch::headeronly::IntHeaderOnlyArrayRef;

// ---- Names in messages ------------------------------------------------------------------------

std::string dtype_name(ScalarType type) {
  switch (type) {
    case ScalarType::Byte:
      return "uint8";
    case ScalarType::Char:
      return "int8";
    case ScalarType::Short:
      return "int16";
    case ScalarType::Int:
      return "int32";
    case ScalarType::Long:
      return "int64";
    case ScalarType::Half:
      return "float16";
    case ScalarType::Float:
      return "float32";
    case ScalarType::Double:
      return "float64";
    case ScalarType::BFloat16:
      return "bfloat16";
    case ScalarType::Bool:
      return "bool";
    default:
      return torch::headeronly::toString(type);
  }
}

std::string tuple_text(IntHeaderOnlyArrayRef items) {
  std::ostringstream text;
  text << "(";
  for (std::size_t i = 0; i < items.size(); ++i) text << (i == 0 ? "" : ", ") << items[i];
  text << (items.size() == 1 ? ",)" : ")");
  return text.str();
}

std::string device_name(const Tensor& tensor) {
  std::int32_t type = 0;
  STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(tensor.get(), &type));
  if (type == aoti_torch_device_type_cpu()) return "cpu";
  std::ostringstream name;
  if (type == aoti_torch_device_type_cuda()) {
    name << "cuda:";
  } else if (type == aoti_torch_device_type_privateuse1()) {
    name << "npu:";
  } else {
    name << "device type " << type << ", index ";
  }
  name << tensor.get_device_index();
  return name.str();
}

// ---- Properties of one tensor -----------------------------------------------------------------

// A tensor (..., cols) as rows of one stride.
struct RowLayout {
  std::int64_t num_rows;
  std::int64_t num_cols;
  std::int64_t row_stride_items;
};

bool is_same_device(const Tensor& a, const Tensor& b) {
  std::int32_t type_a = 0;
  std::int32_t type_b = 0;
  STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(a.get(), &type_a));
  STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(b.get(), &type_b));
  return type_a == type_b && a.get_device_index() == b.get_device_index();
}

void check_device(const char* name, const Tensor& tensor, const Tensor& input) {
  if (is_same_device(tensor, input)) return;
  raise_value_error(name, " must be on input's device, ", device_name(input), ", got ",
                    device_name(tensor), "; move it with .to(input.device)");
}

// Requires at least one dimension. `remedy` ends the message about strides.
RowLayout collapse_rows(const char* name, const Tensor& tensor, const char* remedy) {
  const IntHeaderOnlyArrayRef sizes = tensor.sizes();
  const IntHeaderOnlyArrayRef strides = tensor.strides();
  const std::size_t last = sizes.size() - 1;
  RowLayout layout{1, sizes[last], 0};

  if (layout.num_cols > 1 && strides[last] != 1) {
    raise_value_error(name, " must have stride 1 in its last dimension, got strides ",
                      tuple_text(strides), remedy);
  }
  for (std::size_t i = 0; i < last; ++i) {
    if (sizes[i] == 0) return {0, layout.num_cols, 0};
  }
  for (std::size_t i = last; i-- > 0;) {
    if (sizes[i] == 1) continue;
    if (layout.num_rows == 1) {
      layout.row_stride_items = strides[i];
    } else if (strides[i] != layout.row_stride_items * layout.num_rows) {
      raise_value_error(name, " must have leading dimensions that collapse to one row stride, got ",
                        "sizes ", tuple_text(sizes), " and strides ", tuple_text(strides), remedy);
    }
    if (layout.num_rows > kMaxInt32 / sizes[i]) {
      raise_value_error(name, " must have fewer than 2^31 rows, got sizes ", tuple_text(sizes));
    }
    layout.num_rows *= sizes[i];
  }
  return layout;
}

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

// ---- Arguments --------------------------------------------------------------------------------

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
  params->page_table = static_cast<const std::int32_t*>(table.const_data_ptr());
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

// ---- Pads -------------------------------------------------------------------------------------

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
    raise_value_error("pad_value must be in float32's range for a float32 input, got ", value);
  }
  const float rounded = static_cast<float>(value);
  if (type == ValueType::kBFloat16) return torch::headeronly::BFloat16(rounded).x;
  if (type == ValueType::kFloat16) return torch::headeronly::Half(rounded).x;
  std::uint32_t bits = 0;
  std::memcpy(&bits, &rounded, sizeof(bits));
  return bits;
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

// ---- Outputs ----------------------------------------------------------------------------------

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
  std::int32_t device_type = 0;
  STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(like.get(), &device_type));
  AtenTensorHandle handle = nullptr;
  STABLE_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(
      static_cast<std::int64_t>(sizes.size()), sizes.data(), strides.data(),
      torch::stable::detail::to<std::int32_t>(torch::stable::detail::from(type)), device_type,
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

// The addresses a tensor spans, empty where it has no elements.
struct AddressRange {
  const char* name;
  std::uintptr_t first;
  std::uintptr_t past;
};

AddressRange address_range(const char* name, const Tensor& tensor) {
  const IntHeaderOnlyArrayRef sizes = tensor.sizes();
  const IntHeaderOnlyArrayRef strides = tensor.strides();
  std::int64_t num_items = 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) return {name, 0, 0};
    num_items += (sizes[i] - 1) * strides[i];
  }
  const auto first = reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr());
  return {name, first, first + static_cast<std::uintptr_t>(num_items) * tensor.element_size()};
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
  params.order = check_order(arguments.order);
  params.nan_rule = check_nan(arguments.nan);
  params.largest = arguments.largest;
  params.pad_index = arguments.pad_index;
  params.pad_value_bits =
      check_pad_value(arguments.pad_value, params.value_type, arguments.largest);
  return params;
}

IndexType check_index_dtype(std::optional<ScalarType> index_dtype) {
  if (!index_dtype || *index_dtype == ScalarType::Int) return IndexType::kInt32;
  if (*index_dtype == ScalarType::Long) return IndexType::kInt64;
  raise_type_error("index_dtype must be torch.int32 or torch.int64, got ",
                   dtype_name(*index_dtype));
}

std::tuple<Tensor, Tensor> add_new_outputs(const TopkArguments& arguments, bool return_values,
                                           std::optional<ScalarType> index_dtype,
                                           TopkParams* params) {
  params->index_type = check_index_dtype(index_dtype);
  check_pad_index(arguments.pad_index, params->index_type);
  const std::vector<std::int64_t> sizes = output_sizes(arguments);
  const ScalarType index_scalar_type =
      params->index_type == IndexType::kInt64 ? ScalarType::Long : ScalarType::Int;
  Tensor indices = new_contiguous(sizes, index_scalar_type, arguments.input);
  Tensor values = new_contiguous(return_values ? sizes : std::vector<std::int64_t>{0},
                                 arguments.input.scalar_type(), arguments.input);
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
  check_pad_index(arguments.pad_index, params->index_type);
  params->indices_row_stride_items = check_output("indices", outputs.indices, arguments);
  if (outputs.values) {
    if (outputs.values->scalar_type() != arguments.input.scalar_type()) {
      raise_type_error("values must have input's dtype, ",
                       dtype_name(arguments.input.scalar_type()), ", got ",
                       dtype_name(outputs.values->scalar_type()));
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
