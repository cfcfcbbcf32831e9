#include "op/arguments.h"

#include <torch/csrc/stable/c/shim.h>

namespace deepselect::op {

StringArgument::StringArgument(StringHandle handle) : handle_(handle) {
  const char* data = nullptr;
  std::size_t length = 0;
  TORCH_ERROR_CODE_CHECK(torch_string_c_str(handle_, &data));
  TORCH_ERROR_CODE_CHECK(torch_string_length(handle_, &length));
  view_ = std::string_view(data, length);
}

StringArgument::~StringArgument() {
  torch_delete_string(handle_);
}

}  // namespace deepselect::op
