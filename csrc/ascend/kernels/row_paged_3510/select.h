// The vector functions of one selection: the k-th best of the candidates by radix select on byte
// histograms, and the compaction to the k best.
#pragma once

#include "ascend/filter_bound.h"
#include "ascend/simd/simd.h"

namespace deepselect::ascend {

// Keys of values (KeyRule::key), or their complements, which sort the other way.
template <ValueType kType, bool kInverted>
__simd_vf__ inline void make_keys(__ubuf__ BitsOf<kType>* keys, __ubuf__ BitsOf<kType>* values,
                                  BitsOf<kType> flip, BitsOf<kType> nan_key, std::uint32_t count) {
  using namespace simd;
  using Lane = BitsOf<kType>;
  using Rule = KeyRule<kType>;
  using Signed = std::make_signed_t<Lane>;
  const std::uint16_t num_vectors = vectors_for<Lane>(count);
  const Mask all = all_lanes<Lane>();
  Register<Lane> of_negative, of_positive, nan_keys, all_bits, sign_bit, magnitude_bits, infinity;
  Register<Lane> zero, value, key, magnitude;
  Mask is_nan_lane, is_zero_lane, is_negative_lane;
  // What the bits are xor-ed with.
  fill(of_negative, flip == 0 ? Rule::kMax : Lane(0));
  fill(of_positive, flip == 0 ? Rule::kSign : Rule::kMagnitude);
  fill(nan_keys, nan_key);
  fill(all_bits, Rule::kMax);
  fill(sign_bit, Rule::kSign);
  fill(magnitude_bits, Rule::kMagnitude);
  fill(infinity, Rule::kInfinity);
  fill(zero, Lane(0));
  for (std::uint16_t i = 0; i < num_vectors; ++i) {
    const Mask active = take_lanes<Lane>(count);
    load(value, values + i * kLanes<Lane>);
    bit_and(magnitude, value, magnitude_bits, all);
    greater(is_nan_lane, magnitude, infinity, active);
    equal(is_zero_lane, magnitude, zero, active);
    less(is_negative_lane, view_as<Signed>(value), view_as<Signed>(zero), active);
    select(key, of_negative, of_positive, is_negative_lane);
    bit_xor(key, key, value, all);
    select(key, sign_bit, key, is_zero_lane);  // the key of both zeros
    select(key, nan_keys, key, is_nan_lane);
    if constexpr (kInverted) bit_xor(key, key, all_bits, all);
    store(keys + i * kLanes<Lane>, key, all);
  }
}

// From the cumulative histogram of a set of bytes (low: up to 0..127, high: up to 128..255): the
// byte of the want-th greatest, how many are above it, how many equal it; each in every lane.
__simd_callee__ inline void find_bin(simd::Register<std::uint16_t>& low,
                                     simd::Register<std::uint16_t>& high,
                                     simd::Register<std::uint16_t>& want,
                                     simd::Register<std::uint16_t>& bin,
                                     simd::Register<std::uint16_t>& num_above,
                                     simd::Register<std::uint16_t>& num_equal) {
  using namespace simd;
  using U16 = std::uint16_t;
  const Mask all = all_lanes<U16>();
  const Mask all_wide = all_lanes<std::uint32_t>();
  Register<U16> total, limit, ones, extreme, other;
  Register<std::uint32_t> num_low, num_high;
  Mask below_low, below_high, reaches;
  broadcast_last(total, high, all);
  subtract(limit, total, want, all);
  less_equal(below_low, low, limit, all);
  less_equal(below_high, high, limit, all);

  // The cumulative counts grow: the bin is how many of them stay within the limit.
  fill(ones, U16(1));
  sum(num_low, ones, below_low);
  sum(num_high, ones, below_high);
  add(num_low, num_low, num_high, all_wide);
  broadcast_first(bin, view_as<U16>(num_low), all);

  mask_not(reaches, below_low, all);
  reduce_minimum(extreme, low, reaches);
  mask_not(reaches, below_high, all);
  reduce_minimum(other, high, reaches);
  minimum(extreme, extreme, other, all);
  broadcast_first(extreme, extreme, all);  // elements up to the bin
  subtract(num_above, total, extreme, all);

  reduce_maximum(num_equal, low, below_low);
  reduce_maximum(other, high, below_high);
  maximum(other, num_equal, other, all);
  broadcast_first(other, other, all);  // elements below the bin
  subtract(num_equal, extreme, other, all);
}

// The bytes of a 16-bit register whose lanes hold one byte value each, as 256 equal bytes.
__simd_callee__ inline void spread_byte(simd::Register<std::uint16_t>& dst,
                                        simd::Register<std::uint16_t>& byte) {
  using namespace simd;
  const Mask all = all_lanes<std::uint16_t>();
  shift_left(dst, byte, 8, all);
  bit_or(dst, dst, byte, all);
}

// Where a selection's pivot is stored: 16-bit items of the table field kPivot.
struct PivotField {
  static constexpr int kLowWord = 0;
  static constexpr int kNumAbove = 1;
  static constexpr int kNumEqual = 2;
  static constexpr int kHighWord = 3;  // of 32-bit lanes
};

// The want-th greatest of words[0, count), 1 <= want <= count.
__simd_vf__ inline void find_word(__ubuf__ std::uint16_t* words, std::uint32_t count,
                                  std::uint16_t want, __ubuf__ std::uint16_t* pivot) {
  using namespace simd;
  using U8 = std::uint8_t;
  using U16 = std::uint16_t;
  constexpr int kChunk = kLanes<U8>;
  const auto num_chunks = static_cast<std::uint16_t>((count + kChunk - 1) / kChunk);
  const Mask all = all_lanes<U16>();
  Register<U8> low_bytes, high_bytes;
  Register<U16> low, high, wanted, bin, above, num_above, num_equal, high_bin, wide_bin;

  fill(low, U16(0));
  fill(high, U16(0));
  fill(wanted, want);
  std::uint32_t rest = count;
  for (std::uint16_t i = 0; i < num_chunks; ++i) {
    const Mask active = take_lanes<U8>(rest);
    load_split_bytes(low_bytes, high_bytes, (__ubuf__ U8*)(words + i * kChunk));
    count_up_to_low(low, high_bytes, active);
    count_up_to_high(high, high_bytes, active);
  }
  find_bin(low, high, wanted, high_bin, num_above, num_equal);
  subtract(wanted, wanted, num_above, all);
  spread_byte(wide_bin, high_bin);

  fill(low, U16(0));
  fill(high, U16(0));
  rest = count;
  for (std::uint16_t i = 0; i < num_chunks; ++i) {
    Mask active = take_lanes<U8>(rest);
    load_split_bytes(low_bytes, high_bytes, (__ubuf__ U8*)(words + i * kChunk));
    equal(active, high_bytes, view_as<U8>(wide_bin), active);
    count_up_to_low(low, low_bytes, active);
    count_up_to_high(high, low_bytes, active);
  }
  find_bin(low, high, wanted, bin, above, num_equal);
  add(num_above, num_above, above, all);
  shift_left(high_bin, high_bin, 8, all);
  bit_or(bin, bin, high_bin, all);
  store_first(pivot + PivotField::kLowWord, bin);
  store_first(pivot + PivotField::kNumAbove, num_above);
  store_first(pivot + PivotField::kNumEqual, num_equal);
}

// Adds to the histogram byte kLevel (3: the highest) of the words whose bytes above it equal those
// of `prefix3`, `prefix2`, `prefix1`.
template <int kLevel>
__simd_callee__ inline void count_level(__ubuf__ std::uint32_t* words, std::uint32_t count,
                                        simd::Register<std::uint16_t>& prefix3,
                                        simd::Register<std::uint16_t>& prefix2,
                                        simd::Register<std::uint16_t>& prefix1,
                                        simd::Register<std::uint16_t>& low,
                                        simd::Register<std::uint16_t>& high) {
  using namespace simd;
  using U8 = std::uint8_t;
  constexpr int kChunk = kLanes<U8>;
  const auto num_chunks = static_cast<std::uint16_t>((count + kChunk - 1) / kChunk);
  Register<U8> even0, odd0, even1, odd1, byte0, byte1, byte2, byte3;
  fill(low, std::uint16_t(0));
  fill(high, std::uint16_t(0));
  for (std::uint16_t i = 0; i < num_chunks; ++i) {
    Mask active = take_lanes<U8>(count);
    load_split_bytes(even0, odd0, (__ubuf__ U8*)(words + i * kChunk));
    load_split_bytes(even1, odd1, (__ubuf__ U8*)(words + i * kChunk + kChunk / 2));
    deinterleave(byte1, byte3, odd0, odd1);
    if constexpr (kLevel < 3) deinterleave(byte0, byte2, even0, even1);
    if constexpr (kLevel < 3) equal(active, byte3, view_as<U8>(prefix3), active);
    if constexpr (kLevel < 2) equal(active, byte2, view_as<U8>(prefix2), active);
    if constexpr (kLevel < 1) equal(active, byte1, view_as<U8>(prefix1), active);
    Register<U8>& byte =
        kLevel == 3 ? byte3 : (kLevel == 2 ? byte2 : (kLevel == 1 ? byte1 : byte0));
    count_up_to_low(low, byte, active);
    count_up_to_high(high, byte, active);
  }
}

__simd_vf__ inline void find_word(__ubuf__ std::uint32_t* words, std::uint32_t count,
                                  std::uint16_t want, __ubuf__ std::uint16_t* pivot) {
  using namespace simd;
  using U16 = std::uint16_t;
  const Mask all = all_lanes<U16>();
  Register<U16> low, high, wanted, above, num_above, num_equal;
  Register<U16> bin3, bin2, bin1, bin0, prefix3, prefix2, prefix1;
  fill(wanted, want);
  fill(prefix3, U16(0));
  fill(prefix2, U16(0));
  fill(prefix1, U16(0));

  count_level<3>(words, count, prefix3, prefix2, prefix1, low, high);
  find_bin(low, high, wanted, bin3, num_above, num_equal);
  subtract(wanted, wanted, num_above, all);
  spread_byte(prefix3, bin3);

  count_level<2>(words, count, prefix3, prefix2, prefix1, low, high);
  find_bin(low, high, wanted, bin2, above, num_equal);
  subtract(wanted, wanted, above, all);
  add(num_above, num_above, above, all);
  spread_byte(prefix2, bin2);

  count_level<1>(words, count, prefix3, prefix2, prefix1, low, high);
  find_bin(low, high, wanted, bin1, above, num_equal);
  subtract(wanted, wanted, above, all);
  add(num_above, num_above, above, all);
  spread_byte(prefix1, bin1);

  count_level<0>(words, count, prefix3, prefix2, prefix1, low, high);
  find_bin(low, high, wanted, bin0, above, num_equal);
  add(num_above, num_above, above, all);

  shift_left(bin3, bin3, 8, all);
  bit_or(bin3, bin3, bin2, all);
  shift_left(bin1, bin1, 8, all);
  bit_or(bin1, bin1, bin0, all);
  store_first(pivot + PivotField::kLowWord, bin1);
  store_first(pivot + PivotField::kNumAbove, num_above);
  store_first(pivot + PivotField::kNumEqual, num_equal);
  store_first(pivot + PivotField::kHighWord, bin3);
}

// words = next where first equals `pivot` (and, in the second form, second equals `second_pivot`),
// else 0. The zeros cannot be told from a tie whose next word is 0, and need not: they only come
// last, and positions make every tie distinct.
template <class Lane>
__simd_vf__ inline void tie_words(__ubuf__ Lane* words, __ubuf__ Lane* first, Lane pivot,
                                  __ubuf__ Lane* next, std::uint32_t count) {
  using namespace simd;
  const std::uint16_t num_vectors = vectors_for<Lane>(count);
  const Mask all = all_lanes<Lane>();
  Register<Lane> pivots, zero, word, key;
  Mask tie;
  fill(pivots, pivot);
  fill(zero, Lane(0));
  for (std::uint16_t i = 0; i < num_vectors; ++i) {
    const Mask active = take_lanes<Lane>(count);
    load(key, first + i * kLanes<Lane>);
    load(word, next + i * kLanes<Lane>);
    equal(tie, key, pivots, active);
    select(word, word, zero, tie);
    store(words + i * kLanes<Lane>, word, all);
  }
}

template <class Lane>
__simd_vf__ inline void tie_words_after_two(__ubuf__ Lane* words, __ubuf__ Lane* first, Lane pivot,
                                            __ubuf__ Lane* second, Lane second_pivot,
                                            __ubuf__ Lane* next, std::uint32_t count) {
  using namespace simd;
  const std::uint16_t num_vectors = vectors_for<Lane>(count);
  const Mask all = all_lanes<Lane>();
  Register<Lane> pivots, second_pivots, zero, word, key;
  Mask tie;
  fill(pivots, pivot);
  fill(second_pivots, second_pivot);
  fill(zero, Lane(0));
  for (std::uint16_t i = 0; i < num_vectors; ++i) {
    const Mask active = take_lanes<Lane>(count);
    load(key, first + i * kLanes<Lane>);
    equal(tie, key, pivots, active);
    load(key, second + i * kLanes<Lane>);
    equal(tie, key, second_pivots, tie);
    load(word, next + i * kLanes<Lane>);
    select(word, word, zero, tie);
    store(words + i * kLanes<Lane>, word, all);
  }
}

// Indices, ascending, of the candidates at or above the pivot: key, then the words of the position.
__simd_vf__ inline void keep_indices_16(__ubuf__ std::uint16_t* kept, __ubuf__ std::uint16_t* keys,
                                        __ubuf__ std::uint16_t* position_high,
                                        __ubuf__ std::uint16_t* position_low, std::uint16_t key,
                                        std::uint16_t high, std::uint16_t low,
                                        std::uint32_t count) {
  using namespace simd;
  using U16 = std::uint16_t;
  const std::uint16_t num_vectors = vectors_for<U16>(count);
  const Mask all = all_lanes<U16>();
  Register<U16> key_pivot, high_pivot, low_pivot, word, index;
  Mask better, tie, tie_better;
  Stream stream;
  fill(key_pivot, key);
  fill(high_pivot, high);
  fill(low_pivot, low);
  count_up<U16>(index, 0);
  stream_begin();
  for (std::uint16_t i = 0; i < num_vectors; ++i) {
    const Mask active = take_lanes<U16>(count);
    load(word, keys + i * kLanes<U16>);
    greater(better, word, key_pivot, active);
    equal(tie, word, key_pivot, active);
    load(word, position_high + i * kLanes<U16>);
    greater(tie_better, word, high_pivot, tie);
    mask_or(better, better, tie_better, active);
    equal(tie, word, high_pivot, tie);
    load(word, position_low + i * kLanes<U16>);
    greater_equal(tie_better, word, low_pivot, tie);
    mask_or(better, better, tie_better, active);
    stream_append(kept, stream, index, better);
    add_scalar(index, index, U16(kLanes<U16>), all);
  }
  stream_end(kept, stream);
}

__simd_vf__ inline void keep_indices_32(__ubuf__ std::uint32_t* kept, __ubuf__ std::uint32_t* keys,
                                        __ubuf__ std::uint32_t* positions, std::uint32_t key,
                                        std::uint32_t position, std::uint32_t count) {
  using namespace simd;
  using U32 = std::uint32_t;
  const std::uint16_t num_vectors = vectors_for<U32>(count);
  const Mask all = all_lanes<U32>();
  Register<U32> key_pivot, position_pivot, word, index;
  Mask better, tie;
  Stream stream;
  fill(key_pivot, key);
  fill(position_pivot, position);
  count_up<U32>(index, 0);
  stream_begin();
  for (std::uint16_t i = 0; i < num_vectors; ++i) {
    const Mask active = take_lanes<U32>(count);
    load(word, keys + i * kLanes<U32>);
    greater(better, word, key_pivot, active);
    equal(tie, word, key_pivot, active);
    load(word, positions + i * kLanes<U32>);
    greater_equal(tie, word, position_pivot, tie);
    mask_or(better, better, tie, active);
    stream_append(kept, stream, index, better);
    add_scalar(index, index, U32(kLanes<U32>), all);
  }
  stream_end(kept, stream);
}

// dst[i] = src[indices[i]] for i < count.
template <class Lane>
__simd_vf__ inline void gather_items(__ubuf__ Lane* dst, __ubuf__ Lane* src, __ubuf__ Lane* indices,
                                     std::uint32_t count) {
  using namespace simd;
  const std::uint16_t num_vectors = vectors_for<Lane>(count);
  Register<Lane> index, item;
  for (std::uint16_t i = 0; i < num_vectors; ++i) {
    const Mask active = take_lanes<Lane>(count);
    load(index, indices + i * kLanes<Lane>);
    gather(item, src, index, active);
    store(dst + i * kLanes<Lane>, item, active);
  }
}

// Moves the items at `indices`, which ascend, of the arrays to their fronts; `third` is
// for 16-bit lanes only. In place: a register is stored below everything that later registers read.
template <class Lane>
__simd_vf__ inline void compact(__ubuf__ Lane* first, __ubuf__ Lane* second, __ubuf__ Lane* third,
                                __ubuf__ Lane* indices, std::uint32_t count) {
  using namespace simd;
  const std::uint16_t num_vectors = vectors_for<Lane>(count);
  Register<Lane> index, first_item, second_item, third_item;
  for (std::uint16_t i = 0; i < num_vectors; ++i) {
    const Mask active = take_lanes<Lane>(count);
    load(index, indices + i * kLanes<Lane>);
    gather(first_item, first, index, active);
    gather(second_item, second, index, active);
    if constexpr (sizeof(Lane) == 2) gather(third_item, third, index, active);
    store(first + i * kLanes<Lane>, first_item, active);
    store(second + i * kLanes<Lane>, second_item, active);
    if constexpr (sizeof(Lane) == 2) store(third + i * kLanes<Lane>, third_item, active);
  }
}

}  // namespace deepselect::ascend
