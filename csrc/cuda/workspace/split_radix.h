// Global memory of a split_radix call, for one batch of rows at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuda/common/radix_cursor.h"

namespace deepselect::cuda {

// How a call is divided; fixed by the plan.
struct SplitRadixShape {
  std::uint32_t parts;         // of a row, a CTA each
  std::uint32_t batch_rows;    // rows served at a time
  std::uint32_t sort_winners;  // of a row that are sorted by value; 0: order is not "value"
};

// Zero before the first round.
struct SplitRadixRow {
  std::uint32_t bins[RadixCursor::kNumBins];  // zero again after each round
  std::uint32_t num_arrived;                  // parts that have added theirs; zero again as well
  std::uint32_t is_poisoned;
  RadixCursor cursor;
};

// Of one part: elements above the pivot's key, and equal to it.
struct SplitRadixCounts {
  std::uint32_t above;
  std::uint32_t equal;
};

struct SplitRadixWorkspace {
  SplitRadixRow* rows;            // [batch_rows]
  SplitRadixCounts* part_counts;  // [batch_rows][parts]
  // Winners to sort, twice: sort keys and positions.
  unsigned long long* sort_keys[2];  // [batch_rows * sort_winners]
  std::uint32_t* sort_positions[2];
  void* sort_temporary;

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
  static constexpr std::size_t num_sorted(const SplitRadixShape& shape) {
    return std::size_t{shape.batch_rows} * shape.sort_winners;
  }
  static constexpr std::size_t num_bytes(const SplitRadixShape& shape) {
    return state_bytes(shape) + count_bytes(shape) +
           2 * (aligned(8 * num_sorted(shape)) + aligned(4 * num_sorted(shape))) +
           sort_temporary_bytes(num_sorted(shape));
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
    for (int i = 0; i < 2; ++i) {
      workspace.sort_keys[i] =
          static_cast<unsigned long long*>(take(aligned(8 * num_sorted(shape))));
      workspace.sort_positions[i] =
          static_cast<std::uint32_t*>(take(aligned(4 * num_sorted(shape))));
    }
    workspace.sort_temporary = next;
    return workspace;
  }
};

}  // namespace deepselect::cuda
