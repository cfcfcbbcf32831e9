// How the rows of gate_lane.cuh come to their lanes: to registers, or by way of shared memory.
#pragma once

#include <cstdint>

#include "cuda/common/block.cuh"
#include "cuda/common/key_map.cuh"
#include "cuda/common/lanes.cuh"
#include "cuda/ptx/async_copy.cuh"
#include "cuda/ptx/shared_memory.cuh"
#include "cuda/smem/gate.h"
#include "cuda/tuning/gate.h"

namespace deepselect::cuda {

namespace detail {

// Rows of a warp in global memory: the first `num_rows` lanes have one.
struct LaneRows {
  const unsigned char* first;
  std::int64_t stride_bytes;
  std::uint32_t row_bytes;
  std::uint32_t num_rows;

  __device__ bool are_units_of(std::uint32_t bytes) const {
    const auto address = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(first));
    return (address | static_cast<std::uint32_t>(stride_bytes) | row_bytes) % bytes == 0;
  }
};

template <int kBytes>
__device__ __forceinline__ void copy_unit(std::uint32_t shared, const void* global) {
  if constexpr (kBytes == 16) {
    ptx::copy_async_16(shared, global);
  } else {
    ptx::copy_async_small<kBytes>(shared, global);
  }
}

// Rows of whole units of 16, 8 or 4 bytes: 32 units at a time, whatever rows they are of.
template <int kUnitBytes, class Row>
__device__ __forceinline__ void stage_units(const LaneRows& source, Row* rows) {
  constexpr auto kRowBytes = static_cast<std::uint32_t>(sizeof(Row));
  const std::uint32_t row_units = source.row_bytes / kUnitBytes;
  const std::uint32_t lane = threadIdx.x % kWarpThreads;
  const std::uint32_t target = ptx::shared_address(rows);
  if ((row_units & (row_units - 1)) == 0 && row_units <= kWarpThreads) {
    // What most routers have: a lane's units are below each other, and there is no division, which
    // takes a hundred cycles.
    const int log2_units = 31 - __clz(static_cast<int>(row_units));
    const std::uint32_t row_step = kWarpThreads >> log2_units;
    const std::int64_t global_step = row_step * source.stride_bytes;
    const std::uint32_t offset = (lane & (row_units - 1)) * kUnitBytes;
    std::uint32_t row = lane >> log2_units;
    std::uint32_t shared = target + row * kRowBytes + offset;
    const unsigned char* global = source.first + row * source.stride_bytes + offset;
#pragma unroll 4
    for (std::uint32_t i = 0; i < row_units; ++i) {
      if (row < source.num_rows) copy_unit<kUnitBytes>(shared, global);
      row += row_step;
      shared += row_step * kRowBytes;
      global += global_step;
    }
  } else {
    const std::uint32_t row_step = kWarpThreads / row_units;
    const std::uint32_t unit_step = kWarpThreads % row_units;
    std::uint32_t row = lane / row_units;
    std::uint32_t unit = lane % row_units;
#pragma unroll 1
    for (std::uint32_t i = 0; i < row_units; ++i) {
      if (row < source.num_rows) {
        copy_unit<kUnitBytes>(target + row * kRowBytes + unit * kUnitBytes,
                              source.first + row * source.stride_bytes + unit * kUnitBytes);
      }
      row += row_step;
      unit += unit_step;
      if (unit >= row_units) {
        unit -= row_units;
        ++row;
      }
    }
  }
  ptx::commit_copies();
  ptx::wait_copies<0>();
}

// Rows of 16-bit items on odd addresses: an item of some rows at a time, so that the warp waits
// once for all of them.
template <class Row>
__device__ __forceinline__ void stage_halves(const LaneRows& source, Row* rows) {
  constexpr std::uint32_t kRowsAtOnce = 16;
  using Half = std::uint16_t;
  const std::uint32_t row_items = source.row_bytes / static_cast<std::uint32_t>(sizeof(Half));
#pragma unroll 1
  for (std::uint32_t i = threadIdx.x % kWarpThreads; i < row_items; i += kWarpThreads) {
#pragma unroll 1
    for (std::uint32_t first = 0; first < source.num_rows; first += kRowsAtOnce) {
      const unsigned char* bytes = source.first + first * source.stride_bytes;
      Half items[kRowsAtOnce];
#pragma unroll
      for (std::uint32_t j = 0; j < kRowsAtOnce; ++j) {
        if (first + j < source.num_rows) {
          items[j] = reinterpret_cast<const Half*>(bytes + j * source.stride_bytes)[i];
        }
      }
#pragma unroll
      for (std::uint32_t j = 0; j < kRowsAtOnce; ++j) {
        if (first + j < source.num_rows) rows[first + j].items[i] = items[j];
      }
    }
  }
}

template <class Row>
__device__ __forceinline__ void stage_rows(const LaneRows& source, Row* rows) {
  if (source.are_units_of(16)) {
    stage_units<16>(source, rows);
  } else if (source.are_units_of(8)) {
    stage_units<8>(source, rows);
  } else if (sizeof(rows->items[0]) == 4 || source.are_units_of(4)) {
    stage_units<4>(source, rows);
  } else if constexpr (sizeof(rows->items[0]) == 2) {
    stage_halves(source, rows);
  }
  __syncwarp();
}

// Phase 1 of rows that registers hold: up to 16 elements, neighbouring lanes meet in a line, and
// the way through shared memory measured slower (docs/kernels/gate.md).
template <ValueType kType, class Policy>
class HeldRow {
 public:
  static constexpr int kRunItems = Policy::kMaxWinners;
  using Run = GateElements<kType, kRunItems>;

  __device__ __forceinline__ HeldRow(const LaneRows& rows, std::uint32_t num_cols) {
    const std::uint32_t row = min(threadIdx.x % kWarpThreads, rows.num_rows - 1);
    elements_ = reinterpret_cast<const BitsOf<kType>*>(rows.first + row * rows.stride_bytes);
#pragma unroll
    for (int i = 0; i < kRuns; ++i) runs_[i].load(elements_, 0, num_cols, i * kRunItems);
  }

  // `visit` gets each run from kFirst on, and the position where it begins.
  template <int kFirst, class Visit>
  __device__ __forceinline__ void visit_runs(const Visit& visit) const {
#pragma unroll
    for (int i = kFirst; i < kRuns; ++i) visit(runs_[i], static_cast<std::uint32_t>(i * kRunItems));
  }
  __device__ Run first_run() const { return runs_[0]; }
  // Read again: an element at a position that the compiler does not know is in no register. The
  // lanes of a warp meet up to 16 lines.
  static constexpr bool kIsCheapToRead = false;
  __device__ BitsOf<kType> bits_at(std::uint32_t position) const { return elements_[position]; }

 private:
  static constexpr int kRuns = Policy::kItems / kRunItems;

  const BitsOf<kType>* elements_;  // in global memory
  Run runs_[kRuns];
};

// Phase 1 of longer rows.
template <ValueType kType, class Policy>
class StagedRow {
 public:
  static constexpr int kRunItems = Policy::kMaxWinners;
  using Run = GateElements<kType, kRunItems>;

  __device__ __forceinline__ StagedRow(const LaneRows& rows, std::uint32_t num_cols)
      : num_cols_(num_cols) {
    __shared__ GateLaneSmem<Policy, BitsOf<kType>> smem;
    stage_rows(rows, smem.rows + threadIdx.x / kWarpThreads * kWarpThreads);
    elements_ = smem.rows[threadIdx.x].items;
  }

  template <int kFirst, class Visit>
  __device__ __forceinline__ void visit_runs(const Visit& visit) const {
#pragma unroll 1
    for (std::uint32_t first = kFirst * kRunItems; first < num_cols_; first += kRunItems) {
      visit(run(first), first);
    }
  }
  __device__ Run first_run() const { return run(0); }
  // Any position in the row's pitch.
  static constexpr bool kIsCheapToRead = true;
  __device__ BitsOf<kType> bits_at(std::uint32_t position) const { return elements_[position]; }

 private:
  __device__ __forceinline__ Run run(std::uint32_t first) const {
    Run run;
    run.load_staged(elements_, num_cols_, first);
    return run;
  }

  const BitsOf<kType>* elements_;  // in shared memory
  std::uint32_t num_cols_;
};

}  // namespace detail

}  // namespace deepselect::cuda
