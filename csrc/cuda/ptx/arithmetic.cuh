// One function per arithmetic or bit-manipulation instruction that C++ has no spelling for.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deepselect::cuda::ptx {

// fma.rn.bf16x2 (PTX ISA 9.7.4.4, sm_80): a * b + c on two packed bfloat16. Subnormals are kept;
// NaN results are the canonical 0x7FFF.
__device__ __forceinline__ std::uint32_t fma_bf16x2(std::uint32_t a, std::uint32_t b,
                                                    std::uint32_t c) {
  std::uint32_t d;
  asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

// fma.rn.f16x2 (PTX ISA 9.7.4.4, sm_53): as above on two packed float16.
__device__ __forceinline__ std::uint32_t fma_f16x2(std::uint32_t a, std::uint32_t b,
                                                   std::uint32_t c) {
  std::uint32_t d;
  asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
  return d;
}

// fma.rn.f32 (PTX ISA 9.7.3.6) without .ftz whatever the compiler's flags: subnormals are kept; NaN
// results are the canonical 0x7FFFFFFF.
__device__ __forceinline__ std::uint32_t fma_f32(std::uint32_t a, std::uint32_t b,
                                                 std::uint32_t c) {
  float d;
  asm("fma.rn.f32 %0, %1, %2, %3;"
      : "=f"(d)
      : "f"(__uint_as_float(a)), "f"(__uint_as_float(b)), "f"(__uint_as_float(c)));
  return __float_as_uint(d);
}

// cvt.f32.f16 (PTX ISA 9.7.9.21): exact, subnormals included.
__device__ __forceinline__ float float_of_f16(std::uint16_t bits) {
  float d;
  asm("cvt.f32.f16 %0, %1;" : "=f"(d) : "h"(bits));
  return d;
}

// ex2.approx.f32 (PTX ISA 9.7.3.21): 2^a to 2^-22 relatively; 0 of -inf, NaN of NaN. Subnormal
// results are flushed, so that no instruction is spent on them.
__device__ __forceinline__ float exp2_approx(float a) {
  float d;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(d) : "f"(a));
  return d;
}

// prmt.b32 (PTX ISA 9.7.9.7) in its sign-replicating form: each 16-bit half becomes 0xFFFF where
// its sign bit is set, else 0.
__device__ __forceinline__ std::uint32_t replicate_signs_16x2(std::uint32_t a) {
  std::uint32_t d;
  asm("prmt.b32 %0, %1, 0, 0xBB99;" : "=r"(d) : "r"(a));
  return d;
}

// No instruction: hides from the compiler how an address of global memory came about, so that it is
// kept as it is instead of being put together again at every use.
template <class T>
__device__ __forceinline__ T* opaque_global(T* address) {
  std::size_t global = __cvta_generic_to_global(address);
  asm("" : "+l"(global));
  return static_cast<T*>(__cvta_global_to_generic(global));
}

// No instruction: what is made of the result is made where it is used, and not kept in registers
// all through a loop around it.
__device__ __forceinline__ std::uint32_t made_here(std::uint32_t value) {
  asm volatile("" : "+r"(value));
  return value;
}

// %lanemask_lt (PTX ISA 10.20): bit per lane of the warp below this one.
__device__ __forceinline__ std::uint32_t lanes_below() {
  std::uint32_t mask;
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  return mask;
}

}  // namespace deepselect::cuda::ptx
