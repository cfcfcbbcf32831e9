// The buffer-to-buffer instructions of dav-2201 on the host: each is one instruction of PIPE_V that
// reads and writes the unified buffer. Stricter than the device where its description is silent:
// integer overflow, floats other than integers, ties between merged runs and partial overlaps are
// faults or have the least convenient result. tests/cpp/twin_ub_ops_test.cpp compares each with a
// plain loop.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ascend/twin/asc_kernel.h"

namespace deepselect::twin {

constexpr std::uint32_t kRepeatBytes = 256;

inline std::uint32_t repeats_of(std::size_t bytes) {
  return static_cast<std::uint32_t>((bytes + kRepeatBytes - 1) / kRepeatBytes);
}

// Starts one instruction that takes `repeats` steps of 256 bytes.
inline Machine& issue_ub(std::uint32_t repeats) {
  Machine& core = machine();
  if (core.in_vector_function()) core.fault(kVector, "a buffer instruction in a vector function");
  core.issue(kVector);
  ++core.counts().ub_vector_calls;
  core.counts().ub_vector_ops += repeats;
  return core;
}

template <class T>
struct UbSource {
  const T* data;
  const std::uint8_t* undefined;  // null: every byte is defined

  bool is_undefined(std::size_t i) const {
    if (undefined == nullptr) return false;
    for (std::size_t byte = 0; byte < sizeof(T); ++byte) {
      if (undefined[i * sizeof(T) + byte] != 0) return true;
    }
    return false;
  }
};

template <class T>
UbSource<T> read_ub(const T* data, std::size_t count) {
  Machine& core = machine();
  const std::size_t offset = core.read(kVector, data, count * sizeof(T), kBlockBytes);
  const std::uint8_t* undefined = core.undefined() + offset;
  const bool any = std::memchr(undefined, 1, count * sizeof(T)) != nullptr;
  return {data, any ? undefined : nullptr};
}

template <class T>
UbSource<T> read_ub_defined(const T* data, std::size_t count) {
  machine().read_defined(kVector, data, count * sizeof(T), kBlockBytes);
  return {data, nullptr};
}

template <class T>
std::uint8_t* write_ub(T* data, std::size_t count) {
  Machine& core = machine();
  return core.undefined() + core.write(kVector, data, count * sizeof(T), kBlockBytes);
}

// `in_place`: dst and src may be the same array, of items of one size.
template <class T, class U>
void require_no_overlap(const T* dst, std::size_t dst_count, const U* src, std::size_t src_count,
                        bool in_place) {
  const auto* d = reinterpret_cast<const std::uint8_t*>(dst);
  const auto* s = reinterpret_cast<const std::uint8_t*>(src);
  if (d + dst_count * sizeof(T) <= s || s + src_count * sizeof(U) <= d) return;
  if (in_place && d == s && sizeof(T) == sizeof(U)) return;
  machine().fault(kVector, "source and destination overlap", d - machine().ub());
}

// dst[i] = f(a[i], b[i]).
template <class T, class U, class F>
void map_ub(T* dst, const U* a, const U* b, std::uint32_t count, F f) {
  Machine& core = issue_ub(repeats_of(count * (sizeof(T) > sizeof(U) ? sizeof(T) : sizeof(U))));
  if (count == 0) core.fault(kVector, "a buffer instruction of no items");
  require_no_overlap(dst, count, a, count, true);
  require_no_overlap(dst, count, b, count, true);
  const UbSource<U> source_a = read_ub(a, count);
  const UbSource<U> source_b = read_ub(b, count);
  const bool any = source_a.undefined != nullptr || source_b.undefined != nullptr;
  std::vector<std::uint8_t> flags(count * sizeof(T), 0);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (any && (source_a.is_undefined(i) || source_b.is_undefined(i))) {
      std::memset(flags.data() + i * sizeof(T), 1, sizeof(T));
      continue;
    }
    dst[i] = f(a[i], b[i]);
  }
  std::memcpy(write_ub(dst, count), flags.data(), flags.size());
}

template <class T>
T exact_integer(std::int64_t value) {
  if (value != static_cast<T>(value)) machine().fault(kVector, "an integer result overflows");
  return static_cast<T>(value);
}

inline void require_integer(float value) {
  if (!(std::fabs(value) <= 16777216.0f) || std::floor(value) != value) {
    machine().fault(kVector, "a float that is not an integer");
  }
}

// Bits read as half or float, whatever they stand for.
inline float number_of(std::uint16_t bits) {
  constexpr std::uint16_t kExponent = 0x7C00;
  const int exponent = (bits & kExponent) >> 10;
  const auto fraction = static_cast<float>(bits & 0x03FF);
  float magnitude = std::ldexp(fraction + 1024, exponent - 25);
  if (exponent == 0) magnitude = std::ldexp(fraction, -24);
  if (exponent == 31) magnitude = fraction == 0 ? INFINITY : NAN;
  return (bits & 0x8000) == 0 ? magnitude : -magnitude;
}
inline float number_of(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// A subnormal bound might be taken as 0.
template <class Bits>
float bound_number(Bits bits) {
  const float value = number_of(bits);
  const float smallest = sizeof(Bits) == 2 ? 0x1p-14f : 0x1p-126f;
  const float magnitude = std::fabs(value);
  if (!(value == 0 || (magnitude >= smallest && magnitude < INFINITY))) {
    machine().fault(kVector, "a compare with a bound that is not normal");
  }
  return value;
}

// Bit i of the result: f(a[i], b[i]). The device rounds the count down to whole repeats.
template <class T, class F>
void compare_ub(std::uint8_t* mask, const T* a, const T* b, std::uint32_t count, F f) {
  Machine& core = issue_ub(repeats_of(count * sizeof(T)));
  if (count == 0 || count * sizeof(T) % kRepeatBytes != 0) {
    core.fault(kVector, "a compare of a part of 256 bytes");
  }
  require_no_overlap(mask, count / 8, a, count, false);
  require_no_overlap(mask, count / 8, b, count, false);
  const UbSource<T> source_a = read_ub(a, count);
  const UbSource<T> source_b = read_ub(b, count);
  std::uint8_t* undefined = write_ub(mask, count / 8);
  for (std::uint32_t byte = 0; byte < count / 8; ++byte) {
    int bits = 0;
    bool any = false;
    for (std::uint32_t bit = 0; bit < 8; ++bit) {
      const std::uint32_t i = 8 * byte + bit;
      if (source_a.is_undefined(i) || source_b.is_undefined(i)) {
        any = true;
      } else {
        bits |= static_cast<int>(f(a[i], b[i])) << bit;
      }
    }
    mask[byte] = static_cast<std::uint8_t>(bits);
    undefined[byte] = any ? 1 : 0;
  }
}

template <class T>
void ub_fill(T* dst, T value, std::uint32_t count) {
  Machine& core = issue_ub(repeats_of(count * sizeof(T)));
  if (count == 0) core.fault(kVector, "a buffer instruction of no items");
  std::memset(write_ub(dst, count), 0, count * sizeof(T));
  for (std::uint32_t i = 0; i < count; ++i) dst[i] = value;
}

// Lanes [first, past) of one 32-byte block.
template <class T>
void ub_fill_lanes(T* block, T value, std::uint32_t first, std::uint32_t past) {
  Machine& core = issue_ub(1);
  if (first >= past || past * sizeof(T) > kBlockBytes) {
    core.fault(kVector, "lanes outside one block");
  }
  std::uint8_t* undefined = write_ub(block, kBlockBytes / sizeof(T));
  for (std::uint32_t i = first; i < past; ++i) block[i] = value;
  std::memset(undefined + first * sizeof(T), 0, (past - first) * sizeof(T));
}

// How many items the last compress kept; -1: none since the last read.
inline std::int64_t& kept_items() {
  static std::int64_t kept = -1;
  return kept;
}

inline std::uint32_t ub_take_kept() {
  if (kept_items() < 0) machine().fault(kScalar, "the kept count is read without a compress");
  const auto kept = static_cast<std::uint32_t>(kept_items());
  kept_items() = -1;
  return kept;
}

// Items whose mask bit is set, packed. Whole blocks are written; what is behind the last item in
// its block is not described.
template <class T>
void ub_compress(T* dst, const T* src, const std::uint8_t* mask, std::uint32_t count) {
  Machine& core = issue_ub(repeats_of(count * sizeof(T)));
  if (count == 0) core.fault(kVector, "a buffer instruction of no items");
  const UbSource<T> source = read_ub(src, count);
  read_ub_defined(mask, (count + 7) / 8);
  std::vector<std::uint32_t> kept;
  for (std::uint32_t i = 0; i < count; ++i) {
    if ((mask[i / 8] >> i % 8 & 1) != 0) kept.push_back(i);
  }
  const std::size_t bytes = (kept.size() * sizeof(T) + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  require_no_overlap(dst, bytes / sizeof(T), src, count, false);
  require_no_overlap(dst, bytes / sizeof(T), mask, (count + 7) / 8, false);
  std::uint8_t* undefined = write_ub(dst, bytes / sizeof(T));
  std::memset(undefined, 1, bytes);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    dst[i] = src[kept[i]];
    std::memset(undefined + i * sizeof(T), source.is_undefined(kept[i]) ? 1 : 0, sizeof(T));
  }
  kept_items() = static_cast<std::int64_t>(kept.size());
}

// Every second item from the second on; `count` source items.
template <class T>
void ub_pick_odd(T* dst, const T* src, std::uint32_t count) {
  Machine& core = issue_ub(repeats_of(count * sizeof(T)));
  if (count == 0 || count % 2 != 0) core.fault(kVector, "an odd number of items to pick from");
  const UbSource<T> source = read_ub(src, count);
  require_no_overlap(dst, count / 2, src, count, false);
  std::uint8_t* undefined = write_ub(dst, count / 2);
  for (std::uint32_t i = 0; i < count / 2; ++i) {
    dst[i] = src[2 * i + 1];
    std::memset(undefined + i * sizeof(T), source.is_undefined(2 * i + 1) ? 1 : 0, sizeof(T));
  }
}

// dst[i] = the item `byte_offsets[i]` bytes from src.
template <class T>
void ub_gather(T* dst, const T* src, const std::uint32_t* byte_offsets, std::uint32_t count) {
  Machine& core = issue_ub(repeats_of(count * 4));
  if (count == 0) core.fault(kVector, "a buffer instruction of no items");
  read_ub_defined(byte_offsets, count);
  require_no_overlap(dst, count, byte_offsets, count, false);
  std::vector<T> items(count);
  std::vector<std::uint8_t> flags(count * sizeof(T));
  core.read(kVector, src, 1, kBlockBytes);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto* item =
        reinterpret_cast<const T*>(reinterpret_cast<const std::uint8_t*>(src) + byte_offsets[i]);
    const std::size_t offset = core.read(kVector, item, sizeof(T), sizeof(T));
    if (item >= dst && item < dst + count) {
      core.fault(kVector, "source and destination overlap", static_cast<std::int64_t>(offset));
    }
    items[i] = *item;
    std::memset(flags.data() + i * sizeof(T), core.undefined()[offset] != 0 ? 1 : 0, sizeof(T));
  }
  std::memcpy(write_ub(dst, count), flags.data(), flags.size());
  std::memcpy(dst, items.data(), items.size() * sizeof(T));
}

template <class T>
void ub_count_up(T* dst, T first, std::uint32_t count) {
  Machine& core = issue_ub(repeats_of(count * sizeof(T)));
  if (count == 0) core.fault(kVector, "a buffer instruction of no items");
  std::memset(write_ub(dst, count), 0, count * sizeof(T));
  for (std::uint32_t i = 0; i < count; ++i) {
    dst[i] = exact_integer<T>(std::int64_t{first} + static_cast<std::int64_t>(i));
  }
}

// ---- sorting: records of a float score and a 32-bit payload, greatest score first

struct Record {
  float score;
  std::uint32_t payload;
};

inline void require_score(float score) {
  if (!std::isnormal(score)) machine().fault(kVector, "a sort's score is not a normal number");
}

// Each group of 32 by itself; equal scores keep their order.
inline void ub_sort_groups(Record* dst, const float* scores, const std::uint32_t* payloads,
                           std::uint32_t num_groups) {
  Machine& core = issue_ub(num_groups);
  const std::uint32_t count = 32 * num_groups;
  if (num_groups == 0 || num_groups > 255) core.fault(kVector, "Sort32 of 0 or over 255 groups");
  read_ub_defined(scores, count);
  read_ub_defined(payloads, count);
  require_no_overlap(dst, count, scores, count, false);
  require_no_overlap(dst, count, payloads, count, false);
  std::memset(write_ub(dst, count), 0, count * sizeof(Record));
  for (std::uint32_t i = 0; i < count; ++i) {
    require_score(scores[i]);
    dst[i] = {scores[i], payloads[i]};
  }
  for (std::uint32_t group = 0; group < num_groups; ++group) {
    std::stable_sort(dst + 32 * group, dst + 32 * group + 32,
                     [](const Record& a, const Record& b) { return a.score > b.score; });
  }
  core.counts().sorted_items += count;
}

// `num_merges` times: `num_runs` (2 to 4) sorted runs of `run_items` each, one behind the other,
// become one. Which of two equal scores comes first is not described: here the later one.
inline void ub_merge_runs(Record* dst, const Record* src, std::uint32_t run_items,
                          std::uint32_t num_runs, std::uint32_t num_merges) {
  Machine& core = issue_ub(0);
  const std::uint32_t merge_items = run_items * num_runs;
  const std::uint32_t count = merge_items * num_merges;
  if (run_items == 0 || run_items > 4095) core.fault(kVector, "MrgSort of 0 or over 4095 records");
  if (num_runs < 2 || num_runs > 4) core.fault(kVector, "MrgSort of less than 2 or over 4 runs");
  if (num_merges == 0 || num_merges > 255) core.fault(kVector, "MrgSort repeats out of range");
  if (num_merges > 1 && num_runs != 4) core.fault(kVector, "MrgSort repeats merges of 4 only");
  core.read_defined(kVector, src, count * sizeof(Record), 8);
  require_no_overlap(dst, count, src, count, false);
  std::memset(write_ub(dst, count), 0, count * sizeof(Record));
  for (std::uint32_t merge = 0; merge < num_merges; ++merge) {
    const Record* runs = src + merge * merge_items;
    for (std::uint32_t i = 0; i < merge_items; ++i) {
      if (i % run_items != 0 && runs[i - 1].score < runs[i].score) {
        core.fault(kVector, "MrgSort of a run that is not sorted",
                   reinterpret_cast<const std::uint8_t*>(runs + i) - core.ub());
      }
    }
    std::uint32_t taken[4] = {};
    for (std::uint32_t i = 0; i < merge_items; ++i) {
      std::uint32_t best = num_runs;
      for (std::uint32_t run = 0; run < num_runs; ++run) {
        if (taken[run] == run_items) continue;
        const float score = runs[run * run_items + taken[run]].score;
        if (best == num_runs || score >= runs[best * run_items + taken[best]].score) best = run;
      }
      dst[merge * merge_items + i] = runs[best * run_items + taken[best]++];
    }
  }
  core.counts().sorted_items += count;
}

}  // namespace deepselect::twin
