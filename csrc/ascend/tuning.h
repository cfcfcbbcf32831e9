// Sizes of row_paged. No device was at hand: the values are about the largest that fit the unified
// buffer (ub_plan.h checks), chosen by the cost model of docs/kernels/row_paged.md.
#pragma once

#include <cstdint>
#include <type_traits>

#include "deepselect/contract.h"

namespace deepselect::ascend {

enum class Architecture : std::uint8_t {
  kDav3510,  // Ascend 950
  kDav2201,  // Atlas A2 and A3
};

// Tiers of k: what the candidate area must hold decides how large a batch may be.
constexpr std::uint32_t kTiers[] = {512, 1024, 4096};

template <int kItemBytes, std::uint32_t kTierK>
struct RowPagedTuning3510 {
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
  static constexpr std::uint32_t kCandidateItems = kMaxK + kSpareItems + kBatchItems;

  static constexpr bool is_valid() {
    return (1u << kLog2PageItems) == kPageItems && kWarmupItems % kPageItems == 0 &&
           kWarmupItems <= kBatchItems && kNumStages <= 6;
  }
  static_assert(is_valid());
};

template <int kItemBytes, std::uint32_t kTierK>
struct RowPagedTuning2201 {
  static constexpr std::uint32_t kMaxK = kTierK;
  static constexpr std::uint32_t kPageItems = 2048;
  static constexpr std::uint32_t kLog2PageItems = 11;
  static constexpr std::uint32_t kBatchItems =
      kItemBytes == 2 ? (kTierK == 512 ? 8192 : (kTierK == 1024 ? 6144 : 4096))
                      : (kTierK == 4096 ? 2048 : 4096);
  static constexpr std::uint32_t kNumStages = kItemBytes == 2 && kTierK != 1024 ? 2 : 3;
  // Candidates beyond k that start a selection.
  static constexpr std::uint32_t kSpareItems =
      kTierK == 4096 ? 3072 : (kItemBytes == 2 && kTierK == 512 ? 2016 : 2048);
  // While a row is scanned, a selection may keep this many more than k: it is over sooner.
  static constexpr std::uint32_t kSlackItems = kTierK == 4096 ? 512 : 256;
  static constexpr std::uint32_t kWarmupItems = kTierK == 4096 ? kBatchItems : 2 * kPageItems;
  // A batch with more hits than this is filtered once more, page by page.
  static constexpr std::uint32_t kManyHits = kTierK == 512 ? kBatchItems / 4 : kBatchItems * 3 / 4;
  // Every append starts and ends at a block.
  static constexpr std::uint32_t kAppendGranule = 16;
  static constexpr std::uint32_t kCandidateItems =
      kMaxK + kSlackItems + kSpareItems + kBatchItems + 2 * kAppendGranule;

  static constexpr bool is_valid() {
    return (1u << kLog2PageItems) == kPageItems && kWarmupItems % kPageItems == 0 &&
           kWarmupItems <= kBatchItems && kNumStages <= 5;
  }
  static_assert(is_valid());
};

template <Architecture kArchitecture, int kItemBytes, std::uint32_t kTierK>
using RowPagedTuning = std::conditional_t<kArchitecture == Architecture::kDav3510,
                                          RowPagedTuning3510<kItemBytes, kTierK>,
                                          RowPagedTuning2201<kItemBytes, kTierK>>;

}  // namespace deepselect::ascend
