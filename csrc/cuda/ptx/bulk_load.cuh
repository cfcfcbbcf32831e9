// Bulk copies from global memory into the CTA's shared memory.
#pragma once

#include <cstdint>

#include "cuda/ptx/shared_memory.cuh"

namespace deepselect::cuda::ptx {

// Whether the architecture being compiled for has them; load_bulk() is nothing where not.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr bool kHasBulkLoads = false;
#else
constexpr bool kHasBulkLoads = true;
#endif

// cp.async.bulk (PTX ISA 9.7.9.25.4, sm_90): the barrier counts the bytes when they have come, and
// was told before how many to expect. Addresses and size are multiples of 16.
__device__ __forceinline__ void load_bulk(void* target, const void* source, std::uint32_t num_bytes,
                                          std::uint64_t* barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
      :
      : "r"(shared_address(target)), "l"(__cvta_generic_to_global(source)), "r"(num_bytes),
        "r"(shared_address(barrier))
      : "memory");
#endif
}

}  // namespace deepselect::cuda::ptx
