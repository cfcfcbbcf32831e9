// A study of reduction on one GPU: every kernel of reduction.cuh on arrays of 1 MiB to 4 GiB, with
// the bandwidth that it reaches. No torch.
//
//   nvcc -O3 -std=c++17 -arch=native -o reduce reduce.cu
//   ./reduce            the table; exit status 1 if a sum is wrong or the floor is missed
//   ./reduce --sweep    the floor's kernel in every shape of launch, for FloorPolicy
//
// Method: the median over replays of a CUDA graph of launches, on up to 8 arrays in turn (256 MiB
// in all where the size allows), filled with random words: constant data can read faster. Arrays of
// a few MiB therefore come from L2.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "reduction.cuh"

namespace {

using namespace deepselect::roofline;

#define CHECK_CUDA(call) check_cuda(call, #call, __LINE__)

void check_cuda(cudaError_t status, const char* call, int line) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "reduce.cu:%d: %s: %s\n", line, call, cudaGetErrorString(status));
  std::exit(2);
}

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kRotatedBytes = 256 * kMiB;
constexpr std::size_t kMaxBuffers = 8;
constexpr int kTreeThreads = 256;
constexpr int kReplays = 20;
constexpr double kGraphTargetUs = 1000;

// An H200's floor in peers_h200.json, for arrays of 512 MiB and more, and how near is near enough.
constexpr double kFloorTbPerS = 4.54;
constexpr double kFloorShare = 0.98;
constexpr std::size_t kFloorBytes = 512 * kMiB;

struct Array {
  const std::uint32_t* words;
  std::size_t num_words;
};

struct Contender {
  std::string name;
  // Enqueues the kernel on the stream; returns how many partial sums it leaves.
  std::function<unsigned(const Array&, std::uint32_t* partials, cudaStream_t)> launch;
};

unsigned div_up(std::size_t a, std::size_t b) {
  return static_cast<unsigned>((a + b - 1) / b);
}

// ---- Contenders ---------------------------------------------------------------------------------

using Kernel = void (*)(const std::uint32_t*, std::size_t, std::uint32_t*);

// A block for every `words_per_block` words.
Contender tiled(std::string name, Kernel kernel, int threads, std::size_t words_per_block) {
  return {std::move(name), [=](const Array& array, std::uint32_t* partials, cudaStream_t stream) {
            const unsigned blocks = div_up(array.num_words, words_per_block);
            kernel<<<blocks, threads, 0, stream>>>(array.words, array.num_words, partials);
            return blocks;
          }};
}

// As many blocks as are to be resident, or fewer where there is less than a word (or vector) for
// each thread.
Contender fixed_grid(std::string name, Kernel kernel, int threads, int blocks_per_sm,
                     std::size_t words_per_load, int num_sms) {
  return {std::move(name), [=](const Array& array, std::uint32_t* partials, cudaStream_t stream) {
            const auto resident = static_cast<unsigned>(num_sms * blocks_per_sm);
            const unsigned blocks =
                std::min(resident, div_up(array.num_words, words_per_load * threads));
            kernel<<<blocks, threads, 0, stream>>>(array.words, array.num_words, partials);
            return blocks;
          }};
}

std::vector<Contender> study(int num_sms) {
  constexpr int kT = kTreeThreads;
  using P = FloorPolicy;
  return {
      tiled("tree_divergent", tree_divergent<kT>, kT, kT),
      tiled("tree_interleaved", tree_interleaved<kT>, kT, kT),
      tiled("tree_halving", tree_halving<kT>, kT, kT),
      tiled("warp_sum", warp_sum<kT>, kT, kT),
      fixed_grid("several_items", several_items<kT>, kT, P::kBlocksPerSm, 1, num_sms),
      fixed_grid("several_under_way", several_under_way<kT, 8>, kT, P::kBlocksPerSm, 1, num_sms),
      fixed_grid("vector", vector_under_way<kT, 1>, kT, P::kBlocksPerSm, 4, num_sms),
      tiled("vector_tiles", vector_tiles<kT, 4>, kT, kT * 4 * 4),
      fixed_grid("vector_under_way", vector_under_way<P::kThreads, P::kVectorsUnderWay>,
                 P::kThreads, P::kBlocksPerSm, 4, num_sms),
  };
}

template <int kThreads, int kUnderWay>
void add_launch_shapes(std::vector<Contender>& contenders, int num_sms) {
  const std::string stem = std::to_string(kThreads) + " threads, " + std::to_string(kUnderWay);
  for (int blocks_per_sm = 1; blocks_per_sm * kThreads <= 2048; blocks_per_sm *= 2) {
    contenders.push_back(fixed_grid(stem + " under way, " + std::to_string(blocks_per_sm) + "/SM",
                                    vector_under_way<kThreads, kUnderWay>, kThreads, blocks_per_sm,
                                    4, num_sms));
  }
  contenders.push_back(tiled(stem + " under way, tiles", vector_tiles<kThreads, kUnderWay>,
                             kThreads, std::size_t{kThreads} * kUnderWay * 4));
}

std::vector<Contender> sweep(int num_sms) {
  std::vector<Contender> contenders;
  add_launch_shapes<128, 4>(contenders, num_sms);
  add_launch_shapes<128, 8>(contenders, num_sms);
  add_launch_shapes<256, 2>(contenders, num_sms);
  add_launch_shapes<256, 4>(contenders, num_sms);
  add_launch_shapes<256, 8>(contenders, num_sms);
  add_launch_shapes<512, 2>(contenders, num_sms);
  add_launch_shapes<512, 4>(contenders, num_sms);
  add_launch_shapes<512, 8>(contenders, num_sms);
  add_launch_shapes<1024, 2>(contenders, num_sms);
  add_launch_shapes<1024, 4>(contenders, num_sms);
  return contenders;
}

// ---- Data ---------------------------------------------------------------------------------------

__device__ std::uint32_t random_word(std::size_t i) {
  std::uint64_t x = (i + 1) * 0x9E3779B97F4A7C15u;  // splitmix64
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return static_cast<std::uint32_t>(x >> 32);
}

__global__ void fill(std::uint32_t* words, std::size_t num_words) {
  const std::size_t grid_threads = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < num_words;
       i += grid_threads) {
    words[i] = random_word(i);
  }
}

// The sum that the kernels must find, in the plainest way there is.
__global__ void plain_sum(const std::uint32_t* words, std::size_t num_words, std::uint32_t* sum) {
  const std::size_t grid_threads = std::size_t{gridDim.x} * blockDim.x;
  std::uint32_t mine = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < num_words;
       i += grid_threads) {
    mine += words[i];
  }
  atomicAdd(sum, mine);
}

struct Memory {
  std::uint32_t* words = nullptr;
  std::uint32_t* partials = nullptr;
  std::uint32_t* expected = nullptr;
  cudaStream_t stream = nullptr;
};

std::uint32_t expected_sum(const Memory& memory, const Array& array) {
  std::uint32_t sum = 0;
  CHECK_CUDA(cudaMemsetAsync(memory.expected, 0, sizeof sum, memory.stream));
  plain_sum<<<1024, 256, 0, memory.stream>>>(array.words, array.num_words, memory.expected);
  CHECK_CUDA(cudaGetLastError());
  CHECK_CUDA(cudaMemcpyAsync(&sum, memory.expected, sizeof sum, cudaMemcpyDefault, memory.stream));
  CHECK_CUDA(cudaStreamSynchronize(memory.stream));
  return sum;
}

bool finds_sum(const Contender& contender, const Memory& memory, const Array& array,
               std::uint32_t expected) {
  const unsigned num_partials = contender.launch(array, memory.partials, memory.stream);
  CHECK_CUDA(cudaGetLastError());
  std::vector<std::uint32_t> partials(num_partials);
  CHECK_CUDA(cudaMemcpyAsync(partials.data(), memory.partials, num_partials * sizeof partials[0],
                             cudaMemcpyDefault, memory.stream));
  CHECK_CUDA(cudaStreamSynchronize(memory.stream));
  std::uint32_t sum = 0;
  for (const std::uint32_t partial : partials) sum += partial;
  return sum == expected;
}

// ---- Time ---------------------------------------------------------------------------------------

float replay_ms(cudaGraphExec_t graph, cudaStream_t stream, cudaEvent_t start, cudaEvent_t end) {
  CHECK_CUDA(cudaEventRecord(start, stream));
  CHECK_CUDA(cudaGraphLaunch(graph, stream));
  CHECK_CUDA(cudaEventRecord(end, stream));
  CHECK_CUDA(cudaEventSynchronize(end));
  float ms = 0;
  CHECK_CUDA(cudaEventElapsedTime(&ms, start, end));
  return ms;
}

// Microseconds a launch.
double time_us(const Contender& contender, const Memory& memory, const std::vector<Array>& arrays) {
  const double expected_us = 2 + arrays[0].num_words * 4 / (kFloorTbPerS * 1e6);
  const std::size_t rounds =
      std::max<std::size_t>(1, kGraphTargetUs / (expected_us * arrays.size()));
  const std::size_t num_launches = rounds * arrays.size();

  cudaGraph_t graph = nullptr;
  CHECK_CUDA(cudaStreamBeginCapture(memory.stream, cudaStreamCaptureModeThreadLocal));
  for (std::size_t i = 0; i < num_launches; ++i) {
    contender.launch(arrays[i % arrays.size()], memory.partials, memory.stream);
  }
  CHECK_CUDA(cudaStreamEndCapture(memory.stream, &graph));
  cudaGraphExec_t executable = nullptr;
  CHECK_CUDA(cudaGraphInstantiate(&executable, graph, 0));

  cudaEvent_t start = nullptr;
  cudaEvent_t end = nullptr;
  CHECK_CUDA(cudaEventCreate(&start));
  CHECK_CUDA(cudaEventCreate(&end));
  replay_ms(executable, memory.stream, start, end);
  std::vector<float> times_ms;
  for (int i = 0; i < kReplays; ++i) {
    times_ms.push_back(replay_ms(executable, memory.stream, start, end));
  }
  CHECK_CUDA(cudaEventDestroy(start));
  CHECK_CUDA(cudaEventDestroy(end));
  CHECK_CUDA(cudaGraphExecDestroy(executable));
  CHECK_CUDA(cudaGraphDestroy(graph));
  std::nth_element(times_ms.begin(), times_ms.begin() + kReplays / 2, times_ms.end());
  return times_ms[kReplays / 2] * 1e3 / static_cast<double>(num_launches);
}

std::vector<Array> arrays_of(const Memory& memory, std::size_t num_bytes) {
  const std::size_t fitting = std::max<std::size_t>(1, kRotatedBytes / num_bytes);
  std::vector<Array> arrays;
  for (std::size_t i = 0; i < std::min(fitting, kMaxBuffers); ++i) {
    arrays.push_back({memory.words + i * (num_bytes / 4), num_bytes / 4});
  }
  return arrays;
}

// Prints the table; returns whether all sums were right and the last contender reached the floor.
bool run(const std::vector<Contender>& contenders, const std::vector<std::size_t>& sizes,
         const Memory& memory) {
  std::printf("TB/s, by bytes read\n%-34s", "");
  for (const std::size_t size : sizes) {
    std::printf(size < 1024 * kMiB ? "%6zu MiB" : "%6zu GiB",
                size < 1024 * kMiB ? size / kMiB : size / (1024 * kMiB));
  }
  std::printf("\n");
  bool is_right = true;
  double worst_share = 1e9;
  for (const Contender& contender : contenders) {
    std::printf("%-34s", contender.name.c_str());
    worst_share = 1e9;
    for (const std::size_t size : sizes) {
      const std::vector<Array> arrays = arrays_of(memory, size);
      for (const Array& array : {arrays.front(), arrays.back()}) {
        if (finds_sum(contender, memory, array, expected_sum(memory, array))) continue;
        std::printf(" WRONG SUM at %zu bytes\n", size);
        is_right = false;
      }
      const double tb_per_s = size / (time_us(contender, memory, arrays) * 1e6);
      std::printf("%10.3f", tb_per_s);
      std::fflush(stdout);
      if (size >= kFloorBytes) worst_share = std::min(worst_share, tb_per_s / kFloorTbPerS);
    }
    std::printf("\n");
  }
  const bool reaches_floor = worst_share >= kFloorShare;
  std::printf("%s at %zu MiB and more: %.3f of %.2f TB/s (wanted %.2f): %s\n",
              contenders.back().name.c_str(), kFloorBytes / kMiB, worst_share, kFloorTbPerS,
              kFloorShare, reaches_floor ? "pass" : "MISS");
  return is_right && reaches_floor;
}

}  // namespace

int main(int argc, char** argv) {
  const bool sweeps = argc == 2 && std::string(argv[1]) == "--sweep";
  if (argc > 1 && !sweeps) {
    std::fprintf(stderr, "usage: %s [--sweep]\n", argv[0]);
    return 2;
  }
  cudaDeviceProp properties{};
  CHECK_CUDA(cudaGetDeviceProperties(&properties, 0));
  std::printf("%s, %d multiprocessors, %d MiB of L2\n", properties.name,
              properties.multiProcessorCount, properties.l2CacheSize >> 20);

  std::vector<std::size_t> sizes;
  for (const std::size_t mib : {1, 4, 16, 64, 256, 512, 1024, 4096}) sizes.push_back(mib * kMiB);
  if (sweeps) sizes = {4 * kMiB, 64 * kMiB, 512 * kMiB, 2048 * kMiB};

  Memory memory;
  const std::size_t num_words = sizes.back() / 4;
  CHECK_CUDA(cudaMalloc(&memory.words, num_words * 4));
  // One for each block of one word per thread.
  CHECK_CUDA(cudaMalloc(&memory.partials, num_words / kTreeThreads * 4));
  CHECK_CUDA(cudaMalloc(&memory.expected, sizeof *memory.expected));
  CHECK_CUDA(cudaStreamCreate(&memory.stream));
  fill<<<1024, 256, 0, memory.stream>>>(memory.words, num_words);
  CHECK_CUDA(cudaGetLastError());

  const int num_sms = properties.multiProcessorCount;
  if (sweeps) {
    run(sweep(num_sms), sizes, memory);
    return 0;
  }
  return run(study(num_sms), sizes, memory) ? 0 : 1;
}
