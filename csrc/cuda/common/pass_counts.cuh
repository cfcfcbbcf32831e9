// How often the streaming variants read a row, and how many elements their filters let through: the
// A and R of docs/kernels/threshold_cost.md. Counted only where DEEPSELECT_COUNTERS is defined, as
// tools/bench/pass_counts.py does for a build of its own; otherwise nothing here makes any code.
#pragma once

#include <cstdint>

#if defined(DEEPSELECT_COUNTERS)
#include <cuda_runtime_api.h>
#endif

namespace deepselect::cuda {

#if defined(DEEPSELECT_COUNTERS)

struct PassCounts {
  unsigned long long passes;
  unsigned long long accepted;
};

static __device__ PassCounts pass_counts;

// A row was read against a bound, and `accepted` of its elements reached it. All threads of one CTA
// call it, once per row and pass.
__device__ __forceinline__ void note_pass(std::uint32_t accepted) {
  if (threadIdx.x != 0) return;
  atomicAdd(&pass_counts.passes, 1ull);
  atomicAdd(&pass_counts.accepted, static_cast<unsigned long long>(accepted));
}

// Waits for the device. Reads the counts of this translation unit's kernels, and clears them.
inline cudaError_t take_pass_counts(PassCounts* counts) {
  const PassCounts none{};
  const cudaError_t status = cudaMemcpyFromSymbol(counts, pass_counts, sizeof none);
  return status == cudaSuccess ? cudaMemcpyToSymbol(pass_counts, &none, sizeof none) : status;
}

// A C function of the variant's library that returns cudaSuccess, 0, where it did so.
#define DEEPSELECT_EXPORT_PASS_COUNTS()                                   \
  extern "C" __attribute__((visibility("default"))) int take_pass_counts( \
      deepselect::cuda::PassCounts* counts) {                             \
    return deepselect::cuda::take_pass_counts(counts);                    \
  }

#else

__device__ __forceinline__ void note_pass(std::uint32_t) {}

#define DEEPSELECT_EXPORT_PASS_COUNTS()

#endif

}  // namespace deepselect::cuda
