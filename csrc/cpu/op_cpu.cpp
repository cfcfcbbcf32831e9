// The op on CPU tensors: runs the CPU backend on torch's intra-op thread pool.
#include <torch/csrc/stable/c/shim.h>

#include "cpu/topk_cpu.h"
#include "op/entry.h"

namespace deepselect {
namespace {

void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain,
                  cpu::ThreadPool::Body body, void* context) {
  STABLE_TORCH_ERROR_CODE_CHECK(torch_parallel_for(begin, end, grain, body, context));
}

struct CpuBackend {
  static constexpr BackendLimits kLimits = kCpuLimits;

  static void run(const TopkParams& params, std::int32_t /*device_index*/) {
    std::uint32_t num_threads = 1;
    STABLE_TORCH_ERROR_CODE_CHECK(torch_get_num_threads(&num_threads));
    cpu::topk(params, {static_cast<int>(num_threads), &parallel_for});
  }
};

STABLE_TORCH_LIBRARY_IMPL(deepselect, CPU, m) {
  op::register_backend<CpuBackend>(m);
}

}  // namespace
}  // namespace deepselect
