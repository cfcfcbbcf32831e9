// From run-time enumerations to template arguments.
#pragma once

#include <stdexcept>
#include <string>
#include <type_traits>

#include "cuda/variant.h"
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
  dispatch_value_type(type, [&](auto value_type) {
    if constexpr (is_floating(decltype(value_type)::value)) body(value_type);
  });
}

// Calls `try_policy(policy)` for one policy after the other until it returns true; throws where
// none does: the plan then names a policy that is not compiled.
template <class... Policies, class TryPolicy>
void dispatch_policy(Variant variant, TryPolicy&& try_policy) {
  if ((try_policy(Policies{}) || ...)) return;
  throw std::runtime_error(std::string("deepselect.topk: CUDA variant ") + variant_name(variant) +
                           " is not compiled for the plan's policy");
}

}  // namespace deepselect::cuda
