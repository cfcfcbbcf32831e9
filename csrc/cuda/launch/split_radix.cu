#include "cuda/kernels/split_radix.cuh"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cub/device/device_radix_sort.cuh>
#include <stdexcept>
#include <string>

#include "cuda/kernels/split_radix_block_sort.cuh"
#include "cuda/kernels/split_radix_rounds.cuh"
#include "cuda/launch/check.h"
#include "cuda/launch/dispatch.h"
#include "cuda/launch/kernel_launch.h"
#include "cuda/launch/launch.h"

namespace deepselect::cuda {
namespace {

// Sorts the pairs of all rows at once, stably. Returns which of the two sets holds the result.
std::uint32_t sort_on_device(const LaunchContext& context, const SplitRadixWorkspace& workspace,
                             std::size_t reserved_bytes, std::uint32_t num_pairs,
                             int num_key_bits) {
  cub::DoubleBuffer<unsigned long long> keys(
      static_cast<unsigned long long*>(workspace.sort_keys[0]),
      static_cast<unsigned long long*>(workspace.sort_keys[1]));
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

// Sorts each row's pairs in place.
template <int kPairsPerThread>
void sort_by_row(const LaunchContext& context, const SplitRadixShape& shape,
                 const SplitRadixWorkspace& workspace, std::uint32_t num_rows) {
  constexpr int kThreads = SplitRadixPolicy::kSortThreads;
  constexpr int kDigitBits = SplitRadixPolicy::kSortDigitBits;
  const auto kernel = split_radix_block_sort_kernel<kThreads, kPairsPerThread, kDigitBits>;
  static KernelSetup setup;
  setup.ensure(reinterpret_cast<const void*>(kernel), context);
  KernelShape grid{num_rows, kThreads,
                   sizeof(typename BlockSort<kThreads, kPairsPerThread, kDigitBits>::Smem)};
  grid.starts_early = true;
  launch_kernel(context, kernel, grid, shape, workspace);
}

template <ValueType kType>
void launch_batch(const LaunchContext& context, const SplitRadixShape& shape,
                  const SplitRadixWorkspace& workspace, std::int64_t first,
                  std::uint32_t num_rows) {
  using Policy = SplitRadixPolicy;
  constexpr std::uint32_t kRounds = KeyMap<kType>::kIsPacked ? 2 : 3;
  constexpr int kKeyBits = KeyMap<kType>::kKeyBits;
  const TopkParams& params = context.params;

  const auto bracket = split_radix_bracket_kernel<kType, Policy>;
  static KernelSetup setup;
  setup.ensure(reinterpret_cast<const void*>(bracket), context);
  launch_kernel(context, bracket,
                {num_rows, Policy::kThreads, sizeof(SplitRadixSampleSmem<Policy::kMaxSampleItems>)},
                params, workspace, first);

  KernelShape grid{num_rows * shape.parts, Policy::kThreads, 0};
  grid.starts_early = true;
  launch_kernel(context, split_radix_filter_kernel<kType, Policy>, grid, params, shape, workspace,
                first);
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    launch_kernel(context, split_radix_round_kernel<kType, Policy>, grid, params, shape, workspace,
                  first, round);
  }
  launch_kernel(context, split_radix_count_kernel<kType, Policy>, grid, params, shape, workspace,
                first);
  launch_kernel(context, split_radix_emit_kernel<kType, Policy>, grid, params, shape, workspace,
                first);
  if (shape.sort_winners == 0) return;

  std::uint32_t sorted = 0;
  if (shape.sorts_by_row == 0) {
    sorted = sort_on_device(
        context, workspace,
        SplitRadixWorkspace::sort_temporary_bytes(SplitRadixWorkspace::num_sorted(shape)),
        num_rows * shape.sort_winners, kKeyBits + 1 + bits_below(num_rows));
  } else if (shape.sort_winners <= Policy::kMaxBlockSorted / 2) {
    sort_by_row<Policy::kMaxBlockSorted / 2 / Policy::kSortThreads>(context, shape, workspace,
                                                                    num_rows);
  } else {
    sort_by_row<Policy::kMaxBlockSorted / Policy::kSortThreads>(context, shape, workspace,
                                                                num_rows);
  }
  launch_kernel(context, split_radix_write_kernel<kType, Policy>, grid, params, shape, workspace,
                first, sorted);
}

}  // namespace

void launch_split_radix(const LaunchContext& context) {
  const TopkParams& params = context.params;
  const SplitRadixShape& shape = context.plan.split_radix;
  const auto workspace = SplitRadixWorkspace::at(context.workspace, shape);
  dispatch_value_type(params.value_type, [&](auto value_type) {
    for (std::int64_t first = 0; first < params.num_rows; first += shape.batch_rows) {
      const auto num_rows = static_cast<std::uint32_t>(
          std::min(params.num_rows - first, std::int64_t{shape.batch_rows}));
      launch_batch<decltype(value_type)::value>(context, shape, workspace, first, num_rows);
    }
  });
}

}  // namespace deepselect::cuda
