// Thread-block clusters: ranks, the cluster's barrier, distributed shared memory. Shared addresses
// are 32-bit; one of the own CTA's is also an address of the cluster's shared memory. All of it
// needs sm_90; on older architectures, where no cluster is launched, the functions do nothing.
#pragma once

#include <cstdint>

#include "cuda/ptx/shared_memory.cuh"

namespace deepselect::cuda::ptx {

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define DEEPSELECT_NO_CLUSTERS
#endif

// %cluster_ctarank (PTX ISA 10.16, sm_90): this CTA's number within its cluster.
__device__ __forceinline__ std::uint32_t cluster_rank() {
  std::uint32_t rank = 0;
#ifndef DEEPSELECT_NO_CLUSTERS
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
  return rank;
}

// barrier.cluster (PTX ISA 9.7.13.4, sm_90), all threads of the cluster. What came before the
// arrival is visible after the wait; threads that have ended are not waited for. The wait empties
// the L1 cache.
__device__ __forceinline__ void cluster_arrive() {
#ifndef DEEPSELECT_NO_CLUSTERS
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}
// Orders nothing but initialised barriers (fence_mbarrier_init()); costs no fence.
__device__ __forceinline__ void cluster_arrive_relaxed() {
#ifndef DEEPSELECT_NO_CLUSTERS
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}
__device__ __forceinline__ void cluster_wait() {
#ifndef DEEPSELECT_NO_CLUSTERS
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// mapa (PTX ISA 9.7.9.22, sm_90): the place of CTA `rank` that corresponds to an own one.
__device__ __forceinline__ std::uint32_t address_in_cta(const void* pointer, std::uint32_t rank) {
  std::uint32_t address = 0;
#ifndef DEEPSELECT_NO_CLUSTERS
  asm("mapa.shared::cluster.u32 %0, %1, %2;"
      : "=r"(address)
      : "r"(shared_address(pointer)), "r"(rank));
#endif
  return address;
}

// ld, st and atom on another CTA's shared memory (PTX ISA 9.7.9.8, 9.7.9.11, 9.7.13.5, sm_90);
// ordered by the cluster's barrier.
__device__ __forceinline__ uint4 load_cluster(std::uint32_t address) {
  uint4 value{};
#ifndef DEEPSELECT_NO_CLUSTERS
  asm volatile("ld.shared::cluster.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "r"(address)
               : "memory");
#endif
  return value;
}
__device__ __forceinline__ void store_cluster(std::uint32_t address, uint4 value) {
#ifndef DEEPSELECT_NO_CLUSTERS
  asm volatile("st.shared::cluster.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "r"(address), "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w)
               : "memory");
#endif
}
__device__ __forceinline__ void store_cluster(std::uint32_t address, std::uint64_t value) {
#ifndef DEEPSELECT_NO_CLUSTERS
  asm volatile("st.shared::cluster.u64 [%0], %1;" : : "r"(address), "l"(value) : "memory");
#endif
}
__device__ __forceinline__ std::uint32_t add_cluster(std::uint32_t address, std::uint32_t value) {
  std::uint32_t old = 0;
#ifndef DEEPSELECT_NO_CLUSTERS
  asm volatile("atom.relaxed.cluster.shared::cluster.add.u32 %0, [%1], %2;"
               : "=r"(old)
               : "r"(address), "r"(value)
               : "memory");
#endif
  return old;
}

}  // namespace deepselect::cuda::ptx
