// Types and masks of the device's language on the host, and what the instructions of
// asc_memory.h and asc_compute.h share.
#pragma once

#include <cstdint>
#include <cstring>

#include "ascend/twin/registers.h"

using vector_uint8_t = deepselect::twin::Vector<std::uint8_t>;
using vector_uint16_t = deepselect::twin::Vector<std::uint16_t>;
using vector_int16_t = deepselect::twin::Vector<std::int16_t>;
using vector_uint32_t = deepselect::twin::Vector<std::uint32_t>;
using vector_int32_t = deepselect::twin::Vector<std::int32_t>;
using vector_bool = deepselect::twin::Mask;
using vector_store_unalign = deepselect::twin::StoreUnalign;

enum MaskPattern { PAT_ALL };
enum PostMode { POST_UPDATE };
enum SqueezeMode { MODE_STORED };
enum LanePosition { POS_LOWEST, POS_HIGHEST };
enum PackPart { LOWER };
enum SpecialRegister { SPR_AR };
enum MemoryOrder { VST_VLD };

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
Mask create_mask(MaskPattern) {
  count_mask_compute();
  Mask mask;
  for (int i = 0; i < kLanesOf<T>; ++i) mask.set_lane<T>(i, true);
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

inline void asc_not(vector_bool& dst, const vector_bool& a, const vector_bool& mask) {
  deepselect::twin::count_mask_compute();
  for (int i = 0; i < deepselect::twin::kVectorBytes; ++i) {
    const int undefined = (a.bit[i] | mask.bit[i]) & vector_bool::kUndefined;
    dst.bit[i] = static_cast<std::uint8_t>((~a.bit[i] & mask.bit[i] & 1) | undefined);
  }
}
