// Hints to the memory system: they move no data that the program sees.
#pragma once

#include <cstdint>

namespace deepselect::cuda::ptx {

// cp.async.bulk.prefetch.L2 (PTX ISA 9.7.9.25, sm_90): asks for `num_bytes` from `source` on to be
// brought into L2. Both are multiples of 16. Nothing on older architectures.
__device__ __forceinline__ void prefetch_l2(const void* source, std::uint32_t num_bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;"
               :
               : "l"(__cvta_generic_to_global(source)), "r"(num_bytes)
               : "memory");
#endif
}

}  // namespace deepselect::cuda::ptx
