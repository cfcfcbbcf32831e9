// The floors that selection is measured against, as a shared library for ctypes: every input byte
// read once, and every input byte read once plus every output byte written once. Build and use:
// tools/bench/harness/floor.py.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "reduction.cuh"

namespace {

using deepselect::roofline::block_sum;
using deepselect::roofline::floor_blocks;
using deepselect::roofline::FloorPolicy;
using deepselect::roofline::grid_sum;
using deepselect::roofline::vector_under_way;

constexpr int kThreads = FloorPolicy::kThreads;
constexpr int kVectorsUnderWay = FloorPolicy::kVectorsUnderWay;

// The stores depend on the loads, as a selection's do.
__global__ void __launch_bounds__(kThreads)
    read_then_write(const uint4* input, std::size_t num_input_vectors, uint4* output,
                    std::size_t num_output_vectors) {
  const std::uint32_t sum = grid_sum<uint4, kThreads, kVectorsUnderWay>(input, num_input_vectors);
  const std::size_t grid_threads = std::size_t{gridDim.x} * kThreads;
  for (std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x; i < num_output_vectors;
       i += grid_threads) {
    output[i] = uint4{sum, sum, sum, sum};
  }
}

cudaError_t count_sms(int* num_sms) {
  int device = 0;
  if (const cudaError_t status = cudaGetDevice(&device); status != cudaSuccess) return status;
  return cudaDeviceGetAttribute(num_sms, cudaDevAttrMultiProcessorCount, device);
}

}  // namespace

// Each returns a cudaError_t; addresses are 16-byte aligned, sizes in bytes (a rest of less than 16
// is left out), `partials` holds read_floor_partials() words.

extern "C" int read_floor_partials() {
  int num_sms = 0;
  if (count_sms(&num_sms) != cudaSuccess) return -1;
  return num_sms * FloorPolicy::kBlocksPerSm;
}

extern "C" int read_floor_launch(const void* input, std::size_t input_bytes, void* partials,
                                 void* stream) {
  int num_sms = 0;
  if (const cudaError_t status = count_sms(&num_sms); status != cudaSuccess) return status;
  const std::size_t num_vectors = input_bytes / sizeof(uint4);
  vector_under_way<kThreads, kVectorsUnderWay>
      <<<floor_blocks(num_vectors, num_sms), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
          static_cast<const std::uint32_t*>(input), num_vectors * 4,
          static_cast<std::uint32_t*>(partials));
  return cudaGetLastError();
}

extern "C" int read_write_floor_launch(const void* input, std::size_t input_bytes, void* output,
                                       std::size_t output_bytes, void* stream) {
  int num_sms = 0;
  if (const cudaError_t status = count_sms(&num_sms); status != cudaSuccess) return status;
  const std::size_t num_input_vectors = input_bytes / sizeof(uint4);
  const std::size_t num_output_vectors = output_bytes / sizeof(uint4);
  const std::size_t most =
      num_input_vectors > num_output_vectors ? num_input_vectors : num_output_vectors;
  read_then_write<<<floor_blocks(most, num_sms), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<const uint4*>(input), num_input_vectors, static_cast<uint4*>(output),
      num_output_vectors);
  return cudaGetLastError();
}
