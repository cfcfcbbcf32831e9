// One function per access to shared memory by its 32-bit address.
#pragma once

#include <cstdint>

namespace deepselect::cuda::ptx {

// The address of an object in shared memory in the shared window: below 2^18.
__device__ __forceinline__ std::uint32_t shared_address(const void* object) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(object));
}

// The same, hiding from the compiler how it came about, so that it is kept in one register instead
// of being put together again, in another one, at every use.
__device__ __forceinline__ std::uint32_t opaque_shared_address(const void* object) {
  std::uint32_t address = shared_address(object);
  asm("" : "+r"(address));
  return address;
}

// The same as a pointer.
template <class T>
__device__ __forceinline__ T* opaque_shared(T* object) {
  return static_cast<T*>(__cvta_shared_to_generic(opaque_shared_address(object)));
}

// red.shared.add.u32 (PTX ISA 9.7.13.7) of one. Lanes that hit the same counter are merged.
__device__ __forceinline__ void count_at(std::uint32_t shared_address) {
  asm volatile("red.shared.add.u32 [%0], 1;" : : "r"(shared_address) : "memory");
}

// atom.shared.add.u32 (PTX ISA 9.7.13.5): the counter's old value. As an instruction of its own it
// is not put behind a vote of the warp, which costs more than it saves where few lanes count.
__device__ __forceinline__ std::uint32_t take_at(std::uint32_t shared_address,
                                                 std::uint32_t count = 1) {
  std::uint32_t old;
  asm volatile("atom.shared.add.u32 %0, [%1], %2;"
               : "=r"(old)
               : "r"(shared_address), "r"(count)
               : "memory");
  return old;
}

}  // namespace deepselect::cuda::ptx
