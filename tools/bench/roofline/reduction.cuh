// A sum over an array, nine times: from the textbook tree to a kernel that runs at the speed of
// memory. What is added is 32-bit words, modulo 2^32, so every kernel must find the same number.
//
// A sum needs one addition for every four bytes; the chip adds some fifteen times faster than it
// reads. So the only question is whether the memory system always has enough to do. By Little's law
// it needs  bandwidth x latency  bytes under way: at 4.5 TB/s and about 0.8 us that is 3.6 MB, or
// 27 KB for each of 132 multiprocessors. A thread that reads one word, then meets its neighbours at
// eight barriers, keeps four bytes under way for a short part of its life. Each step below removes
// one reason for idling:
//
//   tree_divergent       a word per thread, a tree in shared memory; the threads that still work
//                        are spread over all warps, so every warp runs every round
//   tree_interleaved     the working threads are packed into the first warps, but the words that
//                        they add lie 2, 4, 8, ... apart: threads of a warp meet in the same bank
//   tree_halving         the upper half is added to the lower: packed threads and packed words
//   warp_sum             warps add in registers; one barrier a block instead of eight
//   several_items        a fixed grid walks the array: barriers and block starts are paid once a
//                        block, not once every 256 words
//   several_under_way    eight loads are issued before the first is used
//   vector               16 bytes a load: a quarter of the instructions and address arithmetic
//   vector_tiles         four vectors under way per thread, a block per tile: the scheduler evens
//                        out what the multiprocessors get, but pays a block start per tile
//   vector_under_way     the same loads in a fixed grid; this is the read floor of the benchmarks
//
// Every block leaves one partial sum, partials[blockIdx.x]. Adding those is left out: they are at
// most 4 bytes for every 1024 read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deepselect::roofline {

constexpr int kWarpThreads = 32;

// ---- Sums within a block ------------------------------------------------------------------------

// The sum over the block, in thread 0. Ends with unread shared memory: call it once per kernel.
template <int kThreads>
__device__ __forceinline__ std::uint32_t block_sum(std::uint32_t value) {
  constexpr int kWarps = kThreads / kWarpThreads;
  static_assert(kThreads % kWarpThreads == 0 && kWarps <= kWarpThreads);
  __shared__ std::uint32_t warp_sums[kWarps];
  const std::uint32_t warp_total = __reduce_add_sync(0xFFFFFFFFu, value);
  if (threadIdx.x % kWarpThreads == 0) warp_sums[threadIdx.x / kWarpThreads] = warp_total;
  __syncthreads();
  if (threadIdx.x >= kWarpThreads) return 0;
  return __reduce_add_sync(0xFFFFFFFFu, threadIdx.x < kWarps ? warp_sums[threadIdx.x] : 0);
}

__device__ __forceinline__ std::uint32_t sum_of(uint4 v) {
  return v.x + v.y + v.z + v.w;
}

// ---- One word per thread ------------------------------------------------------------------------

template <int kThreads>
__global__ void __launch_bounds__(kThreads)
    tree_divergent(const std::uint32_t* words, std::size_t num_words, std::uint32_t* partials) {
  __shared__ std::uint32_t sums[kThreads];
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  sums[threadIdx.x] = i < num_words ? words[i] : 0;
  for (int stride = 1; stride < kThreads; stride *= 2) {
    __syncthreads();
    if (threadIdx.x % (2 * stride) == 0) sums[threadIdx.x] += sums[threadIdx.x + stride];
  }
  if (threadIdx.x == 0) partials[blockIdx.x] = sums[0];
}

template <int kThreads>
__global__ void __launch_bounds__(kThreads)
    tree_interleaved(const std::uint32_t* words, std::size_t num_words, std::uint32_t* partials) {
  __shared__ std::uint32_t sums[kThreads];
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  sums[threadIdx.x] = i < num_words ? words[i] : 0;
  for (int stride = 1; stride < kThreads; stride *= 2) {
    __syncthreads();
    const int left = 2 * stride * static_cast<int>(threadIdx.x);
    if (left < kThreads) sums[left] += sums[left + stride];
  }
  if (threadIdx.x == 0) partials[blockIdx.x] = sums[0];
}

template <int kThreads>
__global__ void __launch_bounds__(kThreads)
    tree_halving(const std::uint32_t* words, std::size_t num_words, std::uint32_t* partials) {
  __shared__ std::uint32_t sums[kThreads];
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  sums[threadIdx.x] = i < num_words ? words[i] : 0;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) partials[blockIdx.x] = sums[0];
}

template <int kThreads>
__global__ void __launch_bounds__(kThreads)
    warp_sum(const std::uint32_t* words, std::size_t num_words, std::uint32_t* partials) {
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::uint32_t sum = block_sum<kThreads>(i < num_words ? words[i] : 0);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

// ---- Many words per thread ----------------------------------------------------------------------

// The pragmas keep the compiler from issuing loads ahead by itself, which is the next step's point.
template <int kThreads>
__global__ void __launch_bounds__(kThreads)
    several_items(const std::uint32_t* words, std::size_t num_words, std::uint32_t* partials) {
  const std::size_t grid_threads = std::size_t{gridDim.x} * kThreads;
  std::uint32_t sum = 0;
#pragma unroll 1
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < num_words;
       i += grid_threads) {
    sum += words[i];
  }
  sum = block_sum<kThreads>(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

// Requires words to be 16-byte aligned and num_words a multiple of 4 where Item is uint4.
template <typename Item, int kThreads, int kUnderWay>
__device__ __forceinline__ std::uint32_t grid_sum(const Item* items, std::size_t num_items) {
  const std::size_t grid_threads = std::size_t{gridDim.x} * kThreads;
  std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  std::uint32_t sum = 0;
  const auto add = [&sum](const Item& item) {
    if constexpr (sizeof(Item) == sizeof(uint4)) {
      sum += sum_of(item);
    } else {
      sum += item;
    }
  };
#pragma unroll 1
  for (; i + (kUnderWay - 1) * grid_threads < num_items; i += kUnderWay * grid_threads) {
    Item batch[kUnderWay];
#pragma unroll
    for (int j = 0; j < kUnderWay; ++j) batch[j] = __ldg(items + i + j * grid_threads);
#pragma unroll
    for (int j = 0; j < kUnderWay; ++j) add(batch[j]);
  }
  // What does not fill a batch is still read with all its loads under way.
  Item batch[kUnderWay];
#pragma unroll
  for (int j = 0; j < kUnderWay; ++j) {
    batch[j] = i + j * grid_threads < num_items ? __ldg(items + i + j * grid_threads) : Item{};
  }
#pragma unroll
  for (int j = 0; j < kUnderWay; ++j) add(batch[j]);
  return sum;
}

template <int kThreads, int kUnderWay>
__global__ void __launch_bounds__(kThreads)
    several_under_way(const std::uint32_t* words, std::size_t num_words, std::uint32_t* partials) {
  const std::uint32_t sum =
      block_sum<kThreads>(grid_sum<std::uint32_t, kThreads, kUnderWay>(words, num_words));
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

// kUnderWay = 1 is the study's "vector".
template <int kThreads, int kUnderWay>
__global__ void __launch_bounds__(kThreads)
    vector_under_way(const std::uint32_t* words, std::size_t num_words, std::uint32_t* partials) {
  const auto* vectors = reinterpret_cast<const uint4*>(words);
  const std::uint32_t sum =
      block_sum<kThreads>(grid_sum<uint4, kThreads, kUnderWay>(vectors, num_words / 4));
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

template <int kThreads, int kUnderWay>
__global__ void __launch_bounds__(kThreads)
    vector_tiles(const std::uint32_t* words, std::size_t num_words, std::uint32_t* partials) {
  const auto* vectors = reinterpret_cast<const uint4*>(words);
  const std::size_t num_vectors = num_words / 4;
  const std::size_t first = std::size_t{blockIdx.x} * kThreads * kUnderWay + threadIdx.x;
  uint4 batch[kUnderWay];
#pragma unroll
  for (int j = 0; j < kUnderWay; ++j) {
    const std::size_t i = first + static_cast<std::size_t>(j) * kThreads;
    batch[j] = i < num_vectors ? __ldg(vectors + i) : uint4{};
  }
  std::uint32_t sum = 0;
#pragma unroll
  for (int j = 0; j < kUnderWay; ++j) sum += sum_of(batch[j]);
  sum = block_sum<kThreads>(sum);
  if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

// ---- The read floor -----------------------------------------------------------------------------

// How the read floor is launched. To be confirmed on every new architecture by `reduce --sweep`,
// which prints the bandwidth of every combination.
struct FloorPolicy {
  static constexpr int kThreads = 256;
  static constexpr int kVectorsUnderWay = 4;
  static constexpr int kBlocksPerSm = 8;  // full occupancy at up to 32 registers a thread

  static constexpr bool is_valid() {
    return kThreads % kWarpThreads == 0 && kThreads * kBlocksPerSm <= 2048 && kVectorsUnderWay >= 1;
  }
};
static_assert(FloorPolicy::is_valid());

// Blocks for `num_vectors`: no more than fit on the chip at once, no more than have work.
template <typename Policy = FloorPolicy>
inline unsigned floor_blocks(std::size_t num_vectors, int num_sms) {
  const std::size_t resident = static_cast<std::size_t>(num_sms) * Policy::kBlocksPerSm;
  const std::size_t busy = (num_vectors + Policy::kThreads - 1) / Policy::kThreads;
  return static_cast<unsigned>(busy < 1 ? 1 : busy < resident ? busy : resident);
}

}  // namespace deepselect::roofline
