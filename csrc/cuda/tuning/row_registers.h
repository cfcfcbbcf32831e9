// Tuning of the row_registers variant.
#pragma once

#include <cstdint>

namespace deepselect::cuda {

template <int kThreadsValue, int kVectorsValue>
struct RowRegistersPolicy {
  static constexpr int kThreads = kThreadsValue;
  static constexpr int kVectors = kVectorsValue;  // 16-byte vectors of the row per thread

  static constexpr std::int64_t kMaxSlots = std::int64_t{kThreads} * kVectors;
  static constexpr bool is_valid() {
    return kThreads % 32 == 0 && kThreads <= 1024 &&
           (kVectors == 1 || kVectors == 2 || kVectors == 4);
  }
};

// Few threads with much each, so that many rows are under way at once.
using RowRegisters32x1 = RowRegistersPolicy<32, 1>;
using RowRegisters32x4 = RowRegistersPolicy<32, 4>;
using RowRegisters64x4 = RowRegistersPolicy<64, 4>;
using RowRegisters128x4 = RowRegistersPolicy<128, 4>;
using RowRegisters256x4 = RowRegistersPolicy<256, 4>;
using RowRegisters512x4 = RowRegistersPolicy<512, 4>;
// Many threads with little each, so that one row is done soon.
using RowRegisters256x1 = RowRegistersPolicy<256, 1>;
using RowRegisters512x1 = RowRegistersPolicy<512, 1>;
using RowRegisters1024x1 = RowRegistersPolicy<1024, 1>;
using RowRegisters1024x2 = RowRegistersPolicy<1024, 2>;

static_assert(RowRegisters32x1::is_valid() && RowRegisters32x4::is_valid() &&
              RowRegisters64x4::is_valid() && RowRegisters128x4::is_valid() &&
              RowRegisters256x4::is_valid() && RowRegisters512x4::is_valid() &&
              RowRegisters256x1::is_valid() && RowRegisters512x1::is_valid() &&
              RowRegisters1024x1::is_valid() && RowRegisters1024x2::is_valid());

// Calls with at most this many rows per multiprocessor are after latency, others after throughput.
constexpr std::int64_t kRowRegistersLatencyRowsPerSm = 2;

}  // namespace deepselect::cuda
