// The register instructions of dav-3510 on the host, under the names of the vendor's C API and, for
// those that it renames between releases, of the compiler's intrinsics. Written from their
// published description; tests/cpp/twin_intrinsics_test.cpp compares each with a plain loop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "ascend/twin/registers.h"

#define __simd_vf__
#define __simd_callee__
#define __aicore__
#define __global__
#define __vector__
#define __ubuf__
#define __gm__

using vector_uint8_t = deepselect::twin::Vector<std::uint8_t>;
using vector_uint16_t = deepselect::twin::Vector<std::uint16_t>;
using vector_int16_t = deepselect::twin::Vector<std::int16_t>;
using vector_uint32_t = deepselect::twin::Vector<std::uint32_t>;
using vector_int32_t = deepselect::twin::Vector<std::int32_t>;
using vector_bool = deepselect::twin::Mask;
using vector_store_unalign = deepselect::twin::StoreUnalign;

enum MaskPattern { PAT_ALL, PAT_ALLF, PAT_VL1 };
enum PostMode { POST_UPDATE };
enum SqueezeMode { MODE_STORED };
enum LanePosition { POS_LOWEST, POS_HIGHEST };
enum PackPart { LOWER };
enum SpecialRegister { SPR_AR };
enum MemoryOrder { VST_VLD, VST_LD };

namespace deepselect::twin {

inline void count_compute() {
  machine().require_vector_function();
  ++machine().counts().vector_computes;
}

inline void count_mask_compute() {
  machine().require_vector_function();
  ++machine().counts().mask_computes;
}

template <class T>
Mask create_mask(MaskPattern pattern) {
  count_mask_compute();
  Mask mask;
  for (int i = 0; i < kLanesOf<T>; ++i) {
    mask.set_lane<T>(i, pattern == PAT_ALL || (pattern == PAT_VL1 && i == 0));
  }
  return mask;
}

template <class T>
Mask update_mask(std::uint32_t& count) {
  count_mask_compute();
  Mask mask;
  for (int i = 0; i < kLanesOf<T>; ++i) {
    mask.set_lane<T>(i, static_cast<std::uint32_t>(i) < count);
  }
  count = count > kLanesOf<T> ? count - kLanesOf<T> : 0;
  return mask;
}

// dst = f(a, b) in active lanes, else 0.
template <class T, class F>
void map_lanes(Vector<T>& dst, const Vector<T>& a, const Vector<T>& b, const Mask& mask, F f) {
  count_compute();
  require_mask<T>(mask);
  const bool any = a.any_undefined || b.any_undefined;
  if (any) {
    for (int i = 0; i < kLanesOf<T>; ++i) {
      dst.set_undefined(i, mask.lane<T>(i) && (a.is_undefined(i) || b.is_undefined(i)));
    }
  }
  for (int i = 0; i < kLanesOf<T>; ++i) {
    const auto keep = static_cast<Word<T>>(-static_cast<Word<T>>(mask.bit[i * sizeof(T)] & 1));
    dst.lane[i] = static_cast<T>(static_cast<Word<T>>(f(a.lane[i], b.lane[i])) & keep);
  }
  dst.any_undefined = any;
}

template <class T, class F>
void compare_lanes(Mask& dst, const Vector<T>& a, const Vector<T>& b, const Mask& mask, F f) {
  count_compute();
  require_mask<T>(mask);
  const bool any = a.any_undefined || b.any_undefined;
  Mask result;
  constexpr auto kUnreliable =
      static_cast<Word<T>>(static_cast<Word<T>>(0x0202020202020202u) << 8 * (sizeof(T) > 1));
  for (int i = 0; i < kLanesOf<T>; ++i) {
    const auto active = static_cast<Word<T>>(mask.bit[i * sizeof(T)] & 1);
    const auto bits =
        static_cast<Word<T>>((static_cast<Word<T>>(f(a.lane[i], b.lane[i])) & active) |
                             (sizeof(T) > 1 ? kUnreliable : Word<T>(0)));
    std::memcpy(result.bit + i * sizeof(T), &bits, sizeof(T));
  }
  if (any) {
    for (int i = 0; i < kLanesOf<T>; ++i) {
      if (mask.lane<T>(i) && (a.is_undefined(i) || b.is_undefined(i))) {
        result.set_lane<T>(i, true, true);
      }
    }
  }
  dst = result;
}

template <class T>
Vector<T> filled(T value) {
  Vector<T> vector;
  for (int i = 0; i < kLanesOf<T>; ++i) vector.lane[i] = value;
  vector.set_defined();
  return vector;
}

template <class T>
void load_bytes(Vector<T>& dst, std::size_t offset) {
  std::memcpy(dst.lane, machine().ub() + offset, kVectorBytes);
  const std::uint8_t* undefined = machine().undefined() + offset;
  std::uint8_t any = 0;
  for (int i = 0; i < kVectorBytes; ++i) any |= undefined[i];
  dst.any_undefined = any != 0;
  if (any != 0) std::memcpy(dst.undefined, undefined, kVectorBytes);
}

inline void store_bytes(std::size_t offset, const void* data, const std::uint8_t* undefined,
                        std::size_t bytes) {
  std::memcpy(machine().ub() + offset, data, bytes);
  if (undefined != nullptr) {
    std::memcpy(machine().undefined() + offset, undefined, bytes);
  } else {
    std::memset(machine().undefined() + offset, 0, bytes);
  }
}

// The AR special register: bytes that the current unaligned stream has taken.
inline std::uint32_t& stream_bytes() {
  static std::uint32_t bytes = 0;
  return bytes;
}

// How many bytes the last vsqz(MODE_STORED) packed and no vstur has taken; -1: none.
inline int& squeezed_bytes() {
  static int bytes = -1;
  return bytes;
}

}  // namespace deepselect::twin

// ---- masks

#define asc_create_mask_b8(pattern) deepselect::twin::create_mask<std::uint8_t>(pattern)
#define asc_create_mask_b16(pattern) deepselect::twin::create_mask<std::uint16_t>(pattern)
#define asc_create_mask_b32(pattern) deepselect::twin::create_mask<std::uint32_t>(pattern)

inline vector_bool asc_update_mask_b8(std::uint32_t& count) {
  return deepselect::twin::update_mask<std::uint8_t>(count);
}
inline vector_bool asc_update_mask_b16(std::uint32_t& count) {
  return deepselect::twin::update_mask<std::uint16_t>(count);
}
inline vector_bool asc_update_mask_b32(std::uint32_t& count) {
  return deepselect::twin::update_mask<std::uint32_t>(count);
}

// Bit by bit over all 256, so a bit that one lane width does not define stays undefined.
inline void asc_or(vector_bool& dst, const vector_bool& a, const vector_bool& b,
                   const vector_bool& mask) {
  deepselect::twin::count_mask_compute();
  for (int i = 0; i < deepselect::twin::kVectorBytes; ++i) {
    const int undefined = (a.bit[i] | b.bit[i] | mask.bit[i]) & vector_bool::kUndefined;
    dst.bit[i] = static_cast<std::uint8_t>(((a.bit[i] | b.bit[i]) & mask.bit[i] & 1) | undefined);
  }
}

inline void asc_and(vector_bool& dst, const vector_bool& a, const vector_bool& b,
                    const vector_bool& mask) {
  deepselect::twin::count_mask_compute();
  for (int i = 0; i < deepselect::twin::kVectorBytes; ++i) {
    const int undefined = (a.bit[i] | b.bit[i] | mask.bit[i]) & vector_bool::kUndefined;
    dst.bit[i] = static_cast<std::uint8_t>((a.bit[i] & b.bit[i] & mask.bit[i] & 1) | undefined);
  }
}

inline void asc_not(vector_bool& dst, const vector_bool& a, const vector_bool& mask) {
  deepselect::twin::count_mask_compute();
  for (int i = 0; i < deepselect::twin::kVectorBytes; ++i) {
    const int undefined = (a.bit[i] | mask.bit[i]) & vector_bool::kUndefined;
    dst.bit[i] = static_cast<std::uint8_t>((~a.bit[i] & mask.bit[i] & 1) | undefined);
  }
}

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

// ---- histograms

namespace deepselect::twin {

inline void cumulative_histogram(Vector<std::uint16_t>& dst, const Vector<std::uint8_t>& src,
                                 const Mask& mask, int first_bin) {
  count_compute();
  require_mask<std::uint8_t>(mask);
  std::uint16_t counts[256] = {};
  bool undefined = dst.any_undefined;
  for (int i = 0; i < kVectorBytes; ++i) {
    counts[src.lane[i]] = static_cast<std::uint16_t>(counts[src.lane[i]] + (mask.bit[i] & 1));
  }
  if (src.any_undefined) {
    for (int i = 0; i < kVectorBytes; ++i) undefined |= mask.bit[i] == 1 && src.undefined[i] != 0;
  }
  std::uint16_t sum = 0;
  for (int bin = 0; bin < first_bin; ++bin) sum = static_cast<std::uint16_t>(sum + counts[bin]);
  for (int i = 0; i < 128; ++i) {
    sum = static_cast<std::uint16_t>(sum + counts[first_bin + i]);
    dst.lane[i] = static_cast<std::uint16_t>(dst.lane[i] + sum);
  }
  if (undefined) std::memset(dst.undefined, 1, kVectorBytes);
  dst.any_undefined = undefined;
}

}  // namespace deepselect::twin

inline void asc_cumulative_histogram_bin0(vector_uint16_t& dst, const vector_uint8_t& src,
                                          const vector_bool& mask) {
  deepselect::twin::cumulative_histogram(dst, src, mask, 0);
}
inline void asc_cumulative_histogram_bin1(vector_uint16_t& dst, const vector_uint8_t& src,
                                          const vector_bool& mask) {
  deepselect::twin::cumulative_histogram(dst, src, mask, 128);
}

// ---- compares

#define DEEPSELECT_TWIN_COMPARE(name, op)                                               \
  template <class T>                                                                    \
  void asc_##name(vector_bool& dst, const deepselect::twin::Vector<T>& a,               \
                  const deepselect::twin::Vector<T>& b, const vector_bool& mask) {      \
    deepselect::twin::compare_lanes(dst, a, b, mask, [](T x, T y) { return x op y; });  \
  }                                                                                     \
  template <class T>                                                                    \
  void asc_##name##_scalar(vector_bool& dst, const deepselect::twin::Vector<T>& a, T b, \
                           const vector_bool& mask) {                                   \
    deepselect::twin::compare_lanes(dst, a, a, mask, [b](T x, T) { return x op b; });   \
  }
DEEPSELECT_TWIN_COMPARE(eq, ==)
DEEPSELECT_TWIN_COMPARE(lt, <)
DEEPSELECT_TWIN_COMPARE(le, <=)
DEEPSELECT_TWIN_COMPARE(gt, >)
DEEPSELECT_TWIN_COMPARE(ge, >=)
#undef DEEPSELECT_TWIN_COMPARE

// ---- arithmetic and logic: wrap, inactive lanes become 0

#define DEEPSELECT_TWIN_BINARY(name, expression)                                          \
  template <class T>                                                                      \
  void asc_##name(deepselect::twin::Vector<T>& dst, const deepselect::twin::Vector<T>& a, \
                  const deepselect::twin::Vector<T>& b, const vector_bool& mask) {        \
    deepselect::twin::map_lanes(dst, a, b, mask, [](T x, T y) {                           \
      using W = deepselect::twin::Word<T>;                                                \
      return static_cast<W>(expression);                                                  \
    });                                                                                   \
  }
DEEPSELECT_TWIN_BINARY(add, W(x) + W(y))
DEEPSELECT_TWIN_BINARY(sub, W(x) - W(y))
DEEPSELECT_TWIN_BINARY(and, W(x) & W(y))
DEEPSELECT_TWIN_BINARY(or, W(x) | W(y))
DEEPSELECT_TWIN_BINARY(xor, W(x) ^ W(y))
DEEPSELECT_TWIN_BINARY(min, x < y ? x : y)
DEEPSELECT_TWIN_BINARY(max, x > y ? x : y)
#undef DEEPSELECT_TWIN_BINARY

template <class T>
void asc_add_scalar(deepselect::twin::Vector<T>& dst, const deepselect::twin::Vector<T>& src,
                    T value, const vector_bool& mask) {
  using W = deepselect::twin::Word<T>;
  deepselect::twin::map_lanes(dst, src, src, mask,
                              [value](T x, T) { return static_cast<W>(W(x) + W(value)); });
}

template <class T>
void asc_shiftleft_scalar(deepselect::twin::Vector<T>& dst, const deepselect::twin::Vector<T>& src,
                          std::int16_t shift, const vector_bool& mask) {
  using W = deepselect::twin::Word<T>;
  if (shift < 0) deepselect::twin::machine().fault(deepselect::twin::kVector, "negative shift");
  deepselect::twin::map_lanes(dst, src, src, mask, [shift](T x, T) {
    return static_cast<W>(shift >= static_cast<int>(8 * sizeof(T)) ? 0 : W(x) << shift);
  });
}

// Arithmetic for signed types. What a signed shift by the width or more gives is not documented:
// refused.
template <class T>
void asc_shiftright_scalar(deepselect::twin::Vector<T>& dst, const deepselect::twin::Vector<T>& src,
                           std::int16_t shift, const vector_bool& mask) {
  using W = deepselect::twin::Word<T>;
  const bool too_far = shift >= static_cast<int>(8 * sizeof(T));
  if (shift < 0 || (too_far && std::is_signed_v<T>)) {
    deepselect::twin::machine().fault(deepselect::twin::kVector, "shift out of range");
  }
  deepselect::twin::map_lanes(dst, src, src, mask, [shift, too_far](T x, T) {
    return too_far ? W(0) : static_cast<W>(x >> shift);
  });
}

template <class T>
void asc_select(deepselect::twin::Vector<T>& dst, const deepselect::twin::Vector<T>& a,
                const deepselect::twin::Vector<T>& b, const vector_bool& mask) {
  using namespace deepselect::twin;
  count_compute();
  require_mask<T>(mask);
  const bool any = a.any_undefined || b.any_undefined;
  if (any) {
    for (int i = 0; i < kLanesOf<T>; ++i) {
      dst.set_undefined(i, mask.lane<T>(i) ? a.is_undefined(i) : b.is_undefined(i));
    }
  }
  for (int i = 0; i < kLanesOf<T>; ++i) dst.lane[i] = mask.lane<T>(i) ? a.lane[i] : b.lane[i];
  dst.any_undefined = any;
}

template <class T>
void asc_duplicate_scalar(deepselect::twin::Vector<T>& dst, T value) {
  deepselect::twin::count_compute();
  dst = deepselect::twin::filled(value);
}

template <class T>
void vdup(deepselect::twin::Vector<T>& dst, const deepselect::twin::Vector<T>& src,
          const vector_bool& mask, LanePosition position) {
  using namespace deepselect::twin;
  const int lane = position == POS_LOWEST ? 0 : kLanesOf<T> - 1;
  Vector<T> source = filled(src.lane[lane]);
  if (src.is_undefined(lane)) {
    std::memset(source.undefined, 1, kVectorBytes);
    source.any_undefined = true;
  }
  map_lanes(dst, source, source, mask, [](T x, T) { return x; });
}

template <class T>
void asc_arange(deepselect::twin::Vector<T>& dst, T first) {
  using namespace deepselect::twin;
  static_assert(std::is_signed_v<T>, "index vectors are of signed types only");
  count_compute();
  for (int i = 0; i < kLanesOf<T>; ++i) {
    dst.lane[i] = static_cast<T>(static_cast<Word<T>>(first) + static_cast<Word<T>>(i));
  }
  dst.set_defined();
}

// ---- reductions, interleaving, packing

inline void asc_reduce_sum(vector_uint32_t& dst, const vector_uint16_t& src,
                           const vector_bool& mask) {
  using namespace deepselect::twin;
  count_compute();
  require_mask<std::uint16_t>(mask);
  std::uint32_t sum = 0;
  for (int i = 0; i < 128; ++i) {
    if (!mask.lane<std::uint16_t>(i)) continue;
    if (src.is_undefined(i)) machine().fault(kVector, "reduction of an undefined lane");
    sum += src.lane[i];
  }
  dst = filled<std::uint32_t>(0);
  dst.lane[0] = sum;
}

namespace deepselect::twin {

template <class T, class Better>
void reduce_extreme(Vector<T>& dst, const Vector<T>& src, const Mask& mask, T neutral,
                    Better better) {
  count_compute();
  require_mask<T>(mask);
  T best = neutral;
  int index = 0;
  for (int i = 0; i < kLanesOf<T>; ++i) {
    if (mask.lane<T>(i) && src.is_undefined(i)) {
      machine().fault(kVector, "reduction of an undefined lane");
    }
    const T value = mask.lane<T>(i) ? src.lane[i] : neutral;
    if (!better(value, best)) continue;
    best = value;
    index = i;
  }
  dst = filled<T>(0);
  dst.lane[0] = best;
  dst.lane[1] = static_cast<T>(index);
}

}  // namespace deepselect::twin

template <class T>
void asc_reduce_min(deepselect::twin::Vector<T>& dst, const deepselect::twin::Vector<T>& src,
                    const vector_bool& mask) {
  deepselect::twin::reduce_extreme(dst, src, mask, std::numeric_limits<T>::max(),
                                   [](T x, T y) { return x < y; });
}

template <class T>
void asc_reduce_max(deepselect::twin::Vector<T>& dst, const deepselect::twin::Vector<T>& src,
                    const vector_bool& mask) {
  deepselect::twin::reduce_extreme(dst, src, mask, std::numeric_limits<T>::min(),
                                   [](T x, T y) { return x > y; });
}

template <class T>
void asc_intlv(deepselect::twin::Vector<T>& dst0, deepselect::twin::Vector<T>& dst1,
               const deepselect::twin::Vector<T>& src0, const deepselect::twin::Vector<T>& src1) {
  using namespace deepselect::twin;
  count_compute();
  constexpr int kHalf = kLanesOf<T> / 2;
  Vector<T> low;
  Vector<T> high;
  for (int i = 0; i < kLanesOf<T>; ++i) {
    Vector<T>& out = i < kHalf ? low : high;
    const int place = 2 * (i % kHalf);
    out.lane[place] = src0.lane[i];
    out.lane[place + 1] = src1.lane[i];
    out.set_undefined(place, src0.is_undefined(i));
    out.set_undefined(place + 1, src1.is_undefined(i));
  }
  low.any_undefined = high.any_undefined = src0.any_undefined || src1.any_undefined;
  dst0 = low;
  dst1 = high;
}

template <class T>
void asc_deintlv(deepselect::twin::Vector<T>& dst0, deepselect::twin::Vector<T>& dst1,
                 const deepselect::twin::Vector<T>& src0, const deepselect::twin::Vector<T>& src1) {
  using namespace deepselect::twin;
  count_compute();
  constexpr int kHalf = kLanesOf<T> / 2;
  Vector<T> even;
  Vector<T> odd;
  for (int i = 0; i < kLanesOf<T>; ++i) {
    const Vector<T>& in = i < kHalf ? src0 : src1;
    const int place = 2 * (i % kHalf);
    even.lane[i] = in.lane[place];
    odd.lane[i] = in.lane[place + 1];
    even.set_undefined(i, in.is_undefined(place));
    odd.set_undefined(i, in.is_undefined(place + 1));
  }
  even.any_undefined = odd.any_undefined = src0.any_undefined || src1.any_undefined;
  dst0 = even;
  dst1 = odd;
}

// The upper half of the result is not specified.
inline void vpack(vector_uint16_t& dst, const vector_uint32_t& src, PackPart) {
  using namespace deepselect::twin;
  count_compute();
  vector_uint16_t result;
  for (int i = 0; i < 64; ++i) {
    result.lane[i] = static_cast<std::uint16_t>(src.lane[i]);
    result.set_undefined(i, src.is_undefined(i));
  }
  dst = result;
}
