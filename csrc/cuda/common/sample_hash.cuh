// Where a sample lies: one segment at a pseudo-random place in each stretch of a row.
#pragma once

#include <cstdint>

namespace deepselect::cuda {

// Of stretch `number`, the same in every run: __umulhi() with the stretch's length is a place in
// it.
__device__ __forceinline__ std::uint32_t sample_hash(std::uint32_t number) {
  std::uint32_t hash = (number + 1) * 0x9E3779B1u;
  hash ^= hash >> 15;
  hash *= 0x85EBCA6Bu;
  return hash;
}

}  // namespace deepselect::cuda
