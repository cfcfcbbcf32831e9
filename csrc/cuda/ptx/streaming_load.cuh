// Loads of what is read once.
#pragma once

#include <cuda_runtime_api.h>

namespace deepselect::cuda::ptx {

// ld.global.cs (PTX ISA 9.7.9.1, cache operators): the first to be evicted from the caches, so that
// what was read ahead, or will be read again, stays.
__device__ __forceinline__ uint4 load_streaming(const uint4* source) {
  return __ldcs(source);
}

}  // namespace deepselect::cuda::ptx
