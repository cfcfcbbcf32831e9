// Global memory of a split_radix call, for one batch of rows at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/common/composite.h"
#include "cuda/common/radix_cursor.h"
#include "deepselect/macros.h"

namespace deepselect::cuda {

// What a sample says of a row's k best: what is better than `sure` is one of them, what is no
// better than `hopeless` is not. Counting proves it or not.
struct RowBracket {
  Composite sure;
  Composite hopeless;
};

// How a call is divided; fixed by the plan.
struct SplitRadixShape {
  std::uint32_t parts;               // of a row, a CTA each
  std::uint32_t batch_rows;          // rows served at a time
  std::uint32_t candidate_capacity;  // of a row
  std::uint32_t sort_winners;        // of a row that are sorted by value; 0: order is not "value"
  std::uint32_t sorts_by_row;        // a CTA sorts the winners of a row; otherwise the device sorts
                                     // those of all rows at once
};

// Which elements are selected: what is better than `loser`, and of the rest that reaches `equal`,
// which has one key, the first `num_equal`.
struct SplitRadixPivot {
  Composite loser;
  Composite equal;
  std::uint32_t num_equal;
};

struct SplitRadixRow {
  RowBracket bracket;
  unsigned long long num_appended;  // winners, and 2^32 for every candidate
  SplitRadixPivot pivot;
  std::uint32_t is_resolved;  // the pivot is known
  std::uint32_t is_poisoned;
  std::uint32_t num_arrived;  // parts that are through with a kernel; zero again after it
  RadixCursor cursor;
  std::uint32_t bins[RadixCursor::kNumBins];  // zero again after each round
};

// Of one part: elements selected for their key, and equal to the pivot's key otherwise.
struct SplitRadixCounts {
  std::uint32_t above;
  std::uint32_t equal;
};

struct SplitRadixWorkspace {
  SplitRadixRow* rows;            // [batch_rows]
  SplitRadixCounts* part_counts;  // [batch_rows][parts]
  Composite* candidates;          // [batch_rows][candidate_capacity]
  // Winners to sort, twice: sort keys and positions. Where rows are sorted one by one, they are
  // sorted in place, and their keys take 32 bits.
  void* sort_keys[2];  // [batch_rows * sort_winners]
  std::uint32_t* sort_positions[2];
  void* sort_temporary;

  DEEPSELECT_HOST_DEVICE SplitRadixCounts* counts_of(const SplitRadixShape& shape,
                                                     std::uint32_t batch_row) const {
    return part_counts + std::uint64_t{batch_row} * shape.parts;
  }
  DEEPSELECT_HOST_DEVICE Composite* candidates_of(const SplitRadixShape& shape,
                                                  std::uint32_t batch_row) const {
    return candidates + std::uint64_t{batch_row} * shape.candidate_capacity;
  }

  static constexpr std::size_t kAlignment = 256;
  static constexpr std::size_t aligned(std::size_t num_bytes) {
    return (num_bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  // Enough for the sort's histograms and tile states, which take a quarter of a byte per item.
  static constexpr std::size_t sort_temporary_bytes(std::size_t num_items) {
    return num_items == 0 ? 0 : aligned(num_items) + (std::size_t{1} << 20);
  }
  static constexpr std::size_t state_bytes(const SplitRadixShape& shape) {
    return aligned(sizeof(SplitRadixRow) * shape.batch_rows);
  }
  static constexpr std::size_t count_bytes(const SplitRadixShape& shape) {
    return aligned(sizeof(SplitRadixCounts) * shape.batch_rows * shape.parts);
  }
  static constexpr std::size_t candidate_bytes(const SplitRadixShape& shape) {
    return aligned(sizeof(Composite) * shape.batch_rows * std::size_t{shape.candidate_capacity});
  }
  static constexpr std::size_t num_sorted(const SplitRadixShape& shape) {
    return std::size_t{shape.batch_rows} * shape.sort_winners;
  }
  static constexpr std::size_t sort_bytes(const SplitRadixShape& shape) {
    const std::size_t num_winners = num_sorted(shape);
    if (shape.sorts_by_row != 0) return aligned(4 * num_winners) + aligned(4 * num_winners);
    return 2 * (aligned(8 * num_winners) + aligned(4 * num_winners)) +
           sort_temporary_bytes(num_winners);
  }
  static constexpr std::size_t num_bytes(const SplitRadixShape& shape) {
    return state_bytes(shape) + count_bytes(shape) + candidate_bytes(shape) + sort_bytes(shape);
  }

  static SplitRadixWorkspace at(void* base, const SplitRadixShape& shape) {
    SplitRadixWorkspace workspace{};
    char* next = static_cast<char*>(base);
    const auto take = [&next](std::size_t bytes) {
      char* const taken = next;
      next += bytes;
      return static_cast<void*>(taken);
    };
    workspace.rows = static_cast<SplitRadixRow*>(take(state_bytes(shape)));
    workspace.part_counts = static_cast<SplitRadixCounts*>(take(count_bytes(shape)));
    workspace.candidates = static_cast<Composite*>(take(candidate_bytes(shape)));
    const std::size_t key_bytes = shape.sorts_by_row != 0 ? 4 : 8;
    for (int i = 0; i < (shape.sorts_by_row != 0 ? 1 : 2); ++i) {
      workspace.sort_keys[i] = take(aligned(key_bytes * num_sorted(shape)));
      workspace.sort_positions[i] =
          static_cast<std::uint32_t*>(take(aligned(4 * num_sorted(shape))));
    }
    workspace.sort_temporary = next;
    return workspace;
  }
};

}  // namespace deepselect::cuda
