// From a call's value type and tier to the kernel's template arguments.
#pragma once

#include "ascend/tuning.h"
#include "deepselect/contract.h"

namespace deepselect::ascend {

template <ValueType kType, std::uint32_t kTierK>
struct KernelConfig {
  static constexpr ValueType kValueType = kType;
  using Tuning = RowPagedTuning<value_bytes(kType), kTierK>;
};

template <ValueType kType, class Function>
void dispatch_tier(std::uint32_t max_k, const Function& function) {
  if (max_k == 512) return function(KernelConfig<kType, 512>{});
  if (max_k == 1024) return function(KernelConfig<kType, 1024>{});
  return function(KernelConfig<kType, 4096>{});
}

// Calls function(KernelConfig<...>{}).
template <class Function>
void dispatch(ValueType type, std::uint32_t max_k, const Function& function) {
  switch (type) {
    case ValueType::kBFloat16:
      return dispatch_tier<ValueType::kBFloat16>(max_k, function);
    case ValueType::kFloat16:
      return dispatch_tier<ValueType::kFloat16>(max_k, function);
    case ValueType::kFloat32:
      return dispatch_tier<ValueType::kFloat32>(max_k, function);
    case ValueType::kInt32:
      return;  // refused before: kAscendLimits
  }
}

}  // namespace deepselect::ascend
