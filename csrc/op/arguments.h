// The op's arguments as torch passes them through the stable ABI, in schema order.
#pragma once

#include <torch/csrc/stable/tensor.h>
#include <torch/headeronly/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "deepselect/contract.h"

namespace deepselect::op {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

// What both overloads take; weights and bias last, since most calls have none.
struct TopkArguments {
  const Tensor& input;
  std::int64_t k;
  const std::optional<Tensor>& begin;
  const std::optional<Tensor>& end;
  const std::optional<Tensor>& index_offset;
  const std::optional<Tensor>& page_table;
  const std::optional<Tensor>& page_table_row;
  const std::optional<Tensor>& page_table_begin;
  std::int64_t page_size;
  std::string_view order;
  bool largest;
  std::string_view nan;
  std::int64_t pad_index;
  std::optional<double> pad_value;
  const Tensor* bias = nullptr;
  std::string_view weights = "none";
};

// Where the results go; values and raw_indices may be absent.
struct TopkOutputs {
  const std::optional<Tensor>& values;
  const Tensor& indices;
  const std::optional<Tensor>& raw_indices;
};

// A str argument: torch hands over ownership of the string, which TORCH_BOX's own conversion to
// std::string leaks (96 bytes a call, torch 2.10 to 2.13).
class StringArgument {
 public:
  explicit StringArgument(StringHandle handle);
  ~StringArgument();
  StringArgument(const StringArgument&) = delete;
  StringArgument& operator=(const StringArgument&) = delete;
  std::string_view view() const { return view_; }

 private:
  StringHandle handle_;
  std::string_view view_;
};

}  // namespace deepselect::op
