// The CUDA backend's plans, without a device: every plan fits its device, the resources cover what
// the kernels address, and refusals name the variant. Also the radix search over composites, on
// the host.
#include "cuda/plan.h"
#include "cuda/common/row_parts.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/common/composite.h"
#include "cuda/common/radix_cursor.h"
#include "cuda/smem/row_radix.h"
#include "cuda/smem/row_registers.h"
#include "cuda/tuning/row_radix.h"
#include "cuda/tuning/row_registers.h"
#include "cuda/tuning/split_radix.h"
#include "cuda/tuning/split_stream.h"
#include "expect.h"

namespace {

using namespace deepselect;
using cuda::Composite;
using cuda::DeviceLimits;
using cuda::make_plan;
using cuda::Plan;
using cuda::RadixCursor;
using cuda::Variant;

constexpr DeviceLimits kA100{80, 108, 166912, 167936, 0, {}};
constexpr DeviceLimits kH200{90, 132, 232448, 233472, 16, {132, 66, 30, 15, 7}};
constexpr DeviceLimits kB200{100, 148, 232448, 233472, 16, {148, 74, 36, 16, 8}};
constexpr DeviceLimits kRtx5090{120, 170, 101376, 102400, 8, {170, 85, 42, 21, 0}};
constexpr DeviceLimits kDevices[] = {kA100, kH200, kB200, kRtx5090};

TopkParams call(std::int64_t num_rows, std::int64_t num_cols, std::int64_t k,
                ValueType type = ValueType::kBFloat16, Order order = Order::kAny) {
  TopkParams params{};
  params.num_rows = num_rows;
  params.num_cols = num_cols;
  params.input_row_stride_items = num_cols;
  params.k = k;
  params.value_type = type;
  params.order = order;
  params.largest = true;
  return params;
}

void check_plan(const Plan& plan, const DeviceLimits& limits) {
  EXPECT(plan.grid_ctas >= 1);
  EXPECT(plan.cta_threads >= 32 && plan.cta_threads <= 1024 && plan.cta_threads % 32 == 0);
  EXPECT(plan.cluster_ctas >= 1 && plan.grid_ctas % plan.cluster_ctas == 0);
  EXPECT(plan.cluster_ctas == 1 || plan.cluster_ctas <= limits.max_cluster_ctas);
  EXPECT(plan.smem_bytes <= static_cast<std::size_t>(limits.smem_bytes_per_cta));
}

void check_every_plan_fits() {
  constexpr std::int64_t kRows[] = {1, 7, 8, 64, 133, 256, 4096, 65536, kMaxInt32};
  constexpr std::int64_t kCols[] = {0,     1,      70,      256,     4096,     16384,
                                    65536, 129280, 1 << 20, 1 << 28, kMaxInt32};
  constexpr std::int64_t kKs[] = {1, 20, 512, 2048, 4096, 4097, 100000, kMaxInt32};
  constexpr ValueType kTypes[] = {ValueType::kBFloat16, ValueType::kFloat16, ValueType::kFloat32,
                                  ValueType::kInt32};
  for (const DeviceLimits& limits : kDevices) {
    for (std::int64_t rows : kRows) {
      for (std::int64_t cols : kCols) {
        for (std::int64_t k : kKs) {
          for (ValueType type : kTypes) {
            for (Order order : {Order::kAny, Order::kValue, Order::kIndex}) {
              const TopkParams params = call(rows, cols, k, type, order);
              for (Variant variant : cuda::kAllVariants) {
                if (!cuda::can_serve(variant, params, limits)) continue;
                check_plan(make_plan(params, limits, variant), limits);
              }
            }
          }
        }
      }
    }
  }
}

void check_row_radix() {
  const Plan small = make_plan(call(4096, 65536, 512), kH200, Variant::kRowRadix);
  EXPECT(small.grid_ctas == 4096);
  EXPECT(small.survivor_capacity == 512 + cuda::RowRadixPolicy::kSpareSurvivors);
  EXPECT(small.smem_bytes == cuda::row_radix_smem_bytes(small.survivor_capacity, 512));
  EXPECT(small.workspace_bytes == 0);

  // The sort pads to a power of two.
  const Plan odd = make_plan(call(1, 65536, 513), kH200, Variant::kRowRadix);
  EXPECT(odd.smem_bytes == cuda::row_radix_smem_bytes(odd.survivor_capacity, 1024));
}

template <class... Policies>
bool is_one_of(const Plan& plan, cuda::RowRegistersPolicyList<Policies...>) {
  return ((plan.row_threads == Policies::kThreads &&
           plan.vectors_per_thread == Policies::kVectors &&
           plan.cta_threads == Policies::kThreads * Policies::kTeams) ||
          ...);
}

// A row_registers plan that is compiled, holds the row and has room for its winners.
void check_row_registers_plan(const TopkParams& params, const DeviceLimits& limits,
                              std::int64_t num_slots) {
  const Plan plan = make_plan(params, limits, Variant::kRowRegisters);
  const int item_bytes = value_bytes(params.value_type);
  EXPECT(is_one_of(plan, cuda::RowRegistersPolicies{}) ||
         (item_bytes == 4 && is_one_of(plan, cuda::RowRegistersPolicies32Bit{})));
  EXPECT(std::int64_t{plan.row_threads} * plan.vectors_per_thread >= num_slots);
  const int num_teams = plan.cta_threads / plan.row_threads;
  EXPECT(std::int64_t{plan.grid_ctas} * num_teams >= params.num_rows);
  EXPECT(plan.smem_bytes % (static_cast<std::size_t>(num_teams) * cuda::kBinsAlignment) == 0);
  const bool is_sorted = params.order == Order::kValue;
  EXPECT(!is_sorted || num_teams == 1);
  const std::size_t winner_bytes = is_sorted ? sizeof(Composite) : sizeof(std::uint16_t);
  EXPECT(plan.smem_bytes / static_cast<std::size_t>(num_teams) >=
         winner_bytes * static_cast<std::size_t>(std::min(params.k, params.num_cols)));
  EXPECT(plan.smem_bytes <= static_cast<std::size_t>(limits.smem_bytes_per_cta));
  // Where each multiprocessor has one row, it has room for one CTA.
  if (params.num_rows <= limits.num_sms && num_teams == 1) {
    EXPECT(2 * (plan.smem_bytes + cuda::kReservedSmemBytes) >
           static_cast<std::size_t>(limits.smem_bytes_per_sm));
  }
}

void check_row_registers() {
  for (const DeviceLimits& limits : kDevices) {
    for (std::int64_t rows : {1, 100, 200, 5000}) {
      for (std::int64_t slots = 1; slots < cuda::kRowRegistersMaxSlots; slots = slots * 3 / 2 + 1) {
        for (ValueType type : {ValueType::kBFloat16, ValueType::kFloat32}) {
          for (Order order : {Order::kAny, Order::kValue}) {
            TopkParams params = call(rows, slots * 16 / value_bytes(type), 64, type, order);
            check_row_registers_plan(params, limits, slots);
            // Rows that begin anywhere take a slot more.
            params.input = reinterpret_cast<const void*>(2);
            check_row_registers_plan(params, limits, slots + 1);
          }
        }
      }
    }
  }
  const TopkParams largest = call(1, cuda::kRowRegistersMaxSlots * 8, 64);
  EXPECT(cuda::can_serve(Variant::kRowRegisters, largest, kH200));
  const TopkParams larger = call(1, largest.num_cols + 8, 64);
  EXPECT(!cuda::can_serve(Variant::kRowRegisters, larger, kH200));

  // One row for each multiprocessor, two, many: fewer and fewer threads for each.
  const auto threads = [](std::int64_t rows) {
    return make_plan(call(rows, 4096, 512), kH200, Variant::kRowRegisters).row_threads;
  };
  EXPECT(threads(1) == 512 && threads(264) == 512 && threads(265) == 128);
}

void check_split() {
  // One huge row: the whole device reads it, and the sample grows with it.
  const Plan huge = make_plan(call(1, 1 << 28, 32, ValueType::kFloat32), kH200);
  EXPECT(huge.variant == Variant::kSplitStream);
  const cuda::SplitStreamShape& shape = huge.split_stream;
  EXPECT(shape.parts >= 132 && huge.grid_ctas == shape.parts);
  EXPECT(shape.sample_ctas == cuda::SplitStreamPolicy::kMaxSampleCtas);
  EXPECT(shape.num_groups() == cuda::SplitStreamPolicy::kMaxGroups);
  EXPECT(huge.workspace_bytes == cuda::SplitStreamWorkspace::num_bytes(shape, 1));

  // Lengths that only the device knows: CTAs for all rows together, and one more for each.
  TopkParams windows = call(256, 1 << 20, 512);
  windows.end = {&windows, 1, IndexType::kInt32, {}};
  const Plan ragged = make_plan(windows, kH200, Variant::kSplitStream);
  EXPECT(ragged.split_stream.is_ragged == 1);
  // Rows of one length: each of more than a share gives the most parts that there can be.
  for (const std::uint32_t row_units : {1u, 2u, 3u, 17u, 1024u}) {
    const std::uint32_t num_shares = ragged.split_stream.parts * cuda::kRaggedWaves;
    const std::uint32_t share = (256 * row_units + num_shares - 1) / num_shares;
    EXPECT(256 * ((row_units + share - 1) / share) <= ragged.grid_ctas);
  }

  // Everywhere: the buffer has room for a CTA's list and for more than the winners, and every
  // group has at least a thread of its own.
  for (const DeviceLimits& limits : kDevices) {
    for (std::int64_t k : {1, 512, 4096}) {
      const Plan plan = make_plan(call(8, 1 << 20, k), limits, Variant::kSplitStream);
      EXPECT(plan.split_stream.buffer_capacity > k);
      EXPECT(plan.split_stream.buffer_capacity >= cuda::SplitStreamPolicy::kStagedSurvivors);
      EXPECT(plan.split_stream.parts >= 1 && plan.split_stream.sample_ctas >= 1);
      EXPECT(plan.split_stream.groups_per_sample_cta <= cuda::SplitStreamPolicy::kSampleThreads);
    }
  }

  // Large k, in every order; only "value" sorts, by rows where a CTA can hold one's winners.
  const Plan any = make_plan(call(8, 1 << 20, 100000, ValueType::kFloat32), kH200);
  EXPECT(any.variant == Variant::kSplitRadix && any.split_radix.sort_winners == 0);
  const Plan sorted =
      make_plan(call(8, 1 << 20, 100000, ValueType::kFloat32, Order::kValue), kH200);
  EXPECT(sorted.variant == Variant::kSplitRadix && sorted.split_radix.sort_winners == 100000);
  EXPECT(sorted.split_radix.sorts_by_row == 0);
  EXPECT(sorted.workspace_bytes >= std::size_t{8} * 100000 * 24);
  const Plan by_row = make_plan(call(4096, 16384, 5000, ValueType::kFloat32, Order::kValue), kH200);
  EXPECT(by_row.variant == Variant::kSplitRadix && by_row.split_radix.sorts_by_row == 1);
  EXPECT(make_plan(call(4096, 16384, 5000), kH200).variant == Variant::kRowRegisters);

  // Many rows of 64 KB are streamed where k is small.
  const auto of_64_kb = [](std::int64_t rows, std::int64_t k) {
    return make_plan(call(rows, 16384, k, ValueType::kFloat32), kH200).variant;
  };
  EXPECT(of_64_kb(1024, 512) == Variant::kRowStream);
  EXPECT(of_64_kb(1024, 2048) == Variant::kRowRegisters);
  EXPECT(of_64_kb(200, 512) == Variant::kRowStream);
  EXPECT(of_64_kb(200, 2048) == Variant::kRowRegisters);
  EXPECT(of_64_kb(132, 512) == Variant::kRowRegisters);
  EXPECT(make_plan(call(1024, 16384, 512), kH200).variant == Variant::kRowRegisters);
  // Batches bound the workspace: 24 bytes and little more per winner of a batch, 8 per candidate.
  const Plan many =
      make_plan(call(65536, 1 << 20, 1 << 20, ValueType::kFloat32, Order::kValue), kH200);
  EXPECT(many.split_radix.batch_rows == 128);
  for (std::int64_t cols : {std::int64_t{70}, std::int64_t{1} << 16, std::int64_t{1} << 30}) {
    using Policy = cuda::SplitRadixPolicy;
    const Plan plan = make_plan(call(5000, cols, 65536), kH200, Variant::kSplitRadix);
    EXPECT(plan.split_radix.candidate_capacity >= Policy::kMinCandidates);
    EXPECT(std::int64_t{plan.split_radix.batch_rows} * plan.split_radix.candidate_capacity <=
           Policy::kMaxBatchCandidates);
    EXPECT(plan.split_radix.parts >= 1 && plan.split_radix.parts <= Policy::kMaxParts);
  }
}

void check_cluster_row() {
  // One wave of clusters, as large as that allows, and the whole row in registers.
  struct Expected {
    std::int64_t rows, cols;
    std::int32_t cluster_ctas, vectors;
  };
  for (const Expected& expected :
       {Expected{1, 65536, 8, 2}, Expected{1, 1 << 18, 16, 4}, Expected{8, 1 << 18, 8, 8},
        Expected{16, 65536, 4, 4}, Expected{64, 65536, 2, 8}, Expected{1, 1 << 20, 16, 16}}) {
    const Plan plan = make_plan(call(expected.rows, expected.cols, 512), kH200);
    EXPECT(plan.variant == Variant::kClusterRow);
    EXPECT(plan.cluster_ctas == expected.cluster_ctas);
    EXPECT(plan.grid_ctas == expected.rows * expected.cluster_ctas);
    EXPECT(plan.vectors_per_thread == expected.vectors);
    EXPECT(1 << plan.cluster_row.log2_ctas == expected.cluster_ctas);
    EXPECT(!plan.cluster_row.groups_take_all);
    EXPECT(plan.workspace_bytes == 0);
  }
  // The bound needs more groups than each CTA's part of k: two CTAs would not have them.
  EXPECT(make_plan(call(16, 16384, 2048), kH200, Variant::kClusterRow).cluster_ctas > 2);
  // More than registers hold: the bound of a part suffices only where it lets few through.
  EXPECT(
      !make_plan(call(8, 1 << 20, 512), kH200, Variant::kClusterRow).cluster_row.groups_take_all);
  EXPECT(
      make_plan(call(8, 1 << 20, 2048), kH200, Variant::kClusterRow).cluster_row.groups_take_all);

  // Read twice, and still the first choice for few rows; not for many.
  EXPECT(make_plan(call(8, 1 << 20, 2048), kH200).variant == Variant::kClusterRow);
  EXPECT(make_plan(call(64, 1 << 20, 512), kH200).variant != Variant::kClusterRow);
  EXPECT(make_plan(call(133, 65536, 512), kH200).variant != Variant::kClusterRow);

  for (const DeviceLimits& limits : kDevices) {
    for (std::int64_t k : {1, 512, 2048, 4096}) {
      for (std::int64_t cols : {1, 4096, 1 << 20, 1 << 30}) {
        const TopkParams params = call(8, cols, k);
        if (!cuda::can_serve(Variant::kClusterRow, params, limits)) continue;
        const Plan plan = make_plan(params, limits, Variant::kClusterRow);
        const cuda::ClusterRowShape& shape = plan.cluster_row;
        EXPECT(limits.compute_capability >= 90 && plan.cluster_ctas >= 2);
        // Survivors are sent in pairs; winners, and their sorted copy in the survivors' place, fit.
        EXPECT(shape.region_capacity % 2 == 0);
        EXPECT(plan.survivor_capacity >= 2 * std::min(k, cols));
        EXPECT(shape.winner_capacity >= std::min(k, cols));
        EXPECT(static_cast<std::int64_t>(shape.winner_capacity) <= plan.survivor_capacity);
      }
    }
  }
  EXPECT(!cuda::can_serve(Variant::kClusterRow, call(1, 65536, 512), kA100));
  EXPECT(make_plan(call(1, 65536, 512), kA100).variant != Variant::kClusterRow);
  // A device whose partition holds no cluster.
  DeviceLimits partition = kH200;
  partition.max_cluster_ctas = 1;
  EXPECT(!cuda::can_serve(Variant::kClusterRow, call(1, 65536, 512), partition));
  // 99 KB of shared memory.
  EXPECT(make_plan(call(1, 65536, 512), kRtx5090).variant == Variant::kClusterRow);
  EXPECT(!cuda::can_serve(Variant::kClusterRow, call(1, 65536, 4096), kRtx5090));
}

// The k-th best of `composites` as the kernels find it, stopping at bins of `capacity` elements.
Composite search(const std::vector<Composite>& composites, RadixCursor cursor, std::uint32_t k,
                 std::uint32_t capacity, int* num_histograms) {
  for (;;) {
    ++*num_histograms;
    std::vector<std::uint32_t> bins(RadixCursor::kNumBins);
    for (Composite composite : composites) {
      const std::uint64_t bin = cursor.bin(composite);
      if (bin < bins.size()) ++bins[bin];
    }
    std::uint32_t above = 0;
    std::uint32_t pivot = 0;
    while (cursor.num_above() + above + bins[pivot] < k) above += bins[pivot++];
    const std::uint32_t count = bins[pivot];
    cursor.descend(pivot, above);
    if (count > capacity) continue;

    std::vector<Composite> in_bin;
    std::uint32_t better = 0;
    for (Composite composite : composites) {
      better += composite > cursor.high();
      if (composite >= cursor.low() && composite <= cursor.high()) in_bin.push_back(composite);
    }
    EXPECT(better == cursor.num_above());
    EXPECT(in_bin.size() == count);
    std::sort(in_bin.rbegin(), in_bin.rend());
    return in_bin[k - 1 - better];
  }
}

void check_radix_search(int key_bits, std::uint32_t num_distinct, std::uint32_t num_items,
                        int max_histograms) {
  std::mt19937 random(key_bits * 31 + num_distinct + num_items);
  const std::uint32_t max_key = key_bits == 32 ? ~0u : (1u << key_bits) - 1;
  std::vector<Composite> composites;
  for (std::uint32_t position = 0; position < num_items; ++position) {
    const std::uint32_t key = max_key - random() % num_distinct * (max_key / num_distinct);
    composites.push_back(composite_key(key, position));
  }
  std::vector<Composite> sorted = composites;
  std::sort(sorted.rbegin(), sorted.rend());
  for (std::uint32_t k : {1u, num_items / 3 + 1, num_items}) {
    for (std::uint32_t capacity : {1u, 64u}) {
      int num_histograms = 0;
      EXPECT(search(composites, RadixCursor(key_bits, num_items), k, capacity, &num_histograms) ==
             sorted[k - 1]);
      EXPECT(num_histograms <= max_histograms);
      int unused = 0;
      EXPECT(search(composites, RadixCursor::over(sorted.back(), sorted.front()), k, capacity,
                    &unused) == sorted[k - 1]);
    }
  }
}

void check_gate() {
  // A router's call is the gate's, with weights or sorted by value; a warp finishes four rows.
  TopkParams router = call(16384, 256, 8, ValueType::kBFloat16, Order::kValue);
  EXPECT(make_plan(router, kH200).variant == Variant::kGate);
  router.order = Order::kAny;
  router.weights = Weights::kSoftmax;
  const Plan plan = make_plan(router, kH200);
  EXPECT(plan.variant == Variant::kGate && plan.workspace_bytes == 0);
  EXPECT(plan.row_threads == 32 && plan.items_per_thread == 8 && plan.grid_ctas == 1024);
  EXPECT(make_plan(call(64, 256, 8), kH200, Variant::kGate).grid_ctas == 16);
  // Eight experts are a lane's, but for calls that are no router's.
  TopkParams few_experts = call(1000, 8, 8);
  EXPECT(make_plan(few_experts, kH200, Variant::kGate).row_threads == 1);
  EXPECT(make_plan(few_experts, kH200, Variant::kGate).grid_ctas == 8);
  EXPECT(make_plan(call(1000, 16, 8), kH200, Variant::kGate).items_per_thread == 16);
  EXPECT(make_plan(call(1000, 16, 9), kH200, Variant::kGate).row_threads == 4);
  // Narrow items in longer lists once rows are many.
  TopkParams nine = call(65536, 128, 9);
  EXPECT(make_plan(call(1000, 128, 8), kH200, Variant::kGate).row_threads == 16);
  EXPECT(make_plan(nine, kH200, Variant::kGate).row_threads == 8);
  nine.value_type = ValueType::kFloat32;
  EXPECT(make_plan(nine, kH200, Variant::kGate).row_threads == 16);
  // 32 rows a CTA for 32 experts, one batch: with two, half as many warps took longer.
  EXPECT(make_plan(call(65536, 32, 9), kH200, Variant::kGate).grid_ctas == 2048);
  EXPECT(make_plan(call(65536, 64, 9), kH200, Variant::kGate).grid_ctas == 2048);
  // More than 16 experts are a lane's where rows are many and the last wave is not much too small.
  EXPECT(make_plan(call(4096, 32, 8), kH200, Variant::kGate).row_threads == 4);
  EXPECT(make_plan(call(17000, 32, 8), kH200, Variant::kGate).row_threads == 4);
  for (std::int64_t rows : {16384, 65536}) {
    for (std::int64_t cols : {32, 64}) {
      for (ValueType type : {ValueType::kBFloat16, ValueType::kFloat32}) {
        const bool is_wide = type == ValueType::kFloat32 && cols == 64;
        const Plan lanes =
            make_plan(call(rows, cols, is_wide ? 2 : 8, type), kH200, Variant::kGate);
        EXPECT(lanes.row_threads == 1 && lanes.items_per_thread == cols);
        EXPECT(lanes.grid_ctas == rows / 128);
      }
    }
  }
  EXPECT(make_plan(call(65536, 64, 3, ValueType::kFloat32), kH200, Variant::kGate).row_threads ==
         8);
  // tests/weighted_cases.py relies on it.
  for (const DeviceLimits& limits : {kA100, kH200, kB200}) {
    EXPECT(make_plan(call(13001, 32, 8), limits, Variant::kGate).row_threads == 1);
    EXPECT(make_plan(call(40001, 128, 8), limits, Variant::kGate).row_threads == 1);
  }
  EXPECT(make_plan(call(65536, 33, 8), kH200, Variant::kGate).items_per_thread == 64);
  EXPECT(make_plan(call(65536, 128, 8), kH200, Variant::kGate).items_per_thread == 128);
  // Up to two winners as well, which have a shorter end; and beyond 64 experts from two waves on.
  EXPECT(make_plan(call(16384, 64, 1, ValueType::kFloat32), kH200, Variant::kGate).row_threads ==
         1);
  EXPECT(make_plan(call(65536, 128, 1), kH200, Variant::kGate).row_threads == 1);
  EXPECT(make_plan(call(2 * 128 * 132, 128, 8), kH200, Variant::kGate).row_threads == 1);
  EXPECT(make_plan(call(2 * 128 * 132 - 1, 128, 8), kH200, Variant::kGate).row_threads == 8);
  EXPECT(make_plan(call(16384, 128, 8), kH200, Variant::kGate).row_threads == 8);
  EXPECT(make_plan(call(65536, 128, 8, ValueType::kFloat32), kH200, Variant::kGate).row_threads ==
         16);
  const float bias = 0;
  TopkParams biased = call(65536, 128, 8);
  biased.bias = &bias;
  EXPECT(make_plan(biased, kH200, Variant::kGate).row_threads == 16);
  few_experts.order = Order::kIndex;
  EXPECT(make_plan(few_experts, kH200, Variant::kGate).row_threads == 2);
  EXPECT(make_plan(call(1000, 0, 8), kH200, Variant::kGate).grid_ctas == 16);

  // Beyond its limits it serves nothing; k counts only as far as there are columns.
  EXPECT(cuda::can_serve(Variant::kGate, call(1, 512, 32), kH200));
  EXPECT(cuda::can_serve(Variant::kGate, call(1, 20, 1000), kH200));
  EXPECT(!cuda::can_serve(Variant::kGate, call(1, 513, 1), kH200));
  EXPECT(!cuda::can_serve(Variant::kGate, call(1, 512, 33), kH200));

  // Others need no round per winner where the order does not matter.
  EXPECT(make_plan(call(16384, 256, 32), kH200).variant != Variant::kGate);
}

void check_refusals() {
  const TopkParams params = call(1, 100000, 5000, ValueType::kFloat32, Order::kValue);
  EXPECT(!cuda::can_serve(Variant::kRowRadix, params, kH200));
  std::string message;
  try {
    make_plan(params, kH200, Variant::kRowRadix);
  } catch (const std::runtime_error& error) {
    message = error.what();
  }
  EXPECT(message.find("row_radix") != std::string::npos);
}

}  // namespace

int main() {
  check_every_plan_fits();
  check_row_radix();
  check_row_registers();
  check_split();
  check_cluster_row();
  for (int key_bits : {16, 32}) {
    for (std::uint32_t num_distinct : {1u, 2u, 40000u}) {
      for (std::uint32_t num_items : {1u, 2u, 2048u, 2049u, 70000u}) {
        check_radix_search(key_bits, num_distinct, num_items, key_bits == 16 ? 4 : 5);
      }
    }
  }
  check_gate();
  check_refusals();
  return expect::verdict();
}
