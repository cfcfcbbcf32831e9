// What row_paged does on every architecture: which rows and slices fall to a core, which pages a
// batch holds, when copies start, when candidates are reduced. `Engine` does the vector work:
//
//   Lane, Plan, Tuning              item type, unified-buffer plan, sizes
//   Engine(const TopkParams&)
//   prepare()                       constants in the unified buffer, once per core
//   start_row()                     no candidates
//   candidates()                    their set: size, is_full, reduce, select, ...
//   filter(Batch)                   takes a landed batch: waits for its copies, appends, frees it
//   write_row(row, view)            the epilogue
//
// Flags: kLanded (MTE2 -> V) and kFree (V -> MTE2) per stage; the rest one each, and every wait is
// beside what it protects.
#pragma once

#include "ascend/kernels/row_paged/row_scalars.h"
#include "ascend/kernels/row_paged/slices.h"
#include "ascend/kernels/row_paged/work.h"
#include "deepselect/scan_order.h"

namespace deepselect::ascend {

// A batch of whole pages, with the row's tail behind them in the first one.
template <class Lane>
struct Batch {
  const ScanOrder& order;
  __ubuf__ Lane* items;
  std::uint32_t number;
  std::uint32_t stage;
  std::uint32_t first_step;  // of the scan order
  std::uint32_t num_pages;
  std::uint32_t tail_items;
  std::uint32_t slice_page;       // the slice's first page in the window
  std::uint32_t num_slice_pages;  // whole ones

  // Page of the window in slot i; slot num_pages is the tail's.
  __aicore__ inline std::uint32_t page_in_slot(std::uint32_t slot) const {
    return slice_page + (slot == num_pages ? num_slice_pages : order.page_at(first_step + slot));
  }
};

template <class Engine>
class RowPaged {
 public:
  using Lane = typename Engine::Lane;
  using Plan = typename Engine::Plan;
  using Tuning = typename Engine::Tuning;
  static constexpr std::uint32_t kPagesPerBatch = Tuning::kBatchItems / Tuning::kPageItems;

  __aicore__ inline explicit RowPaged(const RowPagedArgs& args)
      : args_(args), engine_(args.params) {}

  // Selects every row, or every slice of a row, that falls to this core.
  __aicore__ inline void select_all() {
    open_flags();
    const std::int64_t num_items = args_.params.num_rows * args_.num_slices;
    for (std::int64_t i = simd::block_index(); i < num_items; i += simd::num_blocks()) {
      const std::int64_t row = i / args_.num_slices;
      const RowView view = load_row_view(args_.params, row);
      const SliceRange range =
          slice_range(view.size(), i % args_.num_slices, args_.num_slices, Tuning::kPageItems);
      start_row();
      scan(row, view, range);
      if (args_.num_slices == 1) {
        engine_.write_row(row, view);
      } else {
        store_slice(args_, i, engine_.candidates());
      }
    }
    close_flags();
  }

  // Selects rows from the slices' results.
  __aicore__ inline void merge_all() {
    open_flags();
    for (std::int64_t row = simd::block_index(); row < args_.params.num_rows;
         row += simd::num_blocks()) {
      const RowView view = load_row_view(args_.params, row);
      start_row();
      const std::int64_t num_wanted = args_.params.k < view.size() ? args_.params.k : view.size();
      if (num_wanted != 0) {
        load_slices<Tuning::kNumStages>(args_, row, engine_.candidates());
        engine_.candidates().select(static_cast<std::uint32_t>(num_wanted));
      }
      engine_.write_row(row, view);
    }
    close_flags();
  }

 private:
  // ---- flags that are up between rows

  __aicore__ inline void open_flags() {
    simd::start_kernel();
    for (std::uint32_t stage = 0; stage < Tuning::kNumStages; ++stage) {
      simd::set<simd::kPipeV, simd::kPipeMte2>(stage);
    }
    simd::set<simd::kPipeMte3, simd::kPipeV>(0);
    simd::set<simd::kPipeMte3, simd::kPipeMte2>(0);
    engine_.prepare();
  }

  __aicore__ inline void close_flags() {
    start_row();
    for (std::uint32_t stage = 0; stage < Tuning::kNumStages; ++stage) {
      simd::wait<simd::kPipeV, simd::kPipeMte2>(stage);
    }
  }

  // The epilogue's areas, which lie over those of the scan, have been copied out.
  __aicore__ inline void start_row() {
    simd::wait<simd::kPipeMte3, simd::kPipeV>(0);
    simd::wait<simd::kPipeMte3, simd::kPipeMte2>(0);
    engine_.start_row();
  }

  // ---- scan

  __aicore__ inline void scan(std::int64_t row, const RowView& view, const SliceRange& range) {
    row_ = simd::as_gm<Lane>(args_.params.input) + row * args_.params.input_row_stride_items +
           view.begin + range.first;
    first_page_ = static_cast<std::uint32_t>(range.first / Tuning::kPageItems);
    num_pages_ = static_cast<std::uint32_t>(range.num_items / Tuning::kPageItems);
    tail_items_ = static_cast<std::uint32_t>(range.num_items % Tuning::kPageItems);
    if (range.num_items == 0) return;

    const std::uint32_t seed = static_cast<std::uint32_t>(row) * 0x9E3779B1u + num_pages_;
    const ScanOrder order(num_pages_ == 0 ? 1 : num_pages_, seed);
    const std::uint32_t warmup_pages =
        Tuning::kWarmupItems / Tuning::kPageItems - (tail_items_ == 0 ? 0 : 1);
    first_batch_pages_ = num_pages_ < warmup_pages ? num_pages_ : warmup_pages;
    const std::uint32_t num_batches =
        1 + (num_pages_ - first_batch_pages_ + kPagesPerBatch - 1) / kPagesPerBatch;

    const auto k = static_cast<std::uint32_t>(args_.params.k);
    auto& candidates = engine_.candidates();
    for (std::uint32_t number = 0; number < Tuning::kNumStages && number < num_batches; ++number) {
      copy_in(batch(order, number));
    }
    for (std::uint32_t number = 0; number < num_batches; ++number) {
      engine_.filter(batch(order, number));
      const std::uint32_t later = number + Tuning::kNumStages;
      if (later < num_batches) copy_in(batch(order, later));
      const bool is_last = number + 1 == num_batches;
      if (candidates.is_full(k) || number == 0 || is_last) candidates.reduce(k, is_last);
    }
  }

  // The tail of the range comes with the first batch, behind its whole pages.
  __aicore__ inline Batch<Lane> batch(const ScanOrder& order, std::uint32_t number) const {
    const std::uint32_t stage = number % Tuning::kNumStages;
    const std::uint32_t first_step =
        number == 0 ? 0 : first_batch_pages_ + (number - 1) * kPagesPerBatch;
    const std::uint32_t rest = num_pages_ - first_step;
    const std::uint32_t most = number == 0 ? first_batch_pages_ : kPagesPerBatch;
    return {order,
            simd::ub_at<Lane>(Plan::kStages + stage * Plan::kStageBytes),
            number,
            stage,
            first_step,
            rest < most ? rest : most,
            number == 0 ? tail_items_ : 0,
            first_page_,
            num_pages_};
  }

  __aicore__ inline void copy_in(const Batch<Lane>& batch) {
    simd::wait<simd::kPipeV, simd::kPipeMte2>(batch.stage);
    for (std::uint32_t slot = 0; slot < batch.num_pages; ++slot) {
      copy_page(batch, slot, Tuning::kPageItems);
    }
    if (batch.tail_items != 0) copy_page(batch, batch.num_pages, batch.tail_items);
    simd::set<simd::kPipeMte2, simd::kPipeV>(batch.stage);
  }

  __aicore__ inline void copy_page(const Batch<Lane>& batch, std::uint32_t slot,
                                   std::uint32_t num_items) {
    const std::uint64_t page = batch.page_in_slot(slot) - first_page_;
    simd::copy_in(batch.items + slot * Tuning::kPageItems, row_ + page * Tuning::kPageItems,
                  num_items * Plan::kItemBytes);
  }

  const RowPagedArgs& args_;
  Engine engine_;
  __gm__ Lane* row_ = nullptr;  // the slice's first element
  std::uint32_t first_page_ = 0;
  std::uint32_t num_pages_ = 0;
  std::uint32_t tail_items_ = 0;
  std::uint32_t first_batch_pages_ = 0;
};

}  // namespace deepselect::ascend
