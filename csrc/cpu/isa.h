// Which instruction sets this build and this machine have.
#pragma once

#include "cpu/scan_primitives.h"
#include "cpu/topk_cpu.h"

namespace deepselect::cpu {

// Null where the build or the machine lacks `isa`.
const IsaPrimitives* primitives_of(Isa isa);

// Of the widest available.
const IsaPrimitives& best_primitives();

// topk() is this with best_primitives(); tests give it every level.
void topk_with(const IsaPrimitives& isa, const TopkParams& params, const ThreadPool& pool);

template <ValueType kType>
const ScanPrimitives<kType>& primitives_for(const IsaPrimitives& isa) {
  if constexpr (kType == ValueType::kBFloat16) {
    return isa.bfloat16;
  } else if constexpr (kType == ValueType::kFloat16) {
    return isa.float16;
  } else if constexpr (kType == ValueType::kFloat32) {
    return isa.float32;
  } else {
    return isa.int32;
  }
}

}  // namespace deepselect::cpu
