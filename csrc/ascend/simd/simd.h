// Our names for the register-level instructions of dav-3510; the one place that spells the
// vendor's. Where the C API was renamed between CANN 9.1 and 9.2 the compiler intrinsic under it is
// used, which was not. On the host the same names come from the twin.
//
// Conventions: destination first, as on the device; masked results are 0 in inactive lanes; a
// function without a mask acts on every lane.
#pragma once

#include <cstdint>
#include <type_traits>

#if defined(DEEPSELECT_TWIN)
#include "ascend/twin/asc_simd.h"
#else
#include "c_api/asc_simd.h"
#endif

#include "ascend/simd/kernel_calls.h"

namespace deepselect::ascend::simd {

constexpr int kVectorBytes = 256;

template <class T>
constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

// The registers that `count` items of T take.
template <class T>
__simd_callee__ inline std::uint16_t vectors_for(std::uint32_t count) {
  return static_cast<std::uint16_t>((count + kLanes<T> - 1) / kLanes<T>);
}

template <class T>
struct RegisterOf;
template <>
struct RegisterOf<std::uint8_t> {
  using Type = vector_uint8_t;
};
template <>
struct RegisterOf<std::uint16_t> {
  using Type = vector_uint16_t;
};
template <>
struct RegisterOf<std::int16_t> {
  using Type = vector_int16_t;
};
template <>
struct RegisterOf<std::uint32_t> {
  using Type = vector_uint32_t;
};
template <>
struct RegisterOf<std::int32_t> {
  using Type = vector_int32_t;
};

// A vector register of lanes of T; a mask register; the state of an unaligned store stream.
template <class T>
using Register = typename RegisterOf<T>::Type;
using Mask = vector_bool;
using Stream = vector_store_unalign;

// The same register read as lanes of another type of any width.
template <class To, class From>
__simd_callee__ inline Register<To>& view_as(From& from) {
  return reinterpret_cast<Register<To>&>(from);
}

// ---- masks

template <class T>
__simd_callee__ inline Mask all_lanes(DEEPSELECT_ONLY_SITE) {
  DEEPSELECT_AT_SITE();
  if constexpr (sizeof(T) == 1) return asc_create_mask_b8(PAT_ALL);
  if constexpr (sizeof(T) == 2) return asc_create_mask_b16(PAT_ALL);
  if constexpr (sizeof(T) == 4) return asc_create_mask_b32(PAT_ALL);
}

// The lowest `count` lanes, at most all of them, which are taken off `count`.
template <class T>
__simd_callee__ inline Mask take_lanes(std::uint32_t& count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  if constexpr (sizeof(T) == 1) return asc_update_mask_b8(count);
  if constexpr (sizeof(T) == 2) return asc_update_mask_b16(count);
  if constexpr (sizeof(T) == 4) return asc_update_mask_b32(count);
}

// On masks of one lane width.
__simd_callee__ inline void mask_or(Mask& dst, Mask a, Mask b, Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_or(dst, a, b, active);
}
__simd_callee__ inline void mask_not(Mask& dst, Mask a, Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_not(dst, a, active);
}

// ---- loads and stores; addresses are 32-byte aligned and whole registers are read

template <class T>
__simd_callee__ inline void load(Register<T>& dst, __ubuf__ T* src DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_loadalign(dst, src);
}

// 512 bytes, the even ones to `even`.
__simd_callee__ inline void load_split_bytes(Register<std::uint8_t>& even,
                                             Register<std::uint8_t>& odd,
                                             __ubuf__ std::uint8_t* src DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_loadalign_deintlv(even, odd, src);
}

// One item, aligned to its size, in every lane.
template <class T>
__simd_callee__ inline void load_broadcast(Register<T>& dst, __ubuf__ T* src DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_loadalign_brc_elem(dst, src);
}

template <class T>
__simd_callee__ inline void store(__ubuf__ T* dst, Register<T>& src, Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_storealign(dst, src, active);
}

// Lane 0; aligned to its size.
template <class T>
__simd_callee__ inline void store_first(__ubuf__ T* dst, Register<T>& src DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_storealign_1st(dst, src);
}

// dst[i] = src[index[i]]; index has lanes of T's width, `src` is 32-byte aligned.
template <class T>
__simd_callee__ inline void gather(Register<T>& dst, __ubuf__ T* src, Register<T>& index,
                                   Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_gather(dst, src, index, active);
}

// ---- packing streams: active lanes, packed, are appended behind each other at `base`. One stream
// at a time; `base` and `stream` stay the same from begin to end.

__simd_callee__ inline void stream_begin(DEEPSELECT_ONLY_SITE) {
  DEEPSELECT_AT_SITE();
  sprclr(SPR_AR);
}

template <class T>
__simd_callee__ inline void stream_append(__ubuf__ T* base, Stream& stream, Register<T>& src,
                                          Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  Register<T> packed;
  vsqz(packed, src, active, MODE_STORED);
  vstur(stream, packed, base, POST_UPDATE);
}

template <class T>
__simd_callee__ inline void stream_end(__ubuf__ T* base, Stream& stream DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  vstar(stream, base);
}

// Bytes appended since stream_begin.
__simd_callee__ inline void store_stream_bytes(__ubuf__ std::uint32_t* dst DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  sprsts(SPR_AR, dst, 0);
}

// Loads after it see stores before it; needed within one vector function only.
__simd_callee__ inline void stores_before_loads(DEEPSELECT_ONLY_SITE) {
  DEEPSELECT_AT_SITE();
  asc_mem_bar(VST_VLD);
}

// ---- histograms: adds to dst, for n in 0..127, the number of active bytes <= n (low), <= 128 + n
// (high). 16-bit counters that wrap.

__simd_callee__ inline void count_up_to_low(Register<std::uint16_t>& dst,
                                            Register<std::uint8_t>& src,
                                            Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_cumulative_histogram_bin0(dst, src, active);
}
__simd_callee__ inline void count_up_to_high(Register<std::uint16_t>& dst,
                                             Register<std::uint8_t>& src,
                                             Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_cumulative_histogram_bin1(dst, src, active);
}

// ---- compares; signedness is that of the lane type. `V` is deduced from the registers, so that
// both views of one register select the right instruction.

template <class V>
__simd_callee__ inline void equal(Mask& dst, V& a, V& b, Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_eq(dst, a, b, active);
}
template <class V>
__simd_callee__ inline void less_equal(Mask& dst, V& a, V& b, Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_le(dst, a, b, active);
}
template <class V>
__simd_callee__ inline void less(Mask& dst, V& a, V& b, Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_lt(dst, a, b, active);
}
template <class V>
__simd_callee__ inline void greater(Mask& dst, V& a, V& b, Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_gt(dst, a, b, active);
}
template <class V>
__simd_callee__ inline void greater_equal(Mask& dst, V& a, V& b, Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_ge(dst, a, b, active);
}

// ---- arithmetic and logic, wrapping

template <class V>
__simd_callee__ inline void add(V& dst, V& a, V& b, Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_add(dst, a, b, active);
}
template <class V>
__simd_callee__ inline void subtract(V& dst, V& a, V& b, Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_sub(dst, a, b, active);
}
template <class V>
__simd_callee__ inline void minimum(V& dst, V& a, V& b, Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_min(dst, a, b, active);
}
template <class V>
__simd_callee__ inline void maximum(V& dst, V& a, V& b, Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_max(dst, a, b, active);
}
template <class V>
__simd_callee__ inline void bit_and(V& dst, V& a, V& b, Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_and(dst, a, b, active);
}
template <class V>
__simd_callee__ inline void bit_or(V& dst, V& a, V& b, Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_or(dst, a, b, active);
}
template <class V>
__simd_callee__ inline void bit_xor(V& dst, V& a, V& b, Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_xor(dst, a, b, active);
}
template <class V, class T>
__simd_callee__ inline void add_scalar(V& dst, V& a, T value, Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_add_scalar(dst, a, value, active);
}
// Shifts of a signed type keep the sign; its shift must be below the width.
template <class V>
__simd_callee__ inline void shift_left(V& dst, V& a, std::int16_t bits,
                                       Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_shiftleft_scalar(dst, a, bits, active);
}
template <class V>
__simd_callee__ inline void shift_right(V& dst, V& a, std::int16_t bits,
                                        Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_shiftright_scalar(dst, a, bits, active);
}

// ---- moves

// chosen ? a : b.
template <class V>
__simd_callee__ inline void select(V& dst, V& a, V& b, Mask chosen DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_select(dst, a, b, chosen);
}
template <class V, class T>
__simd_callee__ inline void fill(V& dst, T value DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_duplicate_scalar(dst, value);
}
template <class V>
__simd_callee__ inline void broadcast_first(V& dst, V& src, Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  vdup(dst, src, active, POS_LOWEST);
}
template <class V>
__simd_callee__ inline void broadcast_last(V& dst, V& src, Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  vdup(dst, src, active, POS_HIGHEST);
}
// first, first + 1, ...; unsigned registers are viewed as signed, which is all the device has.
template <class T>
__simd_callee__ inline void count_up(Register<T>& dst, T first DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  using Signed = std::make_signed_t<T>;
  asc_arange(view_as<Signed>(dst), static_cast<Signed>(first));
}

// ---- reductions: lane 0 of the result

__simd_callee__ inline void sum(Register<std::uint32_t>& dst, Register<std::uint16_t>& src,
                                Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_reduce_sum(dst, src, active);
}
// The type's maximum where no lane is active.
__simd_callee__ inline void reduce_minimum(Register<std::uint16_t>& dst,
                                           Register<std::uint16_t>& src,
                                           Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_reduce_min(dst, src, active);
}
// 0 where no lane is active.
__simd_callee__ inline void reduce_maximum(Register<std::uint16_t>& dst,
                                           Register<std::uint16_t>& src,
                                           Mask active DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_reduce_max(dst, src, active);
}

// ---- permutations

// a0 b0 a1 b1 ... over both destinations.
template <class V>
__simd_callee__ inline void interleave(V& low, V& high, V& a, V& b DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_intlv(low, high, a, b);
}
template <class V>
__simd_callee__ inline void deinterleave(V& even, V& odd, V& a, V& b DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  asc_deintlv(even, odd, a, b);
}
// The low halves of 64 lanes to lanes 0..63; the other lanes are not specified.
__simd_callee__ inline void narrow(Register<std::uint16_t>& dst,
                                   Register<std::uint32_t>& src DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  vpack(dst, src, LOWER);
}

}  // namespace deepselect::ascend::simd
