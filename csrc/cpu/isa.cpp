#include "cpu/isa.h"

#include <initializer_list>

namespace deepselect::cpu {

const IsaPrimitives* primitives_of(Isa isa) {
  switch (isa) {
    case Isa::kPortable:
      return &scan_primitives_portable();
#if defined(__x86_64__)
    // __builtin_cpu_supports also asks whether the operating system saves the registers.
    case Isa::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                     __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt")
                 ? &scan_primitives_avx2()
                 : nullptr;
    case Isa::kAvx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                     __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                     __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                     __builtin_cpu_supports("popcnt")
                 ? &scan_primitives_avx512()
                 : nullptr;
#endif
    default:
      return nullptr;
  }
}

const IsaPrimitives& best_primitives() {
  static const IsaPrimitives& best = []() -> const IsaPrimitives& {
    for (const Isa isa : {Isa::kAvx512, Isa::kAvx2}) {
      if (const IsaPrimitives* primitives = primitives_of(isa)) return *primitives;
    }
    return scan_primitives_portable();
  }();
  return best;
}

}  // namespace deepselect::cpu
