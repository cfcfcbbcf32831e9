// One function per comparison that yields masks or the greater or smaller of two.
#pragma once

#include <cstdint>

namespace deepselect::cuda::ptx {

// set.le.u32.bf16x2 (PTX ISA 9.7.3.14 and 9.7.4, sm_90): all ones in each half where a <= b, zero
// elsewhere and where either is NaN. Subnormals are kept.
__device__ __forceinline__ std::uint32_t mask_le_bf16x2(std::uint32_t a, std::uint32_t b) {
#if __CUDA_ARCH__ >= 900
  std::uint32_t mask;
  asm("set.le.u32.bf16x2 %0, %1, %2;" : "=r"(mask) : "r"(a), "r"(b));
  return mask;
#else
  // A bfloat16 is the upper half of a float.
  const bool low = __uint_as_float(a << 16) <= __uint_as_float(b << 16);
  const bool high = __uint_as_float(a & 0xFFFF0000u) <= __uint_as_float(b & 0xFFFF0000u);
  return (low ? 0xFFFFu : 0u) | (high ? 0xFFFF0000u : 0u);
#endif
}

// The same with a >= b.
__device__ __forceinline__ std::uint32_t mask_ge_bf16x2(std::uint32_t a, std::uint32_t b) {
#if __CUDA_ARCH__ >= 900
  std::uint32_t mask;
  asm("set.ge.u32.bf16x2 %0, %1, %2;" : "=r"(mask) : "r"(a), "r"(b));
  return mask;
#else
  return mask_le_bf16x2(b, a);
#endif
}

// set.le.u32.f16x2 (PTX ISA 9.7.4, sm_53): as above on two packed float16.
__device__ __forceinline__ std::uint32_t mask_le_f16x2(std::uint32_t a, std::uint32_t b) {
  std::uint32_t mask;
  asm("set.le.u32.f16x2 %0, %1, %2;" : "=r"(mask) : "r"(a), "r"(b));
  return mask;
}

__device__ __forceinline__ std::uint32_t mask_ge_f16x2(std::uint32_t a, std::uint32_t b) {
  std::uint32_t mask;
  asm("set.ge.u32.f16x2 %0, %1, %2;" : "=r"(mask) : "r"(a), "r"(b));
  return mask;
}

// setp.le.f32 (PTX ISA 9.7.3.15) without .ftz whatever the compiler's flags, as a mask.
__device__ __forceinline__ std::uint32_t mask_le_f32(std::uint32_t a, std::uint32_t b) {
  std::uint32_t mask;
  asm("set.le.u32.f32 %0, %1, %2;" : "=r"(mask) : "f"(__uint_as_float(a)), "f"(__uint_as_float(b)));
  return mask;
}

// setp.le (PTX ISA 9.7.1.15 and 9.7.3.15) of two int32 or float32, without .ftz, and a predicated
// xor: flips `bits` of the mask where a <= b. `bits` is a compile-time constant.
__device__ __forceinline__ void flip_where_le_s32(std::uint32_t a, std::uint32_t b,
                                                  std::uint32_t bits, std::uint32_t* mask) {
  asm("{ .reg .pred p; setp.le.s32 p, %1, %2; @p xor.b32 %0, %0, %3; }"
      : "+r"(*mask)
      : "r"(a), "r"(b), "r"(bits));
}

__device__ __forceinline__ void flip_where_le_f32(std::uint32_t a, std::uint32_t b,
                                                  std::uint32_t bits, std::uint32_t* mask) {
  asm("{ .reg .pred p; setp.le.f32 p, %1, %2; @p xor.b32 %0, %0, %3; }"
      : "+r"(*mask)
      : "f"(__uint_as_float(a)), "f"(__uint_as_float(b)), "r"(bits));
}

// The same where a >= b.
__device__ __forceinline__ void flip_where_ge_f32(std::uint32_t a, std::uint32_t b,
                                                  std::uint32_t bits, std::uint32_t* mask) {
  asm("{ .reg .pred p; setp.ge.f32 p, %1, %2; @p xor.b32 %0, %0, %3; }"
      : "+r"(*mask)
      : "f"(__uint_as_float(a)), "f"(__uint_as_float(b)), "r"(bits));
}

// max and min (PTX ISA 9.7.3.13, 9.7.4.10, sm_80) without .ftz: subnormals are kept, +0.0 is above
// -0.0. Where one is NaN the other is the result, or NaN with kNanWins.
template <bool kMin, bool kNanWins>
__device__ __forceinline__ std::uint32_t best_bf16x2(std::uint32_t a, std::uint32_t b) {
  std::uint32_t d;
  if constexpr (kMin && kNanWins) {
    asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  } else if constexpr (kMin) {
    asm("min.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  } else if constexpr (kNanWins) {
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  } else {
    asm("max.bf16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  }
  return d;
}
template <bool kMin, bool kNanWins>
__device__ __forceinline__ std::uint32_t best_f16x2(std::uint32_t a, std::uint32_t b) {
  std::uint32_t d;
  if constexpr (kMin && kNanWins) {
    asm("min.NaN.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  } else if constexpr (kMin) {
    asm("min.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  } else if constexpr (kNanWins) {
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  } else {
    asm("max.f16x2 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(b));
  }
  return d;
}
template <bool kMin, bool kNanWins>
__device__ __forceinline__ std::uint32_t best_f32(std::uint32_t a, std::uint32_t b) {
  float d;
  const float x = __uint_as_float(a);
  const float y = __uint_as_float(b);
  if constexpr (kMin && kNanWins) {
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(d) : "f"(x), "f"(y));
  } else if constexpr (kMin) {
    asm("min.f32 %0, %1, %2;" : "=f"(d) : "f"(x), "f"(y));
  } else if constexpr (kNanWins) {
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(d) : "f"(x), "f"(y));
  } else {
    asm("max.f32 %0, %1, %2;" : "=f"(d) : "f"(x), "f"(y));
  }
  return __float_as_uint(d);
}

// setp.gt.u64 and selp.b64 (PTX ISA 9.7.6.2, 9.7.6.3): the greater of both to `a`. Of two
// selections in C++ the compiler makes a maximum and a minimum, with a comparison each.
__device__ __forceinline__ void order_u64(std::uint64_t& a, std::uint64_t& b) {
  std::uint64_t greater;
  std::uint64_t lesser;
  asm("{ .reg .pred in_order;\n"
      "  setp.gt.u64 in_order, %2, %3;\n"
      "  selp.b64 %0, %2, %3, in_order;\n"
      "  selp.b64 %1, %3, %2, in_order; }"
      : "=&l"(greater), "=l"(lesser)
      : "l"(a), "l"(b));
  a = greater;
  b = lesser;
}

}  // namespace deepselect::cuda::ptx
