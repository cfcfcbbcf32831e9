// From run-time enumerations to template arguments.
#pragma once

#include <type_traits>

#include "deepselect/contract.h"

namespace deepselect::cuda {

template <ValueType kType>
using ValueTypeConstant = std::integral_constant<ValueType, kType>;

// Calls `body(ValueTypeConstant<type>{})`.
template <class Body>
void dispatch_value_type(ValueType type, Body&& body) {
  switch (type) {
    case ValueType::kBFloat16:
      return body(ValueTypeConstant<ValueType::kBFloat16>{});
    case ValueType::kFloat16:
      return body(ValueTypeConstant<ValueType::kFloat16>{});
    case ValueType::kFloat32:
      return body(ValueTypeConstant<ValueType::kFloat32>{});
    case ValueType::kInt32:
      return body(ValueTypeConstant<ValueType::kInt32>{});
  }
}

// Likewise, of the types that have scores: the op refuses weights and biases of int32.
template <class Body>
void dispatch_score_type(ValueType type, Body&& body) {
  switch (type) {
    case ValueType::kBFloat16:
      return body(ValueTypeConstant<ValueType::kBFloat16>{});
    case ValueType::kFloat16:
      return body(ValueTypeConstant<ValueType::kFloat16>{});
    case ValueType::kFloat32:
      return body(ValueTypeConstant<ValueType::kFloat32>{});
    case ValueType::kInt32:
      return;
  }
}

}  // namespace deepselect::cuda
