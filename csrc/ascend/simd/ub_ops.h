// Our names for the buffer-to-buffer instructions of dav-2201, the one place that spells the
// vendor's. Every call is one instruction of PIPE_V; a call that reads what another wrote needs
// barrier<kPipeV>() between them. Arrays start at 32-byte boundaries. Destinations come first and
// may be the same array as a source of equal item size in element-wise calls, in no others.
//
// dav-2201 compares floats and halves and tests int32 for equality, no more. Arithmetic here must
// not overflow: whether integers wrap or saturate is not documented.
#pragma once

#include <cstdint>
#include <type_traits>

#include "ascend/simd/kernel_calls.h"

#if defined(DEEPSELECT_TWIN)
#include "ascend/twin/asc_ub.h"
#endif

namespace deepselect::ascend::ub {

// A record of a sort: float score, then a 32-bit payload.
constexpr std::uint32_t kRecordBytes = 8;
// Compares work on whole repeats; of 32-bit items that is this many, of masks this many bits.
constexpr std::uint32_t kRepeatItems = 64;

// Takes the type that the arrays have.
template <class T>
using Same = std::common_type_t<T>;

#if defined(DEEPSELECT_TWIN)

namespace twin = ::deepselect::twin;
using I32 = std::int32_t;
using U32 = std::uint32_t;

template <class T>
void fill(T* dst, T value, U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  twin::ub_fill(dst, value, count);
}
template <class T>
void fill_lanes(T* block, T value, U32 first, U32 past DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  twin::ub_fill_lanes(block, value, first, past);
}
// Of int16 or int32.
template <class T>
void add(T* dst, T* a, T* b, U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  twin::map_ub(dst, a, b, count,
               [](T x, T y) { return twin::exact_integer<T>(std::int64_t{x} + y); });
}
template <class T>
void subtract(T* dst, T* a, T* b, U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  twin::map_ub(dst, a, b, count,
               [](T x, T y) { return twin::exact_integer<T>(std::int64_t{x} - y); });
}
template <class T>
void maximum(T* dst, T* a, T* b, U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  twin::map_ub(dst, a, b, count, [](T x, T y) { return x > y ? x : y; });
}
template <class T>
void minimum(T* dst, T* a, T* b, U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  twin::map_ub(dst, a, b, count, [](T x, T y) { return x < y ? x : y; });
}
template <class T>
void add_scalar(T* dst, T* src, Same<T> value, U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  twin::map_ub(dst, src, src, count,
               [value](T x, T) { return twin::exact_integer<T>(std::int64_t{x} + value); });
}
template <class T>
void multiply_scalar(T* dst, T* src, Same<T> value, U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  twin::map_ub(dst, src, src, count,
               [value](T x, T) { return twin::exact_integer<T>(std::int64_t{x} * value); });
}
template <class T>
void max_scalar(T* dst, T* src, Same<T> value, U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  twin::map_ub(dst, src, src, count, [value](T x, T) { return x > value ? x : value; });
}
template <class T>
void min_scalar(T* dst, T* src, Same<T> value, U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  twin::map_ub(dst, src, src, count, [value](T x, T) { return x < value ? x : value; });
}
inline void bit_and(std::uint16_t* dst, std::uint16_t* a, std::uint16_t* b,
                    U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  twin::map_ub(dst, a, b, count, [](int x, int y) { return static_cast<std::uint16_t>(x & y); });
}
inline void bit_or(std::uint16_t* dst, std::uint16_t* a, std::uint16_t* b,
                   U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  twin::map_ub(dst, a, b, count, [](int x, int y) { return static_cast<std::uint16_t>(x | y); });
}
inline void bit_not(std::uint16_t* dst, std::uint16_t* src, U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  twin::map_ub(dst, src, src, count, [](int x, int) { return static_cast<std::uint16_t>(~x); });
}
template <class T>
void shift_left(T* dst, T* src, T bits, U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  const auto shift = static_cast<int>(bits);
  twin::map_ub(dst, src, src, count, [shift](T x, T) {
    return static_cast<T>(shift == 32 ? 0u : static_cast<U32>(x) << shift);
  });
}
// Keeps the sign of int32.
template <class T>
void shift_right(T* dst, T* src, T bits, U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  const auto shift = static_cast<int>(bits);
  twin::map_ub(dst, src, src, count,
               [shift](T x, T) { return static_cast<T>(std::int64_t{x} >> shift); });
}
inline void to_float(float* dst, std::int16_t* src, U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  twin::map_ub(dst, src, src, count, [](std::int16_t x, int) { return static_cast<float>(x); });
}
inline void to_int32(I32* dst, float* src, U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  twin::map_ub(dst, src, src, count, [](float x, float) {
    twin::require_integer(x);
    return static_cast<I32>(x);
  });
}
inline void at_least(std::uint8_t* mask, float* src, float value, U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  twin::compare_ub(mask, src, src, count, [value](float x, float) {
    twin::require_integer(x);
    return x >= value;
  });
}
inline void at_most(std::uint8_t* mask, float* src, float value, U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  twin::compare_ub(mask, src, src, count, [value](float x, float) {
    twin::require_integer(x);
    return x <= value;
  });
}
template <class Bits>
void less_than(std::uint8_t* mask, Bits* src, Bits bound, U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  const float value = twin::bound_number(bound);
  twin::compare_ub(mask, src, src, count,
                   [value](Bits x, Bits) { return twin::number_of(x) < value; });
}
template <class Bits>
void greater_than(std::uint8_t* mask, Bits* src, Bits bound, U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  const float value = twin::bound_number(bound);
  twin::compare_ub(mask, src, src, count,
                   [value](Bits x, Bits) { return twin::number_of(x) > value; });
}
inline void equal(std::uint8_t* mask, I32* a, I32* b, U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  twin::compare_ub(mask, a, b, count, [](I32 x, I32 y) { return x == y; });
}
inline void equal_scalar(std::uint8_t* mask, I32* src, I32 value, U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  twin::compare_ub(mask, src, src, count, [value](I32 x, I32) { return x == value; });
}
template <class T>
void compress(T* dst, T* src, std::uint8_t* mask, U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  twin::ub_compress(dst, src, mask, count);
}
inline U32 read_kept(DEEPSELECT_ONLY_SITE) {
  simd::set<simd::kPipeV, simd::kPipeS>(0, site);
  simd::wait<simd::kPipeV, simd::kPipeS>(0, site);
  return twin::ub_take_kept();
}
inline void pick_odd(U32* dst, U32* src, U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  twin::ub_pick_odd(dst, src, count);
}
template <class T>
void gather(T* dst, T* src, U32* byte_offsets, U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  twin::ub_gather(dst, src, byte_offsets, count);
}
// Of int16 or int32.
template <class T>
void count_up(T* dst, Same<T> first, U32 count DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  twin::ub_count_up<T>(dst, first, count);
}
inline void sort_groups(std::uint8_t* records, float* scores, U32* payloads,
                        U32 num_groups DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  twin::ub_sort_groups(reinterpret_cast<twin::Record*>(records), scores, payloads, num_groups);
}
inline void merge_runs(std::uint8_t* dst, std::uint8_t* src, U32 run_items, U32 num_runs,
                       U32 num_merges DEEPSELECT_SITE) {
  DEEPSELECT_AT_SITE();
  twin::ub_merge_runs(reinterpret_cast<twin::Record*>(dst), reinterpret_cast<twin::Record*>(src),
                      run_items, num_runs, num_merges);
}

#else

template <class T>
__aicore__ inline AscendC::LocalTensor<T> tensor_at(__ubuf__ T* address, std::uint32_t count) {
  return AscendC::LocalTensor<T>(AscendC::TPosition::VECCALC, (std::uint32_t)(std::uint64_t)address,
                                 count);
}

template <class T>
__aicore__ inline void fill(__ubuf__ T* dst, T value, std::uint32_t count) {
  AscendC::Duplicate(tensor_at(dst, count), value, static_cast<std::int32_t>(count));
}
// Lanes [first, past) of one 32-byte block.
template <class T>
__aicore__ inline void fill_lanes(__ubuf__ T* block, T value, std::uint32_t first,
                                  std::uint32_t past) {
  std::uint64_t mask[2] = {(std::uint64_t{1} << past) - (std::uint64_t{1} << first), 0};
  AscendC::Duplicate(tensor_at(block, 32 / sizeof(T)), value, mask, 1, 1, 8);
}

#define DEEPSELECT_UB_BINARY(name, vendor)                                           \
  template <class T>                                                                 \
  __aicore__ inline void name(__ubuf__ T* dst, __ubuf__ T* a, __ubuf__ T* b,         \
                              std::uint32_t count) {                                 \
    AscendC::vendor(tensor_at(dst, count), tensor_at(a, count), tensor_at(b, count), \
                    static_cast<std::int32_t>(count));                               \
  }
DEEPSELECT_UB_BINARY(add, Add)
DEEPSELECT_UB_BINARY(subtract, Sub)
DEEPSELECT_UB_BINARY(maximum, Max)
DEEPSELECT_UB_BINARY(minimum, Min)
DEEPSELECT_UB_BINARY(bit_and, And)
DEEPSELECT_UB_BINARY(bit_or, Or)
#undef DEEPSELECT_UB_BINARY

__aicore__ inline void bit_not(__ubuf__ std::uint16_t* dst, __ubuf__ std::uint16_t* src,
                               std::uint32_t count) {
  AscendC::Not(tensor_at(dst, count), tensor_at(src, count), static_cast<std::int32_t>(count));
}

#define DEEPSELECT_UB_SCALAR(name, vendor)                                     \
  template <class T>                                                           \
  __aicore__ inline void name(__ubuf__ T* dst, __ubuf__ T* src, Same<T> value, \
                              std::uint32_t count) {                           \
    AscendC::vendor(tensor_at(dst, count), tensor_at(src, count), value,       \
                    static_cast<std::int32_t>(count));                         \
  }
DEEPSELECT_UB_SCALAR(add_scalar, Adds)
DEEPSELECT_UB_SCALAR(multiply_scalar, Muls)
DEEPSELECT_UB_SCALAR(max_scalar, Maxs)
DEEPSELECT_UB_SCALAR(min_scalar, Mins)
#undef DEEPSELECT_UB_SCALAR

template <class T>
__aicore__ inline void shift_left(__ubuf__ T* dst, __ubuf__ T* src, T bits, std::uint32_t count) {
  AscendC::ShiftLeft(tensor_at(dst, count), tensor_at(src, count), bits,
                     static_cast<std::int32_t>(count));
}
// Keeps the sign of int32.
template <class T>
__aicore__ inline void shift_right(__ubuf__ T* dst, __ubuf__ T* src, T bits, std::uint32_t count) {
  AscendC::ShiftRight(tensor_at(dst, count), tensor_at(src, count), bits,
                      static_cast<std::int32_t>(count));
}
__aicore__ inline void to_float(__ubuf__ float* dst, __ubuf__ std::int16_t* src,
                                std::uint32_t count) {
  AscendC::Cast(tensor_at(dst, count), tensor_at(src, count), AscendC::RoundMode::CAST_NONE, count);
}
// Of floats that are integers.
__aicore__ inline void to_int32(__ubuf__ std::int32_t* dst, __ubuf__ float* src,
                                std::uint32_t count) {
  AscendC::Cast(tensor_at(dst, count), tensor_at(src, count), AscendC::RoundMode::CAST_RINT, count);
}

// Compares: bit i of the mask. Floats are integers.
__aicore__ inline void at_least(__ubuf__ std::uint8_t* mask, __ubuf__ float* src, float value,
                                std::uint32_t count) {
  AscendC::Compares(tensor_at(mask, count / 8), tensor_at(src, count), value, AscendC::CMPMODE::GE,
                    count);
}
__aicore__ inline void at_most(__ubuf__ std::uint8_t* mask, __ubuf__ float* src, float value,
                               std::uint32_t count) {
  AscendC::Compares(tensor_at(mask, count / 8), tensor_at(src, count), value, AscendC::CMPMODE::LE,
                    count);
}
// Bits as numbers of their width: half or float. NaN is neither less nor greater; `bound` is 0 or
// normal.
template <class Bits>
using NumberOf = std::conditional_t<sizeof(Bits) == 2, half, float>;
template <class Bits>
__aicore__ inline void compare_bits(__ubuf__ std::uint8_t* mask, __ubuf__ Bits* src, Bits bound,
                                    AscendC::CMPMODE mode, std::uint32_t count) {
  using Number = NumberOf<Bits>;
  const Number value = *reinterpret_cast<Number*>(&bound);
  AscendC::Compares(tensor_at(mask, count / 8), tensor_at((__ubuf__ Number*)src, count), value,
                    mode, count);
}
template <class Bits>
__aicore__ inline void less_than(__ubuf__ std::uint8_t* mask, __ubuf__ Bits* src, Bits bound,
                                 std::uint32_t count) {
  compare_bits(mask, src, bound, AscendC::CMPMODE::LT, count);
}
template <class Bits>
__aicore__ inline void greater_than(__ubuf__ std::uint8_t* mask, __ubuf__ Bits* src, Bits bound,
                                    std::uint32_t count) {
  compare_bits(mask, src, bound, AscendC::CMPMODE::GT, count);
}
__aicore__ inline void equal(__ubuf__ std::uint8_t* mask, __ubuf__ std::int32_t* a,
                             __ubuf__ std::int32_t* b, std::uint32_t count) {
  AscendC::Compare(tensor_at(mask, count / 8), tensor_at(a, count), tensor_at(b, count),
                   AscendC::CMPMODE::EQ, count);
}
__aicore__ inline void equal_scalar(__ubuf__ std::uint8_t* mask, __ubuf__ std::int32_t* src,
                                    std::int32_t value, std::uint32_t count) {
  AscendC::Compares(tensor_at(mask, count / 8), tensor_at(src, count), value, AscendC::CMPMODE::EQ,
                    count);
}

// Packs the items whose mask bit is set. Whole 32-byte blocks are written.
template <class T>
__aicore__ inline void compress(__ubuf__ T* dst, __ubuf__ T* src, __ubuf__ std::uint8_t* mask,
                                std::uint32_t count) {
  const AscendC::GatherMaskParams params{1, 1, 8, 1};
  std::uint64_t kept = 0;
  using Word = std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint32_t>;
  constexpr std::uint32_t kWordBits = 8 * sizeof(Word);
  AscendC::GatherMask(tensor_at(dst, count), tensor_at(src, count),
                      tensor_at((__ubuf__ Word*)mask, (count + kWordBits - 1) / kWordBits), true,
                      count, params, kept);
}
// How many items the last compress() packed. Waits for the vector unit.
__aicore__ inline std::uint32_t read_kept() {
  simd::set<simd::kPipeV, simd::kPipeS>(0);
  simd::wait<simd::kPipeV, simd::kPipeS>(0);
  return static_cast<std::uint32_t>(AscendC::GetGatherMaskRemainCount());
}
// Every second item from the second on; `count` source items.
__aicore__ inline void pick_odd(__ubuf__ std::uint32_t* dst, __ubuf__ std::uint32_t* src,
                                std::uint32_t count) {
  constexpr std::uint8_t kOddItems = 2;
  const AscendC::GatherMaskParams params{1, 1, 8, 0};
  std::uint64_t kept = 0;
  AscendC::GatherMask(tensor_at(dst, count / 2), tensor_at(src, count), kOddItems, true, count,
                      params, kept);
}
// dst[i] = the item byte_offsets[i] bytes from src.
template <class T>
__aicore__ inline void gather(__ubuf__ T* dst, __ubuf__ T* src,
                              __ubuf__ std::uint32_t* byte_offsets, std::uint32_t count) {
  constexpr std::uint32_t kNoBase = 0;
  AscendC::Gather(tensor_at(dst, count), tensor_at(src, count), tensor_at(byte_offsets, count),
                  kNoBase, count);
}
template <class T>
__aicore__ inline void count_up(__ubuf__ T* dst, Same<T> first, std::uint32_t count) {
  AscendC::CreateVecIndex(tensor_at(dst, count), first, count);
}

// Records of 32 scores and payloads each, by descending score.
__aicore__ inline void sort_groups(__ubuf__ std::uint8_t* records, __ubuf__ float* scores,
                                   __ubuf__ std::uint32_t* payloads, std::uint32_t num_groups) {
  const std::uint32_t count = 32 * num_groups;
  AscendC::Sort32(tensor_at((__ubuf__ float*)records, 2 * count), tensor_at(scores, count),
                  tensor_at(payloads, count), static_cast<std::int32_t>(num_groups));
}
// `num_merges` times: `num_runs` (2, or 4) adjacent sorted runs of `run_items` become one.
__aicore__ inline void merge_runs(__ubuf__ std::uint8_t* dst, __ubuf__ std::uint8_t* src,
                                  std::uint32_t run_items, std::uint32_t num_runs,
                                  std::uint32_t num_merges) {
  const std::uint32_t count = run_items * num_runs * num_merges;
  const auto run_at = [&](std::uint32_t run) {
    const std::uint32_t present = run < num_runs ? run : 0;
    return tensor_at((__ubuf__ float*)(src + present * run_items * kRecordBytes), 2 * run_items);
  };
  const AscendC::MrgSortSrcList<float> runs(run_at(0), run_at(1), run_at(2), run_at(3));
  const auto length = static_cast<std::uint16_t>(run_items);
  const std::uint16_t lengths[4] = {length, length, length, length};
  constexpr bool kStopsEarly = false;
  const AscendC::MrgSort4Info info(lengths, kStopsEarly,
                                   static_cast<std::uint16_t>((1u << num_runs) - 1),
                                   static_cast<std::uint16_t>(num_merges));
  AscendC::MrgSort(tensor_at((__ubuf__ float*)dst, 2 * count), runs, info);
}

#endif

}  // namespace deepselect::ascend::ub
