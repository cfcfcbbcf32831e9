// The kernel-level calls of the twin: copies, flags, scalar accesses, the library's Sort.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "ascend/twin/keywords.h"
#include "ascend/twin/machine.h"

namespace deepselect::twin {

// GM -> UB on MTE2. The rest of the last 32-byte block is filled: with a value that the caller does
// not choose, so it counts as never written.
inline void copy_in(void* ub, const void* gm, std::uint32_t bytes) {
  Machine& core = machine();
  core.issue(kMte2);
  if (bytes == 0 || bytes > 2097151) core.fault(kMte2, "burst length out of range 1..2097151");
  core.check_gm(kMte2, gm, bytes, false);
  const std::uint32_t padded = (bytes + 31) / 32 * 32;
  const std::size_t offset = core.write(kMte2, ub, padded, kBlockBytes);
  std::memcpy(ub, gm, bytes);
  std::memset(core.undefined() + offset, 0, bytes);
  std::memset(core.undefined() + offset + bytes, 1, padded - bytes);
  ++core.counts().copies_in;
  core.counts().bytes_in += bytes;
}

// UB -> GM on MTE3: exactly `bytes`.
inline void copy_out(void* gm, const void* ub, std::uint32_t bytes) {
  Machine& core = machine();
  core.issue(kMte3);
  if (bytes == 0 || bytes > 2097151) core.fault(kMte3, "burst length out of range 1..2097151");
  core.check_gm(kMte3, gm, bytes, true);
  core.read_defined(kMte3, ub, bytes, kBlockBytes);
  std::memcpy(gm, ub, bytes);
  ++core.counts().copies_out;
  core.counts().bytes_out += bytes;
}

template <class T>
T load_ub(const T* address) {
  Machine& core = machine();
  core.issue(kScalar);
  core.read_defined(kScalar, address, sizeof(T), sizeof(T));
  ++core.counts().scalar_ub_accesses;
  return *address;
}

template <class T>
void store_ub(T* address, T value) {
  Machine& core = machine();
  core.issue(kScalar);
  const std::size_t offset = core.write(kScalar, address, sizeof(T), sizeof(T));
  std::memset(core.undefined() + offset, 0, sizeof(T));
  ++core.counts().scalar_ub_accesses;
  *address = value;
}

template <class T>
T load_gm(const T* address) {
  Machine& core = machine();
  core.issue(kScalar);
  core.check_gm(kScalar, address, sizeof(T), false);
  ++core.counts().scalar_gm_accesses;
  return *address;
}

// The library's Sort: ascending and stable, with the sources' positions. One instruction of PIPE_V
// that waits for itself inside.
template <class T>
void sort_ascending(T* sorted, std::uint32_t* source_index, const T* source, std::uint8_t* scratch,
                    std::uint32_t scratch_bytes, std::uint32_t count) {
  Machine& core = machine();
  core.issue(kVector);
  if (core.in_vector_function()) core.fault(kVector, "Sort inside a vector function");
  core.read_defined(kVector, source, count * sizeof(T), kBlockBytes);
  const std::size_t offsets[] = {
      core.write(kVector, sorted, count * sizeof(T), kBlockBytes),
      core.write(kVector, source_index, count * sizeof(std::uint32_t), kBlockBytes),
      core.write(kVector, scratch, scratch_bytes, kBlockBytes)};
  struct Area {
    const void* first;
    std::size_t bytes;
  };
  const Area areas[] = {{sorted, count * sizeof(T)},
                        {source_index, count * sizeof(std::uint32_t)},
                        {scratch, scratch_bytes},
                        {source, count * sizeof(T)}};
  for (const Area& a : areas) {
    for (const Area& b : areas) {
      const auto* first_a = static_cast<const std::uint8_t*>(a.first);
      const auto* first_b = static_cast<const std::uint8_t*>(b.first);
      if (&a != &b && first_a < first_b + b.bytes && first_b < first_a + a.bytes) {
        core.fault(kVector, "Sort with overlapping buffers", first_a - core.ub());
      }
    }
  }
  if (scratch_bytes < 512 + 11 * count) core.fault(kVector, "Sort with too little scratch");
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [source](std::uint32_t a, std::uint32_t b) { return source[a] < source[b]; });
  for (std::uint32_t i = 0; i < count; ++i) {
    sorted[i] = source[order[i]];
    source_index[i] = order[i];
  }
  std::memset(core.undefined() + offsets[0], 0, count * sizeof(T));
  std::memset(core.undefined() + offsets[1], 0, count * sizeof(std::uint32_t));
  std::memset(core.undefined() + offsets[2], 1, scratch_bytes);
  core.counts().sorted_items += count;
}

class VectorFunctionScope {
 public:
  explicit VectorFunctionScope(Site site) {
    machine().at(site);
    machine().begin_vector_function();
  }
  ~VectorFunctionScope() { machine().end_vector_function(); }
  VectorFunctionScope(const VectorFunctionScope&) = delete;
  VectorFunctionScope& operator=(const VectorFunctionScope&) = delete;
};

}  // namespace deepselect::twin
