// What the plan knows of the variants' times, to choose between them: a fixed part, and what bounds
// the rest. Fitted to runs on an H200 (bf16 and fp32, k 512 and 2048, normal data, graph replay);
// estimates within 25 % of each other are a tie.
#pragma once

#include <algorithm>
#include <cstdint>

namespace deepselect::cuda {

// row_registers: rows of more than kMaxCols columns only where they are few, for which row_stream
// takes long to begin. 4096 x 16 K bf16, k 512: 73 us against row_stream's 77; 1024 x 16 K 20.8
// against 22.4. Where there are more rows of more than kStreamedBytes than multiprocessors,
// row_stream takes those of small k: 16 K fp32, k 512, 256 rows 9.9 us against 11.1, 512 rows 14.4
// against 18.8, 1024 rows 26 against 35; at k 2048 it was behind, 38.8 against 38.0. Beyond
// kMaxSortedK winners in order of value split_radix sorts faster: 16 K columns, k 5000, 42 against
// 85 us for one row, 996 against 2252 for 4096.
struct RowRegistersChoice {
  static constexpr std::int64_t kMaxCols = 16384;
  static constexpr std::int64_t kRowsPerSm = 2;
  static constexpr std::int64_t kMaxSortedK = 4096;
  static constexpr std::int64_t kStreamedBytes = 32 << 10;
  static constexpr std::int64_t kStreamedRowsPerSm = 1;
  static constexpr std::int64_t kStreamedK = 512;
};

// row_stream: each row is read by one CTA, all of them share the memory.
struct RowStreamTime {
  static constexpr double kFixedUs = 8;
  static constexpr double kCtaBytesPerUs = 40e3;
  static constexpr double kDeviceBytesPerUs = 4.25e6;
  static constexpr std::int64_t kCtasPerSm = 2;

  static constexpr double us(std::int64_t num_rows, double row_bytes, std::int64_t num_sms) {
    const std::int64_t num_waves = (num_rows + kCtasPerSm * num_sms - 1) / (kCtasPerSm * num_sms);
    return kFixedUs + std::max(static_cast<double>(num_waves) * row_bytes / kCtaBytesPerUs,
                               static_cast<double>(num_rows) * row_bytes / kDeviceBytesPerUs);
  }
};

// split_stream: all CTAs read every row, in two kernels; a row's last CTA finishes it, the longer
// the more winners there are.
struct SplitStreamTime {
  static constexpr double kFixedUs = 12.5;
  static constexpr double kRowUs = 0.03;
  static constexpr double kDeviceBytesPerUs = 4.1e6;
  static constexpr std::int64_t kFreeWinners = 512;
  static constexpr double kWinnerUs = 3.5e-3;

  static constexpr double us(std::int64_t num_rows, double row_bytes, std::int64_t k) {
    const auto winners = static_cast<double>(std::max<std::int64_t>(k - kFreeWinners, 0));
    return kFixedUs + winners * kWinnerUs +
           static_cast<double>(num_rows) * (kRowUs + row_bytes / kDeviceBytesPerUs);
  }
};

// cluster_row, all rows at once: a cluster reads its row, all of them share the memory. Fitted to 1
// to 64 rows of 64 K to 1 M bf16, k 512, on the same device; what is read twice comes from L2 the
// second time.
struct ClusterRowTime {
  static constexpr double kFixedUs = 4.6;
  static constexpr double kCtaBytesPerUs = 40e3;
  static constexpr double kDeviceBytesPerUs = 5e6;
  static constexpr double kSecondReading = 0.5;

  static constexpr double us(std::int64_t num_rows, double row_bytes, std::int32_t cluster_ctas,
                             bool reads_twice) {
    const double reading_us = row_bytes / cluster_ctas / kCtaBytesPerUs +
                              static_cast<double>(num_rows) * row_bytes / kDeviceBytesPerUs;
    return kFixedUs + reading_us * (reads_twice ? 1 + kSecondReading : 1);
  }
};

}  // namespace deepselect::cuda
