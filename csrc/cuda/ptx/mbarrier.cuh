// Barriers in shared memory that count arrivals and bytes, and stores that report to them. A phase
// ends when all arrivals have come and as many bytes as they announced; bytes may come first.
#pragma once

#include <cstdint>

#include "cuda/ptx/cluster.cuh"

namespace deepselect::cuda::ptx {

// mbarrier.init (PTX ISA 9.7.13.15.9, sm_80). Visible to the copy engine after
// fence_mbarrier_init(), to other threads after a barrier of theirs as well: the warp's, the CTA's
// or the cluster's.
__device__ __forceinline__ void mbarrier_init(std::uint64_t* barrier, std::uint32_t num_arrivals) {
#ifndef DEEPSELECT_NO_CLUSTERS
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
               :
               : "r"(shared_address(barrier)), "r"(num_arrivals)
               : "memory");
#endif
}
// fence.mbarrier_init (PTX ISA 9.7.13.5, sm_90).
__device__ __forceinline__ void fence_mbarrier_init() {
#ifndef DEEPSELECT_NO_CLUSTERS
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

// mbarrier.arrive.expect_tx (PTX ISA 9.7.13.15.13, sm_90): one arrival that announces `num_bytes`.
__device__ __forceinline__ void mbarrier_expect(std::uint64_t* barrier, std::uint32_t num_bytes) {
#ifndef DEEPSELECT_NO_CLUSTERS
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :
               : "r"(shared_address(barrier)), "r"(num_bytes)
               : "memory");
#endif
}

// The same, relaxed, on the barrier of any CTA of the cluster. Orders nothing, and costs no fence:
// what the waiting CTA reads has come by store_async().
__device__ __forceinline__ void mbarrier_arrive(std::uint32_t address, std::uint32_t num_bytes) {
#ifndef DEEPSELECT_NO_CLUSTERS
  asm volatile("mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.b64 _, [%0], %1;"
               :
               : "r"(address), "r"(num_bytes)
               : "memory");
#endif
}

// mbarrier.try_wait (PTX ISA 9.7.13.15.16, sm_90) until the first phase has ended.
__device__ __forceinline__ void mbarrier_wait_first(const std::uint64_t* barrier) {
#ifndef DEEPSELECT_NO_CLUSTERS
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "wait:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0;\n"
      "@done bra ended;\n"
      "bra wait;\n"
      "ended:\n"
      "}"
      :
      : "r"(shared_address(barrier))
      : "memory");
#endif
}

// st.async (PTX ISA 9.7.9.12, sm_90): stores into the CTA that also has the barrier, which counts
// the bytes once they can be seen.
__device__ __forceinline__ void store_async(std::uint32_t address, std::uint64_t value,
                                            std::uint32_t barrier_address) {
#ifndef DEEPSELECT_NO_CLUSTERS
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b64 [%0], %1, [%2];"
               :
               : "r"(address), "l"(value), "r"(barrier_address)
               : "memory");
#endif
}
__device__ __forceinline__ void store_async(std::uint32_t address, std::uint64_t first,
                                            std::uint64_t second, std::uint32_t barrier_address) {
#ifndef DEEPSELECT_NO_CLUSTERS
  asm volatile(
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b64 [%0], {%1, %2}, [%3];"
      :
      : "r"(address), "l"(first), "l"(second), "r"(barrier_address)
      : "memory");
#endif
}

}  // namespace deepselect::cuda::ptx
