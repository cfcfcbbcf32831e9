// Loads, stores, gathers and the packing stream of the twin.
#pragma once

#include <cstdint>
#include <cstring>

#include "ascend/twin/asc_base.h"

// ---- loads and stores

template <class T>
void asc_loadalign(deepselect::twin::Vector<T>& dst, T* src) {
  using namespace deepselect::twin;
  machine().require_vector_function();
  ++machine().counts().vector_loads;
  load_bytes(dst, machine().read(kVector, src, kVectorBytes, kBlockBytes));
}

inline void asc_loadalign_deintlv(vector_uint8_t& dst0, vector_uint8_t& dst1, std::uint8_t* src) {
  using namespace deepselect::twin;
  machine().require_vector_function();
  ++machine().counts().vector_loads;
  const std::size_t offset = machine().read(kVector, src, 2 * kVectorBytes, kBlockBytes);
  const std::uint8_t* data = machine().ub() + offset;
  const std::uint8_t* undefined = machine().undefined() + offset;
  std::uint8_t any = 0;
  for (int i = 0; i < kVectorBytes; ++i) {
    dst0.lane[i] = data[2 * i];
    dst1.lane[i] = data[2 * i + 1];
    dst0.undefined[i] = undefined[2 * i];
    dst1.undefined[i] = undefined[2 * i + 1];
    any |= undefined[2 * i] | undefined[2 * i + 1];
  }
  dst0.any_undefined = dst1.any_undefined = any != 0;
}

template <class T>
void asc_loadalign_brc_elem(deepselect::twin::Vector<T>& dst, T* src) {
  using namespace deepselect::twin;
  machine().require_vector_function();
  ++machine().counts().vector_loads;
  machine().read_defined(kVector, src, sizeof(T), sizeof(T));
  dst = filled(*src);
}

template <class T>
void asc_storealign(T* dst, const deepselect::twin::Vector<T>& src, const vector_bool& mask) {
  using namespace deepselect::twin;
  machine().require_vector_function();
  ++machine().counts().vector_stores;
  require_mask<T>(mask);
  int past = 0;  // blocks above the highest active lane are not touched
  for (int i = 0; i < kLanesOf<T>; ++i) past = mask.lane<T>(i) ? i + 1 : past;
  const std::size_t offset =
      machine().write(kVector, dst, static_cast<std::size_t>(past) * sizeof(T), kBlockBytes);
  std::uint8_t* undefined = machine().undefined() + offset;
  for (int i = 0; i < past; ++i) {
    if (!mask.lane<T>(i)) continue;
    dst[i] = src.lane[i];
    std::memset(undefined + i * sizeof(T), src.is_undefined(i) ? 1 : 0, sizeof(T));
  }
}

template <class T>
void asc_storealign_1st(T* dst, const deepselect::twin::Vector<T>& src) {
  using namespace deepselect::twin;
  machine().require_vector_function();
  ++machine().counts().vector_stores;
  const std::size_t offset = machine().write(kVector, dst, sizeof(T), sizeof(T));
  store_bytes(offset, src.lane, src.any_undefined ? src.undefined : nullptr, sizeof(T));
}

template <class T, class Index>
void asc_gather(deepselect::twin::Vector<T>& dst, T* src,
                const deepselect::twin::Vector<Index>& index, const vector_bool& mask) {
  using namespace deepselect::twin;
  static_assert(sizeof(T) == sizeof(Index), "the twin has the gathers of equal width");
  machine().require_vector_function();
  ++machine().counts().vector_loads;
  require_mask<T>(mask);
  Vector<T> result = filled<T>(0);
  bool any = false;
  std::memset(result.undefined, 0, kVectorBytes);
  for (int i = 0; i < kLanesOf<T>; ++i) {
    if (!mask.lane<T>(i)) continue;
    if (index.is_undefined(i)) machine().fault(kVector, "gather with an undefined index");
    T* item = src + index.lane[i];
    const std::size_t offset = machine().read(kVector, item, sizeof(T), sizeof(T));
    result.lane[i] = *item;
    const bool undefined = machine().undefined()[offset] != 0;
    result.set_undefined(i, undefined);
    any |= undefined;
  }
  if ((reinterpret_cast<std::uint8_t*>(src) - machine().ub()) % kBlockBytes != 0) {
    machine().fault(kVector, "gather from a base that is not 32-byte aligned",
                    reinterpret_cast<std::uint8_t*>(src) - machine().ub());
  }
  result.any_undefined = any;
  dst = result;
}

// ---- packing and the unaligned stream

inline void sprclr(SpecialRegister) {
  deepselect::twin::machine().require_vector_function();
  deepselect::twin::stream_bytes() = 0;
  deepselect::twin::squeezed_bytes() = -1;
}

template <class T>
void vsqz(deepselect::twin::Vector<T>& dst, const deepselect::twin::Vector<T>& src,
          const vector_bool& mask, SqueezeMode) {
  using namespace deepselect::twin;
  count_compute();
  require_mask<T>(mask);
  if (squeezed_bytes() >= 0) machine().fault(kVector, "vsqz twice without vstur between");
  Vector<T> result = filled<T>(0);
  std::memset(result.undefined, 0, kVectorBytes);
  int count = 0;
  for (int i = 0; i < kLanesOf<T>; ++i) {
    if (!mask.lane<T>(i)) continue;
    result.lane[count] = src.lane[i];
    if (src.any_undefined) result.set_undefined(count, src.is_undefined(i));
    ++count;
  }
  result.any_undefined = src.any_undefined;
  squeezed_bytes() = count * static_cast<int>(sizeof(T));
  dst = result;
}

template <class T>
void vstur(vector_store_unalign& align, const deepselect::twin::Vector<T>& src, T* dst, PostMode) {
  using namespace deepselect::twin;
  machine().require_vector_function();
  ++machine().counts().vector_stores;
  if (squeezed_bytes() < 0) machine().fault(kVector, "vstur without a vsqz before it");
  if (stream_bytes() == 0) {
    align.base = dst;
    align.num_bytes = 0;
  }
  if (align.base != dst) machine().fault(kVector, "vstur with another base within one stream");
  const auto* data = reinterpret_cast<const std::uint8_t*>(src.lane);
  std::uint8_t* target = reinterpret_cast<std::uint8_t*>(dst) + stream_bytes();
  const std::uint8_t* ub = machine().ub();
  for (int i = 0; i < squeezed_bytes(); ++i) {
    align.bytes[align.num_bytes] = data[i];
    align.undefined[align.num_bytes++] = src.any_undefined ? src.undefined[i] : 0;
    ++target;
    if ((target - ub) % static_cast<std::ptrdiff_t>(kBlockBytes) != 0) continue;
    const auto size = static_cast<std::size_t>(align.num_bytes);
    store_bytes(machine().write(kVector, target - size, size, sizeof(T)), align.bytes,
                align.undefined, size);
    align.num_bytes = 0;
  }
  stream_bytes() += static_cast<std::uint32_t>(squeezed_bytes());
  squeezed_bytes() = -1;
}

template <class T>
void vstar(vector_store_unalign& align, T* dst) {
  using namespace deepselect::twin;
  machine().require_vector_function();
  ++machine().counts().vector_stores;
  if (stream_bytes() == 0) return;
  if (align.base != dst) machine().fault(kVector, "vstar with another base than its stream");
  const auto size = static_cast<std::size_t>(align.num_bytes);
  std::uint8_t* target = reinterpret_cast<std::uint8_t*>(dst) + stream_bytes() - size;
  if (size == 0) return;
  store_bytes(machine().write(kVector, target, size, sizeof(T)), align.bytes, align.undefined,
              size);
  align.num_bytes = 0;
}

inline void sprsts(SpecialRegister, std::uint32_t* dst, int) {
  using namespace deepselect::twin;
  machine().require_vector_function();
  ++machine().counts().vector_stores;
  store_bytes(machine().write(kVector, dst, 4, 4), &stream_bytes(), nullptr, 4);
}

inline void asc_mem_bar(MemoryOrder) {
  deepselect::twin::machine().require_vector_function();
  deepselect::twin::machine().store_load_barrier();
}
