// Shared memory of the cluster_row kernel: this, then survivors[cluster_ctas * region_capacity],
// then winners[] where an order is asked for, then listed[region_capacity]. The same in every CTA
// of a cluster, so that an address in one is one in all.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/common/composite.h"
#include "cuda/smem/finish_scratch.h"
#include "cuda/smem/histogram.h"

namespace deepselect::cuda {

// What follows a histogram of groups.
enum class GroupBoundStep : std::uint32_t { kDone, kCount, kPosition };

// The search for the bound of a CTA among its groups.
struct alignas(16) GroupBoundScratch {
  static constexpr int kLog2Bins = 8;
  static constexpr std::uint32_t kBins = 1u << kLog2Bins;

  std::uint32_t bins[kBins];
  std::uint32_t warp_worst[32];
  std::uint32_t warp_best[32];
  GroupBoundStep next;
  std::uint32_t high;  // of the next histogram
  std::int32_t shift;
  std::uint32_t num_left;
};

// What a CTA tells all others of its part of the row.
struct alignas(16) ClusterBound {
  Composite bound;  // at least the CTA's part of the k best reach it
  std::uint64_t best_key;
};

struct alignas(16) ClusterRowSmem {
  static constexpr int kMaxCtas = 16;

  FinishScratch finish;  // its histogram serves the repair as well
  Histogram total;       // of the cluster, in a repair
  GroupBoundScratch group_bound;
  ClusterBound bounds[kMaxCtas];
  std::uint64_t list_sizes[kMaxCtas];  // of the CTAs' survivors, in CTA 0
  std::uint64_t verdict;               // of CTA 0: whether the row needs a repair
  std::uint64_t bounds_barrier;
  std::uint64_t lists_barrier;
  std::uint64_t verdict_barrier;
  std::uint32_t num_listed;
  std::uint32_t first_place;
};

constexpr std::size_t cluster_row_smem_bytes(std::size_t survivor_capacity,
                                             std::size_t winner_capacity,
                                             std::size_t region_capacity) {
  return sizeof(ClusterRowSmem) + sizeof(Composite) * (survivor_capacity + winner_capacity) +
         sizeof(std::uint32_t) * region_capacity;
}

}  // namespace deepselect::cuda
