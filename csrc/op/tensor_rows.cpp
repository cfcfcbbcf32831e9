#include "op/tensor_rows.h"

#include <torch/csrc/inductor/aoti_torch/c/shim.h>

#include <sstream>

#include "deepselect/contract.h"
#include "op/errors.h"

namespace deepselect::op {
namespace {

std::string device_name(const Tensor& tensor) {
  const std::int32_t type = device_type(tensor);
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

}  // namespace

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

std::int32_t device_type(const Tensor& tensor) {
  std::int32_t type = 0;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(tensor.get(), &type));
  return type;
}

void check_device(const char* name, const Tensor& tensor, const Tensor& input) {
  if (device_type(tensor) == device_type(input) &&
      tensor.get_device_index() == input.get_device_index()) {
    return;
  }
  raise_value_error(name, " must be on input's device, ", device_name(input), ", got ",
                    device_name(tensor), "; move it with .to(input.device)");
}

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

}  // namespace deepselect::op
