// Sizes of row_paged. No device was at hand: the values are the largest that fit the unified buffer
// with three stages (ub_plan.h checks), chosen by the cost model of docs/kernels/row_paged.md.
#pragma once

#include <cstdint>

#include "deepselect/contract.h"

namespace deepselect::ascend {

// Tiers of k: what the candidate area must hold decides how large a batch may be.
constexpr std::uint32_t kTiers[] = {512, 1024, 4096};

template <int kItemBytes, std::uint32_t kTierK>
struct RowPagedTuning {
  static constexpr std::uint32_t kMaxK = kTierK;
  static constexpr std::uint32_t kPageItems = 2048;
  static constexpr std::uint32_t kLog2PageItems = 11;
  static constexpr std::uint32_t kNumStages = 3;
  static constexpr std::uint32_t kBatchItems =
      kItemBytes == 4 ? 4096 : (kTierK == 512 ? 12288 : 8192);
  // Candidates beyond k that start a selection.
  static constexpr std::uint32_t kSpareItems =
      kTierK == 512 ? 2048 : (kTierK == 1024 ? 3072 : 4096);
  // Items of the first batch, which gives the first threshold.
  static constexpr std::uint32_t kWarmupItems = kTierK == 4096 ? kBatchItems : 2 * kPageItems;
  // A page table of more chunks than this, each as large as the candidate area, is read entry by
  // entry.
  static constexpr std::uint32_t kMaxTableChunks = 4;

  static constexpr bool is_valid() {
    return (1u << kLog2PageItems) == kPageItems && kWarmupItems % kPageItems == 0 &&
           kWarmupItems <= kBatchItems && kNumStages <= 6;
  }
  static_assert(is_valid());
};

}  // namespace deepselect::ascend
