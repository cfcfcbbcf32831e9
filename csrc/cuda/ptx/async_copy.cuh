// Asynchronous copies from global to shared memory by the thread itself: it may go on, and waits
// for its own copies by groups.
#pragma once

#include <cstdint>

namespace deepselect::cuda::ptx {

// cp.async.cg.shared.global (PTX ISA 9.7.9.25.3.1, sm_80): 16 bytes to an address of shared memory,
// not kept in L1; L2 fetches the 256 bytes around. Both addresses are multiples of 16.
__device__ __forceinline__ void copy_async_16(std::uint32_t shared, const void* global) {
  asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16;"
               :
               : "r"(shared), "l"(__cvta_generic_to_global(global))
               : "memory");
}

// cp.async.ca.shared.global (likewise): 4 or 8 bytes to an address that is a multiple of them.
template <int kBytes>
__device__ __forceinline__ void copy_async_small(std::uint32_t shared, const void* global) {
  static_assert(kBytes == 4 || kBytes == 8, "16 bytes are copy_async_16()");
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;"
               :
               : "r"(shared), "l"(__cvta_generic_to_global(global)), "n"(kBytes)
               : "memory");
}

// cp.async.commit_group (9.7.9.25.3.2): the thread's copies since the last call are a group; maybe
// an empty one.
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// cp.async.wait_group (9.7.9.25.3.3): until all but the last kPending groups of the thread are
// complete, and visible to it.
template <int kPending>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

}  // namespace deepselect::cuda::ptx
