// The Ascend plan as a pure function, and the unified-buffer plans of every configuration.
#include "ascend/plan.h"

#include <iterator>

#include "ascend/dispatch.h"
#include "expect.h"

namespace {

using namespace deepselect;
using namespace deepselect::ascend;

TopkParams call(std::int64_t rows, std::int64_t cols, std::int64_t k,
                ValueType type = ValueType::kBFloat16) {
  TopkParams params{};
  params.num_rows = rows;
  params.num_cols = cols;
  params.k = k;
  params.value_type = type;
  return params;
}

// Buffers of a scan follow one another without overlap; the epilogue's spares the k best.
template <class UbPlan>
void test_ub_plan(std::uint32_t ub_bytes) {
  constexpr std::size_t kNumBuffers = std::size(UbPlan::kBuffers);
  std::uint32_t past = 0;
  for (std::size_t i = 0; i + 1 < kNumBuffers; ++i) {
    const UbBuffer& buffer = UbPlan::kBuffers[i];
    EXPECT(buffer.offset % kUbAlignment == 0);
    EXPECT(buffer.offset == past);
    past = buffer.offset + buffer.bytes;
  }
  EXPECT(past == UbPlan::kEnd && past <= ub_bytes);
  const UbBuffer& epilogue = UbPlan::kBuffers[kNumBuffers - 1];
  EXPECT(epilogue.offset + epilogue.bytes <= ub_bytes);
  const std::uint32_t kept_past = UbPlan::kPositions + 4 * UbPlan::kCapacity;
  EXPECT(epilogue.offset + epilogue.bytes <= UbPlan::kValues || epilogue.offset >= kept_past);
  EXPECT(UbPlan::kCapacity % kCandidateGranule == 0);
}

void test_ub_plans(Architecture architecture) {
  for (ValueType type : {ValueType::kBFloat16, ValueType::kFloat16, ValueType::kFloat32}) {
    for (std::uint32_t max_k : kTiers) {
      dispatch(architecture, type, max_k, [=](auto config) {
        test_ub_plan<typename decltype(config)::Plan>(ub_bytes(architecture));
      });
    }
  }
}

// Whatever the call, the merge holds all entries and slices are whole shares.
void test_slices(const DeviceLimits& device) {
  for (ValueType type : {ValueType::kBFloat16, ValueType::kFloat32}) {
    for (std::int64_t k : {1, 15, 16, 17, 512, 513, 1024, 2048, 4096}) {
      for (std::int64_t rows : {1, 2, 5, 31, 64, 1000}) {
        for (std::int64_t cols : {1, 20000, 300000, (1 << 21) - 1}) {
          const TopkParams params = call(rows, cols, k, type);
          const Plan plan = make_plan(params, device);
          EXPECT(plan.num_slices >= 1 && plan.num_blocks >= 1 && plan.num_blocks <= 64);
          EXPECT(plan.num_slices == 1 ||
                 plan.num_slices * slice_entries(k) <=
                     candidate_capacity(device.architecture, type, plan.max_k));
          std::int64_t covered = 0;
          for (std::uint32_t slice = 0; slice < plan.num_slices; ++slice) {
            const SliceRange range = slice_range(cols, slice, plan.num_slices, 2048);
            if (range.num_items == 0) continue;
            EXPECT(range.first == covered);
            covered += range.num_items;
          }
          EXPECT(covered == cols);
        }
      }
    }
  }
}

}  // namespace

int main() {
  EXPECT(tier_of(1) == 512 && tier_of(512) == 512 && tier_of(513) == 1024);
  EXPECT(tier_of(1024) == 1024 && tier_of(1025) == 4096 && tier_of(4096) == 4096);
  EXPECT(tier_of(4097) == 0);

  const DeviceLimits device{Architecture::kDav3510, 64};
  // Many rows: one core each, no workspace.
  Plan plan = make_plan(call(4096, 131072, 512), device);
  EXPECT(plan.num_slices == 1 && plan.num_blocks == 64 && plan.workspace_bytes == 0);
  plan = make_plan(call(3, 1000, 512), device);
  EXPECT(plan.num_slices == 1 && plan.num_blocks == 3);
  // Few long rows are shared.
  plan = make_plan(call(1, 1 << 20, 512), device);
  EXPECT(plan.num_slices > 8 && plan.num_blocks == plan.num_slices);
  EXPECT(plan.num_merge_blocks == 1 && plan.workspace_bytes == plan.num_slices * 512u * 6u);
  plan = make_plan(call(8, 1 << 20, 512), device);
  EXPECT(plan.num_slices == 8 && plan.num_blocks == 64 && plan.num_merge_blocks == 8);

  for (Architecture architecture : {Architecture::kDav3510, Architecture::kDav2201}) {
    test_slices({architecture, 64});
    test_ub_plans(architecture);
  }
  return expect::verdict();
}
