// From a call's value type and tier to the kernel's template arguments.
#pragma once

#include "ascend/tuning.h"
#include "ascend/ub_plan.h"
#include "deepselect/contract.h"

namespace deepselect::ascend {

template <Architecture kArch, ValueType kType, std::uint32_t kTierK>
struct KernelConfig {
  static constexpr ValueType kValueType = kType;
  using Tuning = RowPagedTuning<kArch, value_bytes(kType), kTierK>;
  using Plan = UbPlan<kArch, kType, Tuning>;
};

template <Architecture kArch, ValueType kType, class Function>
constexpr void dispatch_tier(std::uint32_t max_k, const Function& function) {
  if (max_k == 512) return function(KernelConfig<kArch, kType, 512>{});
  if (max_k == 1024) return function(KernelConfig<kArch, kType, 1024>{});
  return function(KernelConfig<kArch, kType, 4096>{});
}

// Calls function(KernelConfig<...>{}).
template <Architecture kArch, class Function>
constexpr void dispatch(ValueType type, std::uint32_t max_k, const Function& function) {
  switch (type) {
    case ValueType::kBFloat16:
      return dispatch_tier<kArch, ValueType::kBFloat16>(max_k, function);
    case ValueType::kFloat16:
      return dispatch_tier<kArch, ValueType::kFloat16>(max_k, function);
    case ValueType::kFloat32:
      return dispatch_tier<kArch, ValueType::kFloat32>(max_k, function);
    case ValueType::kInt32:
      return;  // refused before: kAscendLimits
  }
}

template <class Function>
constexpr void dispatch(Architecture architecture, ValueType type, std::uint32_t max_k,
                        const Function& function) {
  if (architecture == Architecture::kDav3510) {
    return dispatch<Architecture::kDav3510>(type, max_k, function);
  }
  return dispatch<Architecture::kDav2201>(type, max_k, function);
}

}  // namespace deepselect::ascend
