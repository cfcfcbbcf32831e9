// split_radix: the pairs of a row sorted by one CTA, in place and stably (CUB's radix sort), by as
// many bits as the row's sort keys span.
#pragma once

#include <cstdint>
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_store.cuh>

#include "cuda/common/block.cuh"
#include "cuda/ptx/launch_control.cuh"
#include "cuda/workspace/split_radix.h"

namespace deepselect::cuda {

template <int kThreads, int kPairsPerThread, int kDigitBits>
struct BlockSort {
  using Load =
      cub::BlockLoad<std::uint32_t, kThreads, kPairsPerThread, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  // Without the outer scan in registers, where the pairs are.
  using Sort = cub::BlockRadixSort<std::uint32_t, kThreads, kPairsPerThread, std::uint32_t,
                                   kDigitBits, false>;
  struct Smem {
    union {
      typename Load::TempStorage load;
      typename Sort::TempStorage sort;
    };
    std::uint32_t best;
    std::uint32_t worst;
  };
};

// At most kThreads * kPairsPerThread pairs of a row.
template <int kThreads, int kPairsPerThread, int kDigitBits>
__global__ void __launch_bounds__(kThreads)
    split_radix_block_sort_kernel(SplitRadixShape shape, SplitRadixWorkspace workspace) {
  using Block = BlockSort<kThreads, kPairsPerThread, kDigitBits>;
  constexpr std::uint32_t kPad = ~0u;  // also the worst key there is, which pads come behind
  extern __shared__ __align__(16) unsigned char dynamic_smem[];
  auto& smem = *reinterpret_cast<typename Block::Smem*>(dynamic_smem);
  ptx::launch_dependents();
  ptx::wait_for_dependencies();
  const std::uint64_t first = std::uint64_t{blockIdx.x} * shape.sort_winners;
  std::uint32_t* const row_keys = static_cast<std::uint32_t*>(workspace.sort_keys[0]) + first;
  std::uint32_t* const row_positions = workspace.sort_positions[0] + first;
  const auto num_pairs = static_cast<int>(shape.sort_winners);
  if (threadIdx.x == 0) {
    smem.best = kPad;
    smem.worst = 0;
  }
  std::uint32_t keys[kPairsPerThread];
  std::uint32_t positions[kPairsPerThread];
  typename Block::Load(smem.load).Load(row_keys, keys, num_pairs, kPad);
  __syncthreads();
  typename Block::Load(smem.load).Load(row_positions, positions, num_pairs, 0u);

  std::uint32_t best = kPad;
  std::uint32_t worst = 0;
#pragma unroll
  for (const std::uint32_t key : keys) {
    best = min(best, key);
    worst = max(worst, key == kPad ? 0u : key);
  }
  best = __reduce_min_sync(kAllLanes, best);
  worst = __reduce_max_sync(kAllLanes, worst);
  if (threadIdx.x % kWarpThreads == 0) {
    atomicMin(&smem.best, best);
    atomicMax(&smem.worst, worst);
  }
  __syncthreads();
  best = smem.best;
  worst = max(smem.worst, best);
  // Pads, one behind the worst.
  const std::uint32_t relative_pad = worst == kPad ? 0u : worst - best + 1;
#pragma unroll
  for (std::uint32_t& key : keys) key = key == kPad ? relative_pad : key - best;
  const int num_bits = 32 - __clz(static_cast<int>(relative_pad));
  typename Block::Sort(smem.sort).SortBlockedToStriped(keys, positions, 0, num_bits);
#pragma unroll
  for (std::uint32_t& key : keys) key = key == relative_pad ? kPad : key + best;
  cub::StoreDirectStriped<kThreads>(static_cast<int>(threadIdx.x), row_keys, keys, num_pairs);
  cub::StoreDirectStriped<kThreads>(static_cast<int>(threadIdx.x), row_positions, positions,
                                    num_pairs);
}

}  // namespace deepselect::cuda
