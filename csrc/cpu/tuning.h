// The row scan's sizes and where they come from. Measured on a 2-core AMD EPYC of family 26 (Zen 5:
// 48 KiB L1d and 1 MiB L2 per core, 32 MiB L3 in all); see docs/kernels/cpu_row_scan.md.
#pragma once

#include <cstdint>

#include "cpu/scan_primitives.h"

namespace deepselect::cpu {

struct ScanTuning {
  // Items marked before their positions are listed: one indirect call pair per segment, marks of
  // 1 KiB, and at most this many candidates past the buffer's capacity.
  std::int64_t segment_items;

  // Windows up to this length are keyed whole and cut directly, without a sample.
  std::int64_t direct_items;

  // Where k is more than 1 / dense_ratio of the window, candidates would be most of the work: two
  // passes over the window then, one to find the cut and one to list.
  std::int64_t dense_ratio;

  // The sample: window / sample_ratio items within the limits, in groups that share a cache line.
  std::int64_t sample_ratio;
  std::int64_t min_sample_items;
  std::int64_t max_sample_items;
  std::int64_t sample_group_bytes;

  // How much of the next row is loaded while this one's candidates are cut.
  std::int64_t max_fetch_bytes;

  // Candidates beyond 2 k that are kept before the buffer is cut back to k.
  std::int64_t candidate_slack;

  // A row is shared between threads in parts of at least this many items.
  std::int64_t min_part_items;

  // Fewer items than this per thread are not worth waking it; a row counts for its columns and for
  // row_overhead_items more.
  std::int64_t min_items_per_thread;
  std::int64_t row_overhead_items;

  // Rows are handed out in tasks of about this many items, so that each row but a task's last can
  // load the next.
  std::int64_t task_items;

  // Output entries worth a task of their own.
  std::int64_t entries_per_task;

  constexpr bool is_valid() const {
    return segment_items > 0 && segment_items % kMarksPerWord == 0 && direct_items >= 1 &&
           dense_ratio >= 2 && sample_ratio >= 2 && min_sample_items <= max_sample_items &&
           direct_items >= min_sample_items && sample_group_bytes >= 4 && max_fetch_bytes >= 0 &&
           candidate_slack >= 0 && min_part_items > direct_items && min_items_per_thread >= 1 &&
           row_overhead_items >= 0 && task_items >= 1 && entries_per_task >= 1;
  }
};

constexpr ScanTuning kScanTuning{
    /*segment_items=*/8192,
    /*direct_items=*/1024,
    /*dense_ratio=*/8,
    /*sample_ratio=*/64,
    /*min_sample_items=*/256,
    /*max_sample_items=*/8192,
    /*sample_group_bytes=*/32,
    /*max_fetch_bytes=*/16384,
    /*candidate_slack=*/2048,
    /*min_part_items=*/32768,
    /*min_items_per_thread=*/16384,
    /*row_overhead_items=*/512,
    /*task_items=*/131072,
    /*entries_per_task=*/65536,
};
static_assert(kScanTuning.is_valid(), "see ScanTuning");

}  // namespace deepselect::cpu
