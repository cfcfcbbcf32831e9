// One function per exchange between the lanes of a warp that C++ has no spelling for.
#pragma once

#include <cstdint>

namespace deepselect::cuda::ptx {

// shfl.sync.up.b32 (PTX ISA 9.7.9.6, sm_70) with its predicate: `value`, plus that of the lane
// `distance` below where that lies in the same segment of kWidth lanes. `lanes` are the lanes that
// take part.
template <int kWidth>
__device__ __forceinline__ std::uint32_t add_from_below(std::uint32_t value, int distance,
                                                        std::uint32_t lanes) {
  constexpr int kClampAndSegment = (32 - kWidth) << 8;
  std::uint32_t sum;
  asm volatile(
      "{ .reg .pred inside;\n"
      "  .reg .b32 below;\n"
      "  shfl.sync.up.b32 below|inside, %1, %2, %3, %4;\n"
      "  mov.b32 %0, %1;\n"
      "  @inside add.u32 %0, %0, below; }"
      : "=&r"(sum)
      : "r"(value), "r"(distance), "n"(kClampAndSegment), "r"(lanes));
  return sum;
}

}  // namespace deepselect::cuda::ptx
