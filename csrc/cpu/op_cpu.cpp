// The op on CPU tensors: runs the CPU backend on torch's intra-op thread pool. For every level of
// instructions there is also a private op deepselect::_topk_<level> with topk's schema, which
// forces it.
#include <torch/csrc/stable/c/shim.h>

#include <stdexcept>
#include <string>

#include "cpu/isa.h"
#include "cpu/topk_cpu.h"
#include "op/entry.h"

namespace deepselect {
namespace {

using cpu::Isa;

void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain,
                  cpu::ThreadPool::Body body, void* context) {
  TORCH_ERROR_CODE_CHECK(torch_parallel_for(begin, end, grain, body, context));
}

cpu::ThreadPool torch_pool() {
  std::uint32_t num_threads = 1;
  TORCH_ERROR_CODE_CHECK(torch_get_num_threads(&num_threads));
  return {static_cast<int>(num_threads), &parallel_for};
}

struct CpuBackend {
  static constexpr BackendLimits kLimits = kCpuLimits;

  static void run(const TopkParams& params, std::int32_t /*device_index*/) {
    cpu::topk(params, torch_pool());
  }
};

constexpr const char* level_name(Isa isa) {
  switch (isa) {
    case Isa::kPortable:
      return "portable";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
  }
  return "";
}

template <Isa kIsa>
struct ForcedBackend {
  static constexpr BackendLimits kLimits = kCpuLimits;

  static void run(const TopkParams& params, std::int32_t /*device_index*/) {
    const cpu::IsaPrimitives* primitives = cpu::primitives_of(kIsa);
    if (primitives == nullptr) {
      throw std::runtime_error(std::string("deepselect.topk: CPU variant ") + level_name(kIsa) +
                               " cannot serve this call: the machine lacks the instructions");
    }
    cpu::topk_with(*primitives, params, torch_pool());
  }
};

STABLE_TORCH_LIBRARY_FRAGMENT(deepselect, m) {
  op::define_variant(m, level_name(Isa::kPortable));
  op::define_variant(m, level_name(Isa::kAvx2));
  op::define_variant(m, level_name(Isa::kAvx512));
}

STABLE_TORCH_LIBRARY_IMPL(deepselect, CPU, m) {
  op::register_backend<CpuBackend>(m);
  op::register_variant<ForcedBackend<Isa::kPortable>>(m, level_name(Isa::kPortable));
  op::register_variant<ForcedBackend<Isa::kAvx2>>(m, level_name(Isa::kAvx2));
  op::register_variant<ForcedBackend<Isa::kAvx512>>(m, level_name(Isa::kAvx512));
}

}  // namespace
}  // namespace deepselect
