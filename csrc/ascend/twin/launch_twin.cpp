#include "ascend/twin/launch_twin.h"

#include <mutex>

#include "ascend/dispatch.h"
#include "ascend/kernels/row_paged_2201.asc"
#include "ascend/kernels/row_paged_3510.asc"

namespace deepselect::twin {

Device& device() {
  static Device device;
  return device;
}

namespace {

std::uintptr_t address(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

void add_rows(std::vector<GmRange>& ranges, const void* base, std::int64_t num_rows,
              std::int64_t stride_items, std::int64_t row_items, int item_bytes, bool writable) {
  if (base == nullptr || num_rows == 0) return;
  const std::int64_t items = (num_rows - 1) * stride_items + row_items;
  ranges.push_back(
      {address(base), address(base) + static_cast<std::uintptr_t>(items * item_bytes), writable});
}

void add_vector(std::vector<GmRange>& ranges, const RowVector& vector, std::int64_t num_rows) {
  add_rows(ranges, vector.data, num_rows, vector.stride_items, 1,
           vector.type == IndexType::kInt64 ? 8 : 4, false);
}

std::vector<GmRange> tensors_of(const ascend::LaunchContext& context) {
  const TopkParams& params = context.params;
  const int item_bytes = value_bytes(params.value_type);
  const int index_bytes = params.index_type == IndexType::kInt64 ? 8 : 4;
  std::vector<GmRange> ranges;
  add_rows(ranges, params.input, params.num_rows, params.input_row_stride_items, params.num_cols,
           item_bytes, false);
  add_rows(ranges, params.values, params.num_rows, params.values_row_stride_items, params.k,
           item_bytes, true);
  add_rows(ranges, params.indices, params.num_rows, params.indices_row_stride_items, params.k,
           index_bytes, true);
  add_rows(ranges, params.raw_indices, params.num_rows, params.raw_indices_row_stride_items,
           params.k, 4, true);
  for (const RowVector& vector : {params.begin, params.end, params.index_offset,
                                  params.page_table_row, params.page_table_begin}) {
    add_vector(ranges, vector, params.num_rows);
  }
  if (params.page_table != nullptr && params.num_tables > 0 && params.num_table_pages > 0) {
    const std::int64_t items = (params.num_tables - 1) * params.page_table_row_stride_items +
                               (params.num_table_pages - 1) * params.page_table_col_stride_items +
                               1;
    add_rows(ranges, params.page_table, 1, 0, items, 4, false);
  }
  add_rows(ranges, context.workspace, 1, 0, static_cast<std::int64_t>(context.plan.workspace_bytes),
           1, true);
  return ranges;
}

template <class Kernel>
void run_cores(Machine& core, std::uint32_t num_blocks, bool is_first_launch,
               const Kernel& kernel) {
  for (std::uint32_t block = 0; block < num_blocks; ++block) {
    core.counts() = {};
    core.begin_core(block, num_blocks, block + 1);
    kernel();
    core.end_core();
    Device& target = device();
    if (target.counts != nullptr) *target.counts += core.counts();
    Counts* slowest = target.slowest_core_scan;
    if (is_first_launch && slowest != nullptr && core.counts().bytes_in >= slowest->bytes_in) {
      *slowest = core.counts();
    }
  }
}

}  // namespace
}  // namespace deepselect::twin

namespace deepselect::ascend {

namespace {

template <Architecture kArch>
struct Kernels;
template <>
struct Kernels<Architecture::kDav3510> {
  template <class Config>
  static void select(const RowPagedArgs& args) {
    row_paged_3510<Config::kValueType, typename Config::Tuning>(args);
  }
  template <class Config>
  static void merge(const RowPagedArgs& args) {
    row_paged_merge_3510<Config::kValueType, typename Config::Tuning>(args);
  }
};
template <>
struct Kernels<Architecture::kDav2201> {
  template <class Config>
  static void select(const RowPagedArgs& args) {
    row_paged_2201<Config::kValueType, typename Config::Tuning>(args);
  }
  template <class Config>
  static void merge(const RowPagedArgs& args) {
    row_paged_merge_2201<Config::kValueType, typename Config::Tuning>(args);
  }
};

template <Architecture kArch>
void launch_on(const LaunchContext& context) {
  twin::Machine core(ub_bytes(kArch));
  core.gm_ranges() = twin::tensors_of(context);
  twin::use_machine(&core);
  struct Guard {
    ~Guard() { twin::use_machine(nullptr); }
  } guard;
  const RowPagedArgs args{context.params, context.workspace, context.plan.num_slices};
  dispatch<kArch>(context.params.value_type, context.plan.max_k, [&](auto config) {
    using Config = decltype(config);
    twin::run_cores(core, context.plan.num_blocks, true,
                    [&] { Kernels<kArch>::template select<Config>(args); });
    if (context.plan.num_slices > 1) {
      twin::run_cores(core, context.plan.num_merge_blocks, false,
                      [&] { Kernels<kArch>::template merge<Config>(args); });
    }
  });
}

}  // namespace

void launch(const LaunchContext& context) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  if (twin::device().architecture == Architecture::kDav3510) {
    launch_on<Architecture::kDav3510>(context);
  } else {
    launch_on<Architecture::kDav2201>(context);
  }
}

}  // namespace deepselect::ascend
