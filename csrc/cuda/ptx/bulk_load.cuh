// Bulk copies from global memory into the CTA's shared memory, and the barrier that says when one
// has come.
#pragma once

#include <cstdint>

#include "cuda/ptx/shared_memory.cuh"

namespace deepselect::cuda::ptx {

// Whether the architecture being compiled for has them; the functions are nothing where not.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
constexpr bool kHasBulkLoads = false;
#else
constexpr bool kHasBulkLoads = true;
#endif

// mbarrier.init (PTX ISA 9.7.13.15.9) for one arrival, fence.mbarrier_init (9.7.13.5) for the copy
// engine; other threads need a barrier of theirs before they wait.
__device__ __forceinline__ void bulk_barrier_init(std::uint64_t* barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile(
      "mbarrier.init.shared::cta.b64 [%0], 1;\n"
      "fence.mbarrier_init.release.cluster;"
      :
      : "r"(shared_address(barrier))
      : "memory");
#endif
}

// mbarrier.arrive.expect_tx (PTX ISA 9.7.13.15.13) and cp.async.bulk (9.7.9.25.4): the barrier's
// phase ends when the bytes have come. Addresses and size are multiples of 16.
__device__ __forceinline__ void load_bulk(void* target, const void* source, std::uint32_t num_bytes,
                                          std::uint64_t* barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%3], %2;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
      :
      : "r"(shared_address(target)), "l"(__cvta_generic_to_global(source)), "r"(num_bytes),
        "r"(shared_address(barrier))
      : "memory");
#endif
}

// mbarrier.try_wait (PTX ISA 9.7.13.15.16) until the barrier's first phase has ended; its bytes are
// then visible.
__device__ __forceinline__ void bulk_barrier_wait(const std::uint64_t* barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "wait:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
      "@!done bra wait;\n"
      "}"
      :
      : "r"(shared_address(barrier))
      : "memory");
#endif
}

}  // namespace deepselect::cuda::ptx
