// Compares, arithmetic, permutations, reductions and histograms of the twin.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>

#include "ascend/twin/asc_base.h"

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
