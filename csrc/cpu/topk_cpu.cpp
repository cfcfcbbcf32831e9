// Rows over threads: rows are the tasks where there are enough of them, otherwise the threads share
// each row. What is done with a row is row_scan.h's and dense_scan.h's.
#include "cpu/topk_cpu.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "cpu/dense_scan.h"
#include "cpu/isa.h"
#include "cpu/row_output.h"
#include "cpu/row_scan.h"
#include "cpu/tasks.h"
#include "cpu/value_order.h"
#include "cpu/weighted_topk.h"
#include "deepselect/row_view.h"

namespace deepselect::cpu {
namespace {

template <ValueType kType>
class TopkCall {
  using Bits = typename ScanPrimitives<kType>::Bits;
  using Key = typename ScanPrimitives<kType>::Key;

 public:
  TopkCall(const TopkParams& params, const IsaPrimitives& isa, const ThreadPool& pool)
      : params_(params),
        primitives_(primitives_for<kType>(isa)),
        pool_(pool),
        rule_(key_rule(params)),
        num_threads_(useful_threads(params, pool)) {}

  void run() {
    workers_.reserve(static_cast<std::size_t>(num_threads_));
    for (int slot = 0; slot < num_threads_; ++slot) workers_.emplace_back(primitives_, rule_);
    if (shares_rows()) {
      for (std::int64_t row = 0; row < params_.num_rows; ++row) run_shared_row(row);
      return;
    }
    const std::int64_t task_rows = rows_per_task();
    const std::int64_t num_tasks = (params_.num_rows + task_rows - 1) / task_rows;
    run_tasks(pool_, num_threads_, num_tasks, [&](int slot, std::int64_t task) {
      const std::int64_t end = std::min((task + 1) * task_rows, params_.num_rows);
      for (std::int64_t row = task * task_rows; row < end; ++row) {
        run_row(workers_[static_cast<std::size_t>(slot)], row, row + 1 < end);
      }
    });
  }

 private:
  // What one thread keeps from row to row.
  struct Worker {
    Worker(const ScanPrimitives<kType>& primitives, KeyRule<Key> rule)
        : scan(primitives, rule), value_order(primitives, rule) {}
    RowScan<kType> scan;
    ValueOrder<kType> value_order;
  };

  // One row of the call. `k` is the number of entries that are no pads.
  struct Row {
    std::int64_t index;
    RowView view;
    const Bits* window;
    std::int64_t k;
  };

  // "poison" ranks NaN best whatever the direction: a window that holds one then selects it.
  static KeyRule<Key> key_rule(const TopkParams& params) {
    const bool nan_is_largest =
        params.nan_rule == NanRule::kPoison ? params.largest : params.nan_rule == NanRule::kLargest;
    return {nan_is_largest ? std::numeric_limits<Key>::max() : std::numeric_limits<Key>::min(),
            static_cast<Key>(params.largest ? 0 : -1)};
  }

  static std::int64_t row_items(const TopkParams& params) {
    return params.num_cols + kScanTuning.row_overhead_items;
  }

  static int useful_threads(const TopkParams& params, const ThreadPool& pool) {
    const std::int64_t num_threads =
        params.num_rows * row_items(params) / kScanTuning.min_items_per_thread;
    return static_cast<int>(
        std::clamp<std::int64_t>(num_threads, 1, std::max(pool.num_threads, 1)));
  }

  bool shares_rows() const {
    if (num_threads_ == 1 || params_.num_cols < 2 * kScanTuning.min_part_items) return false;
    return params_.num_rows < num_threads_ ||
           (params_.num_rows < 4 * num_threads_ && params_.num_rows % num_threads_ != 0);
  }

  // Several tasks per thread, so that ragged rows balance, but each worth fetching.
  std::int64_t rows_per_task() const {
    if (num_threads_ == 1) return params_.num_rows;
    const std::int64_t balanced = params_.num_rows / (8 * num_threads_);
    const std::int64_t worthwhile = kScanTuning.task_items / row_items(params_);
    return std::max<std::int64_t>(1, std::min(balanced, worthwhile));
  }

  Row row_at(std::int64_t index) const {
    const RowView view = row_view(params_, index);
    const Bits* row =
        static_cast<const Bits*>(params_.input) + index * params_.input_row_stride_items;
    return {index, view, row + view.begin, std::min(params_.k, view.size())};
  }

  void run_row(Worker& worker, std::int64_t index, bool has_next) {
    const Row row = row_at(index);
    NextWindow next{};
    if (has_next) {
      const Row next_row = row_at(index + 1);
      next = {next_row.window, next_row.view.size() * static_cast<std::int64_t>(sizeof(Bits))};
    }
    const std::uint32_t* positions =
        ordered(worker, row, worker.scan.select(row.window, row.view.size(), row.k, next));
    output_of(row, positions).write(0, params_.k);
  }

  // A row in as many parts as there are threads.
  void run_shared_row(std::int64_t index) {
    const Row row = row_at(index);
    const std::int64_t n = row.view.size();
    if (n < 2 * kScanTuning.min_part_items) return run_row(workers_[0], index, false);

    std::uint32_t* positions = nullptr;
    if (row.k == n) {
      positions = workers_[0].scan.select(row.window, n, row.k, {});
    } else if (row.k <= n / (num_threads_ * kScanTuning.dense_ratio)) {
      positions = select_in_parts(row);
    } else {
      if (!dense_) dense_.emplace(primitives_, rule_, pool_, num_threads_);
      positions = positions_.reserve(row.k);
      dense_->select(row.window, n, row.k, positions);
    }
    ordered(workers_[0], row, positions);
    const RowOutput<Bits> output = output_of(row, positions);
    const std::int64_t num_tasks =
        (params_.k + kScanTuning.entries_per_task - 1) / kScanTuning.entries_per_task;
    run_tasks(pool_, num_threads_, num_tasks, [&](int, std::int64_t task) {
      const std::int64_t begin = task * kScanTuning.entries_per_task;
      output.write(begin, std::min(begin + kScanTuning.entries_per_task, params_.k));
    });
  }

  // The best of every part, in the order of parts, then the best of those.
  std::uint32_t* select_in_parts(const Row& row) {
    const std::int64_t n = row.view.size();
    const std::int64_t num_parts =
        std::min<std::int64_t>(num_threads_, n / kScanTuning.min_part_items);
    std::uint32_t* positions = positions_.reserve(num_parts * row.k + kOverrunItems);
    run_tasks(pool_, num_threads_, num_parts, [&](int slot, std::int64_t part) {
      const std::int64_t begin = n * part / num_parts;
      const std::int64_t end = n * (part + 1) / num_parts;
      const std::uint32_t* best = workers_[static_cast<std::size_t>(slot)].scan.select(
          row.window + begin, end - begin, row.k, {});
      for (std::int64_t i = 0; i < row.k; ++i) {
        positions[part * row.k + i] = best[i] + static_cast<std::uint32_t>(begin);
      }
    });
    workers_[0].scan.keep_best(row.window, positions, num_parts * row.k, row.k);
    return positions;
  }

  std::uint32_t* ordered(Worker& worker, const Row& row, std::uint32_t* positions) const {
    if (params_.order == Order::kValue) worker.value_order.sort(row.window, positions, row.k);
    return positions;
  }

  RowOutput<Bits> output_of(const Row& row, const std::uint32_t* positions) const {
    if constexpr (is_floating(kType)) {
      if (params_.nan_rule == NanRule::kPoison &&
          std::any_of(positions, positions + row.k, [&](std::uint32_t position) {
            return is_nan<kType>(row.window[position]);
          })) {
        return {
            params_, row.index, row.view, row.window, positions, 0, ValueTraits<kType>::kQuietNan};
      }
    }
    return {params_,
            row.index,
            row.view,
            row.window,
            positions,
            row.k,
            static_cast<Bits>(params_.pad_value_bits)};
  }

  const TopkParams& params_;
  const ScanPrimitives<kType>& primitives_;
  const ThreadPool& pool_;
  const KeyRule<Key> rule_;
  const int num_threads_;
  std::vector<Worker> workers_;

  // Of a shared row.
  std::optional<DenseScan<kType>> dense_;
  Buffer<std::uint32_t> positions_;
};

}  // namespace

void topk_with(const IsaPrimitives& isa, const TopkParams& params, const ThreadPool& pool) {
  if (is_weighted(params)) return weighted_topk(isa, params, pool);
  switch (params.value_type) {
    case ValueType::kBFloat16:
      return TopkCall<ValueType::kBFloat16>(params, isa, pool).run();
    case ValueType::kFloat16:
      return TopkCall<ValueType::kFloat16>(params, isa, pool).run();
    case ValueType::kFloat32:
      return TopkCall<ValueType::kFloat32>(params, isa, pool).run();
    case ValueType::kInt32:
      return TopkCall<ValueType::kInt32>(params, isa, pool).run();
  }
}

void topk(const TopkParams& params, const ThreadPool& pool) {
  topk_with(best_primitives(), params, pool);
}

}  // namespace deepselect::cpu
