// Errors for the user. The op raises RuntimeError (all that crosses torch's C++ boundary); the text
// carries the Python class that deepselect.topk re-raises it as:
//   deepselect.topk: ValueError: k must be >= 0, got -3
// Every message has the argument, the rule, what came and, where there is one, the remedy.
#pragma once

#include <sstream>
#include <stdexcept>

namespace deepselect::op {

template <class... Parts>
[[noreturn]] void raise(const char* python_class, const Parts&... parts) {
  std::ostringstream message;
  message << "deepselect.topk: " << python_class << ": ";
  (message << ... << parts);
  throw std::runtime_error(message.str());
}

// A wrong type or dtype.
template <class... Parts>
[[noreturn]] void raise_type_error(const Parts&... parts) {
  raise("TypeError", parts...);
}

// A wrong value, shape, layout, device or alignment.
template <class... Parts>
[[noreturn]] void raise_value_error(const Parts&... parts) {
  raise("ValueError", parts...);
}

}  // namespace deepselect::op
