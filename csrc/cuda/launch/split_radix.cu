#include "cuda/kernels/split_radix.cuh"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cub/device/device_radix_sort.cuh>
#include <stdexcept>
#include <string>

#include "cuda/launch/check.h"
#include "cuda/launch/dispatch.h"
#include "cuda/launch/kernel_launch.h"
#include "cuda/launch/launch.h"

namespace deepselect::cuda {
namespace {

// Stable. Returns which of the two sets of pairs holds the result.
std::uint32_t sort_pairs(const LaunchContext& context, const SplitRadixWorkspace& workspace,
                         std::size_t reserved_bytes, std::uint32_t num_pairs, int num_key_bits) {
  cub::DoubleBuffer<unsigned long long> keys(workspace.sort_keys[0], workspace.sort_keys[1]);
  cub::DoubleBuffer<std::uint32_t> positions(workspace.sort_positions[0],
                                             workspace.sort_positions[1]);
  std::size_t temporary_bytes = 0;
  check_cuda(context.plan.variant, "the sort's temporary storage",
             cub::DeviceRadixSort::SortPairs(nullptr, temporary_bytes, keys, positions, num_pairs,
                                             0, num_key_bits, context.stream));
  if (temporary_bytes > reserved_bytes) {
    throw std::runtime_error("deepselect.topk: CUDA variant split_radix: the sort wants " +
                             std::to_string(temporary_bytes) +
                             " bytes of temporary storage, the plan reserved " +
                             std::to_string(reserved_bytes));
  }
  check_cuda(
      context.plan.variant, "sort",
      cub::DeviceRadixSort::SortPairs(workspace.sort_temporary, temporary_bytes, keys, positions,
                                      num_pairs, 0, num_key_bits, context.stream));
  return keys.selector;
}

int bits_below(std::uint32_t count) {
  int bits = 0;
  while (bits < 32 && (std::uint64_t{1} << bits) < count) ++bits;
  return bits;
}

}  // namespace

void launch_split_radix(const LaunchContext& context) {
  using Policy = SplitRadixPolicy;
  const TopkParams& params = context.params;
  SplitRadixShape shape = context.plan.split_radix;
  const auto workspace = SplitRadixWorkspace::at(context.workspace, shape);
  const std::size_t state_bytes = SplitRadixWorkspace::state_bytes(shape);
  const std::size_t sort_bytes =
      SplitRadixWorkspace::sort_temporary_bytes(SplitRadixWorkspace::num_sorted(shape));
  dispatch_value_type(params.value_type, [&](auto value_type) {
    constexpr ValueType kType = decltype(value_type)::value;
    constexpr std::uint32_t kRounds = KeyMap<kType>::kIsPacked ? 2 : 3;
    for (std::int64_t first = 0; first < params.num_rows; first += shape.batch_rows) {
      const auto num_rows = static_cast<std::uint32_t>(
          std::min(params.num_rows - first, std::int64_t{shape.batch_rows}));
      const KernelShape grid{num_rows * shape.parts, Policy::kThreads, 0};
      check_cuda(context.plan.variant, "cudaMemsetAsync",
                 cudaMemsetAsync(workspace.rows, 0, state_bytes, context.stream));
      for (std::uint32_t round = 0; round < kRounds; ++round) {
        launch_kernel(context, split_radix_round_kernel<kType, Policy>, grid, params, shape,
                      workspace, first, round);
      }
      launch_kernel(context, split_radix_count_kernel<kType, Policy>, grid, params, shape,
                    workspace, first);
      launch_kernel(context, split_radix_emit_kernel<kType, Policy>, grid, params, shape, workspace,
                    first);
      if (shape.sort_winners == 0) continue;
      const std::uint32_t sorted =
          sort_pairs(context, workspace, sort_bytes, num_rows * shape.sort_winners,
                     KeyMap<kType>::kKeyBits + 1 + bits_below(num_rows));
      launch_kernel(context, split_radix_write_kernel<kType, Policy>, grid, params, shape,
                    workspace, first, sorted);
    }
  });
}

}  // namespace deepselect::cuda
