// The unified buffer of row_paged, byte by byte, as constants: one plan per architecture, value
// width and tier of k. Nobody adds bytes anywhere else.
//
// dav-3510:
//   area        during the scan    during a selection       in the epilogue
//   tables      bounds, bases      pivot                    number of NaNs
//   stages      copies arrive      copies go on             sort and outputs, largest tier only
//   words       hits of a batch    ties, kept indices       sort and outputs
//   keys        -                  keys of candidates       sort and outputs
//   values      candidates         candidates               the k best
//   positions   candidates         candidates               the k best
//
// dav-2201, which has no registers to keep anything in:
//   offsets     0, 1, 2 ... within a batch, written once
//   bases       positions of a batch's pages
//   values      candidates         candidates               the k best, twice where sorted
//   positions   candidates         candidates               the k best, twice where sorted
//   scratch     -                  intermediate results     temps, table entries
//   keys        compared values,   keys of candidates       records of a sort, page table,
//               hits                                        outputs
//   masks       hits of a batch    comparisons              the same
//   stages      copies arrive      copies go on             the same
#pragma once

#include <cstddef>
#include <cstdint>

#include "ascend/tuning.h"
#include "deepselect/contract.h"

namespace deepselect::ascend {

constexpr std::uint32_t kUbBytes3510 = 248 * 1024;
constexpr std::uint32_t kUbBytes2201 = 192 * 1024 - 256 - 8 * 1024;
constexpr std::uint32_t kUbAlignment = 32;
// Registers are loaded whole: arrays of candidates are a multiple of this many items.
constexpr std::uint32_t kCandidateGranule = 256;

constexpr std::uint32_t ub_align(std::uint32_t bytes) {
  return (bytes + kUbAlignment - 1) / kUbAlignment * kUbAlignment;
}

constexpr std::uint32_t candidate_capacity_of(std::uint32_t num_items) {
  return (num_items + kCandidateGranule - 1) / kCandidateGranule * kCandidateGranule;
}

// One buffer of a plan, for printing.
struct UbBuffer {
  const char* name;
  std::uint32_t offset;
  std::uint32_t bytes;
  const char* note;
};

// Scalars and per-page tables. Double-buffered where the scalar unit writes the next batch's while
// the vector unit reads this one's. Every field starts a 32-byte block of its own, since a block is
// what two pipes race for.
struct UbTables {
  static constexpr std::uint32_t kMaxPages = 8;  // of a batch
  static constexpr std::uint32_t kFieldBytes = 32;
  static constexpr std::uint32_t kBounds = 0;                   // 3 fields, per parity
  static constexpr std::uint32_t kPageBases = 6 * kFieldBytes;  // 2 fields, per parity
  static constexpr std::uint32_t kHitBytes = 10 * kFieldBytes;  // of a batch
  static constexpr std::uint32_t kPivot = 11 * kFieldBytes;     // of a selection
  static constexpr std::uint32_t kNumNans = 12 * kFieldBytes;   // of the result
  static constexpr std::uint32_t kBytes = 16 * kFieldBytes;
};

template <ValueType kType, class Tuning>
struct UbPlan3510 {
  static constexpr std::uint32_t kItemBytes = value_bytes(kType);
  static constexpr std::uint32_t kMaxK = Tuning::kMaxK;
  static constexpr std::uint32_t kStageBytes = Tuning::kBatchItems * kItemBytes;
  static constexpr std::uint32_t kCapacity = candidate_capacity_of(Tuning::kCandidateItems);
  static constexpr std::uint32_t kLaneArrayBytes = kCapacity * kItemBytes;

  static constexpr std::uint32_t kTables = 0;
  static constexpr std::uint32_t kStages = kTables + UbTables::kBytes;
  static constexpr std::uint32_t kWords = kStages + Tuning::kNumStages * kStageBytes;
  static constexpr std::uint32_t kKeys = kWords + kLaneArrayBytes;
  static constexpr std::uint32_t kValues = kKeys + kLaneArrayBytes;
  // 16-bit values: high halves, then low halves; 32-bit values: whole positions.
  static constexpr std::uint32_t kPositions = kValues + kLaneArrayBytes;
  static constexpr std::uint32_t kEnd = kPositions + 4 * kCapacity;

  // Sorting and the output rows: over areas that hold nothing by then. Uses of one area in turn:
  struct Epilogue {
    static constexpr bool kUsesStages = kMaxK > 1024;
    static constexpr std::uint32_t kPlaces = kUsesStages ? kStages : kWords;
    // positions; inverted keys; final positions (order value) or values (order index)
    static constexpr std::uint32_t kA = kPlaces;
    // sorted positions; final values (orders any and value)
    static constexpr std::uint32_t kB = kA + 4 * kMaxK;
    // the sort's source indices; page table entries; raw indices to be written
    static constexpr std::uint32_t kC = kB + 4 * kMaxK;
    // the same indices at the width of values; sorted keys
    static constexpr std::uint32_t kD = kC + 4 * kMaxK;
    // values by position
    static constexpr std::uint32_t kE = kD + kItemBytes * kMaxK;
    // the sort's scratch; indices to be written
    static constexpr std::uint32_t kScratch = kE + kItemBytes * kMaxK;
    static constexpr std::uint32_t kScratchBytes = ub_align(512 + 11 * kMaxK);
    static constexpr std::uint32_t kEnd = kScratch + kScratchBytes;
  };

  static constexpr UbBuffer kBuffers[] = {
      {"tables", kTables, UbTables::kBytes, "page bounds and bases, counts"},
      {"stages", kStages, Tuning::kNumStages * kStageBytes, "input pages, one batch per stage"},
      {"words", kWords, kLaneArrayBytes, "hits of a batch | ties, kept indices"},
      {"keys", kKeys, kLaneArrayBytes, "keys of candidates"},
      {"values", kValues, kLaneArrayBytes, "candidates"},
      {"positions", kPositions, 4 * kCapacity, "candidates, inverted"},
      {"epilogue", Epilogue::kPlaces, Epilogue::kEnd - Epilogue::kPlaces,
       "over stages, words, keys"},
  };

  static_assert(kEnd <= kUbBytes3510, "the plan must fit into the unified buffer");
  static_assert(Epilogue::kEnd <= kValues, "the epilogue must not reach the candidates");
  static_assert(Epilogue::kScratchBytes >= 8 * kMaxK, "64-bit indices go over the scratch");
  static_assert(Tuning::kBatchItems <= kCapacity, "hits go over words");
  static_assert(Tuning::kBatchItems % Tuning::kPageItems == 0, "batches are whole pages");
  static_assert(Tuning::kBatchItems / Tuning::kPageItems < UbTables::kMaxPages, "tables of pages");
  static_assert(kStages % kUbAlignment == 0 && kWords % kUbAlignment == 0 &&
                    kKeys % kUbAlignment == 0 && kValues % kUbAlignment == 0 &&
                    kPositions % kUbAlignment == 0 && Epilogue::kE % kUbAlignment == 0,
                "buffers are aligned");
  static_assert(kCapacity <= 65535, "histogram counters and gather indices have 16 bits");
};

template <ValueType kType, class Tuning>
struct UbPlan2201 {
  static constexpr std::uint32_t kItemBytes = value_bytes(kType);
  static constexpr std::uint32_t kMaxK = Tuning::kMaxK;
  static constexpr std::uint32_t kStageBytes = Tuning::kBatchItems * kItemBytes;
  static constexpr std::uint32_t kCapacity = candidate_capacity_of(Tuning::kCandidateItems);
  static constexpr std::uint32_t kNumMasks = 3;
  static constexpr std::uint32_t kMaskBytes = kCapacity / 8;

  static constexpr std::uint32_t kOffsets = 0;
  static constexpr std::uint32_t kBases = kOffsets + 2 * Tuning::kBatchItems;
  // A base for each page whose candidates' positions are offsets yet, told by 5 bits of those.
  static constexpr std::uint32_t kNumBases = 32;
  static constexpr std::uint32_t kValues = kBases + 4 * kNumBases;
  static constexpr std::uint32_t kPositions = kValues + kCapacity * kItemBytes;
  // A packed copy at 16 bits per candidate, whose length is all that is wanted; a packed copy of
  // what is kept; 32-bit results of half the candidates at a time; temps.
  static constexpr std::uint32_t kScratch = kPositions + 4 * kCapacity;
  static constexpr std::uint32_t kScratchBytes = 2 * kCapacity;
  static constexpr std::uint32_t kKeys = kScratch + kScratchBytes;
  static constexpr std::uint32_t kMasks = kKeys + 4 * kCapacity;
  static constexpr std::uint32_t kStages = kMasks + kNumMasks * kMaskBytes;
  static constexpr std::uint32_t kEnd = kStages + Tuning::kNumStages * kStageBytes;

  // Arrays of 32-bit items that element-wise work goes through, in pieces.
  static constexpr std::uint32_t kNumTemps = 3;
  static constexpr std::uint32_t kTempItems = 1024;
  static constexpr std::uint32_t kTempBytes = kNumTemps * 4 * kTempItems;
  // The same, over all of the scratch.
  static constexpr std::uint32_t kKeyTempItems =
      kScratchBytes / (kNumTemps * kUbAlignment) * (kUbAlignment / 4);

  // Sorting and the output rows, over everything that holds nothing by then.
  struct Epilogue {
    static constexpr std::uint32_t kTemps = kScratch;
    static constexpr std::uint32_t kEntries = kTemps + kTempBytes;  // of the page table
    // Records of a sort, twice; keys; the page table itself; indices to be written, and their
    // halves.
    static constexpr std::uint32_t kRecords = kEntries + 4 * kMaxK;
    static constexpr std::uint32_t kOtherRecords = kRecords + 8 * kMaxK;
    static constexpr std::uint32_t kEnd = kOtherRecords + 8 * kMaxK;
    static constexpr std::uint32_t kMaxTableEntries = (kUbBytes2201 - kRecords) / 4;
  };

  static constexpr UbBuffer kBuffers[] = {
      {"offsets", kOffsets, 2 * Tuning::kBatchItems, "0, 1, 2 ..."},
      {"bases", kBases, 4 * kNumBases, "positions of pages"},
      {"values", kValues, kCapacity * kItemBytes, "candidates"},
      {"positions", kPositions, 4 * kCapacity, "candidates, inverted"},
      {"scratch", kScratch, kScratchBytes, "intermediate results"},
      {"keys", kKeys, 4 * kCapacity, "compared values | offsets, twice | keys of candidates"},
      {"masks", kMasks, kNumMasks * kMaskBytes, "hits of a batch | comparisons"},
      {"stages", kStages, Tuning::kNumStages * kStageBytes, "input pages, one batch per stage"},
      {"epilogue", Epilogue::kTemps, Epilogue::kEnd - Epilogue::kTemps,
       "over scratch, keys, masks, stages; a page table to the end"},
  };

  static_assert(kEnd <= kUbBytes2201, "the plan must fit into the unified buffer");
  static_assert(Epilogue::kEnd <= kUbBytes2201, "the epilogue must fit too");
  static_assert(Tuning::kBatchItems <= kCapacity, "32-bit copies of a batch go over keys");
  static_assert(4 * (kMaxK + Tuning::kSlackItems) <= kScratchBytes, "what is kept goes there");
  static_assert(kTempBytes <= kScratchBytes, "temps of a selection");
  static_assert(2 * kMaxK <= kCapacity, "sorted rows go behind the candidates");
  static_assert((kMaxK & (kMaxK - 1)) == 0, "sorts pad to powers of two");
  static_assert(Tuning::kBatchItems / Tuning::kPageItems <= kNumBases / 8, "pages of a batch");
  static_assert(Tuning::kBatchItems <= 1 << 15, "offsets are int16");
  static_assert(kPositions % kUbAlignment == 0 && kScratch % kUbAlignment == 0 &&
                    kKeys % kUbAlignment == 0 && kMasks % kUbAlignment == 0 &&
                    kMaskBytes % kUbAlignment == 0 && kStages % kUbAlignment == 0,
                "buffers are aligned");
};

template <Architecture kArchitecture, ValueType kType, class Tuning>
using UbPlan = std::conditional_t<kArchitecture == Architecture::kDav3510,
                                  UbPlan3510<kType, Tuning>, UbPlan2201<kType, Tuning>>;

constexpr std::uint32_t ub_bytes(Architecture architecture) {
  return architecture == Architecture::kDav3510 ? kUbBytes3510 : kUbBytes2201;
}

}  // namespace deepselect::ascend
