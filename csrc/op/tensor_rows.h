// Properties of a tensor that several checks need: names for messages, rows of one stride,
// addresses.
#pragma once

#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>

#include <cstdint>
#include <string>

namespace deepselect::op {

using torch::headeronly::IntHeaderOnlyArrayRef;
using torch::headeronly::ScalarType;
using torch::stable::Tensor;

// As Python prints them: "float32", "(4, 8)".
std::string dtype_name(ScalarType type);
std::string tuple_text(IntHeaderOnlyArrayRef items);

std::int32_t device_type(const Tensor& tensor);

// Raises unless `tensor`, the argument `name`, is on input's device.
void check_device(const char* name, const Tensor& tensor, const Tensor& input);

// A tensor (..., cols) as rows of one stride.
struct RowLayout {
  std::int64_t num_rows;
  std::int64_t num_cols;
  std::int64_t row_stride_items;
};

// Raises unless the last stride is 1 and the leading ones collapse. Requires at least one
// dimension; `remedy` ends the message.
RowLayout collapse_rows(const char* name, const Tensor& tensor, const char* remedy);

// The addresses a tensor spans, empty where it has no elements.
struct AddressRange {
  const char* name;
  std::uintptr_t first;
  std::uintptr_t past;
};

AddressRange address_range(const char* name, const Tensor& tensor);

}  // namespace deepselect::op
