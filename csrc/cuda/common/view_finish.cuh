// The finish over survivors that lie in several regions of shared memory: phases as in finish.cuh.
#pragma once

#include <cstdint>

#include "cuda/common/block.cuh"
#include "cuda/common/composite.h"
#include "cuda/common/finish.cuh"
#include "cuda/common/histogram.cuh"
#include "cuda/common/radix_cursor.h"
#include "cuda/smem/finish_scratch.h"

namespace deepselect::cuda {

// The survivors that one thread looks at.
struct SurvivorView {
  const Composite* data;
  std::uint32_t first;
  std::uint32_t end;
  std::uint32_t step;

  template <class Body>
  __device__ __forceinline__ void for_each(Body&& body) const {
    for (std::uint32_t i = first; i < end; i += step) body(data[i]);
  }
};

// As finish_counted(), which starts behind count and find_pivot_bin(): this one does both itself.
template <int kThreads, class Emit>
__device__ __forceinline__ bool finish_view(const SurvivorView& view, std::uint32_t k,
                                            RadixCursor& cursor, FinishScratch& scratch,
                                            bool* is_crowded, Emit&& emit) {
  Histogram& histogram = scratch.histogram;
  for (bool is_first = true;; is_first = false) {
    view.for_each([&](Composite composite) {
      const std::uint64_t bin = cursor.bin(composite);
      if (bin < RadixCursor::kNumBins) count_shared(&histogram.bins[bin]);
    });
    find_pivot_bin<kThreads>(histogram, k - 1 - cursor.num_above());
    if (is_first) *is_crowded = histogram.is_crowded != 0;
    const std::uint32_t pivot_bin = histogram.pivot_bin;
    const std::uint32_t pivot_count = histogram.pivot_count;
    const std::uint32_t pivot_start = cursor.num_above() + histogram.pivot_above;
    const std::uint32_t num_wanted = k - pivot_start;
    const bool take_all = num_wanted == pivot_count;
    const bool use_list = !take_all && pivot_count <= FinishScratch::kListCapacity;
    view.for_each([&](Composite composite) {
      const std::uint64_t bin = cursor.bin(composite);
      if (bin < pivot_bin || (take_all && bin == pivot_bin)) {
        emit(cursor.num_above() + atomicAdd(&histogram.bins[bin], 1u), composite);
      } else if (use_list && bin == pivot_bin) {
        scratch.list[atomicAdd(&scratch.list_size, 1u)] = composite;
      }
    });
    __syncthreads();
    if (take_all) return is_first;
    if (use_list) {
      detail::rank_list<kThreads>(scratch, pivot_count, num_wanted, pivot_start, emit);
      __syncthreads();
      return is_first;
    }
    cursor.descend(pivot_bin, histogram.pivot_above);
    clear_bins<kThreads>(histogram);
    __syncthreads();
  }
}

}  // namespace deepselect::cuda
