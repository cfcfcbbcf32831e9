// The vector functions of the epilogue: positions back from their inverted words, index arithmetic
// in 32 and 64 bits, pads.
#pragma once

#include "ascend/filter_bound.h"
#include "ascend/simd/simd.h"

namespace deepselect::ascend {

// Positions from candidates; whole registers are written.
__simd_vf__ inline void restore_positions_16(__ubuf__ std::uint32_t* positions,
                                             __ubuf__ std::uint16_t* inverted_high,
                                             __ubuf__ std::uint16_t* inverted_low,
                                             std::uint32_t count) {
  using namespace simd;
  using U16 = std::uint16_t;
  const std::uint16_t num_vectors = vectors_for<U16>(count);
  const Mask all = all_lanes<U16>();
  Register<U16> ones, high, low, first, second;
  fill(ones, U16(0xFFFF));
  for (std::uint16_t i = 0; i < num_vectors; ++i) {
    load(high, inverted_high + i * kLanes<U16>);
    load(low, inverted_low + i * kLanes<U16>);
    bit_xor(high, high, ones, all);
    bit_xor(low, low, ones, all);
    interleave(first, second, low, high);
    __ubuf__ U16* target = (__ubuf__ U16*)(positions + i * kLanes<U16>);
    store(target, first, all);
    store(target + kLanes<U16>, second, all);
  }
}

__simd_vf__ inline void restore_positions_32(__ubuf__ std::uint32_t* positions,
                                             __ubuf__ std::uint32_t* inverted,
                                             std::uint32_t count) {
  using namespace simd;
  using U32 = std::uint32_t;
  const std::uint16_t num_vectors = vectors_for<U32>(count);
  const Mask all = all_lanes<U32>();
  Register<U32> ones, word;
  fill(ones, U32(0xFFFFFFFF));
  for (std::uint16_t i = 0; i < num_vectors; ++i) {
    load(word, inverted + i * kLanes<U32>);
    bit_xor(word, word, ones, all);
    store(positions + i * kLanes<U32>, word, all);
  }
}

// The sort's 32-bit source indices at the width of 16-bit values.
__simd_vf__ inline void narrow_indices(__ubuf__ std::uint16_t* dst, __ubuf__ std::uint32_t* src,
                                       std::uint32_t count) {
  using namespace simd;
  using U32 = std::uint32_t;
  const std::uint16_t num_vectors = vectors_for<U32>(count);
  Register<U32> wide;
  Register<std::uint16_t> narrowed;
  std::uint32_t half = kLanes<U32>;
  const Mask low_half = take_lanes<std::uint16_t>(half);
  for (std::uint16_t i = 0; i < num_vectors; ++i) {
    load(wide, src + i * kLanes<U32>);
    narrow(narrowed, wide);
    store(dst + i * kLanes<U32>, narrowed, low_half);
  }
}

// dst = the first `count` items of src, then pads; `num_items` in all. May be in place.
template <class Lane>
__simd_vf__ inline void pad_items(__ubuf__ Lane* dst, __ubuf__ Lane* src, Lane pad,
                                  std::uint32_t count, std::uint32_t num_items) {
  using namespace simd;
  const std::uint16_t num_vectors = vectors_for<Lane>(num_items);
  const Mask all = all_lanes<Lane>();
  Register<Lane> item, pads;
  fill(pads, pad);
  for (std::uint16_t i = 0; i < num_vectors; ++i) {
    const Mask valid = take_lanes<Lane>(count);
    load(item, src + i * kLanes<Lane>);
    select(item, item, pads, valid);
    store(dst + i * kLanes<Lane>, item, all);
  }
}

// indices = position + offset in 32 bits (which wrap as the 64-bit sum does), then pads.
__simd_vf__ inline void offset_indices_32(__ubuf__ std::uint32_t* indices,
                                          __ubuf__ std::uint32_t* positions, std::uint32_t offset,
                                          std::uint32_t pad, std::uint32_t count,
                                          std::uint32_t num_items) {
  using namespace simd;
  using U32 = std::uint32_t;
  const std::uint16_t num_vectors = vectors_for<U32>(num_items);
  const Mask all = all_lanes<U32>();
  Register<U32> index, offsets, pads;
  fill(offsets, offset);
  fill(pads, pad);
  for (std::uint16_t i = 0; i < num_vectors; ++i) {
    const Mask valid = take_lanes<U32>(count);
    load(index, positions + i * kLanes<U32>);
    add(index, index, offsets, all);
    select(index, index, pads, valid);
    store(indices + i * kLanes<U32>, index, all);
  }
}

// The same in 64 bits, as pairs of a low and a high word.
__simd_vf__ inline void offset_indices_64(__ubuf__ std::uint32_t* indices,
                                          __ubuf__ std::uint32_t* positions,
                                          std::uint32_t offset_low, std::uint32_t offset_high,
                                          std::uint32_t pad_low, std::uint32_t pad_high,
                                          std::uint32_t count, std::uint32_t num_items) {
  using namespace simd;
  using U32 = std::uint32_t;
  const std::uint16_t num_vectors = vectors_for<U32>(num_items);
  const Mask all = all_lanes<U32>();
  Register<U32> low, high, low_offsets, high_offsets, high_offsets_and_carry, low_pads, high_pads;
  Register<U32> first, second;
  Mask carries;
  fill(low_offsets, offset_low);
  fill(high_offsets, offset_high);
  fill(high_offsets_and_carry, offset_high + 1);
  fill(low_pads, pad_low);
  fill(high_pads, pad_high);
  for (std::uint16_t i = 0; i < num_vectors; ++i) {
    const Mask valid = take_lanes<U32>(count);
    load(low, positions + i * kLanes<U32>);
    add(low, low, low_offsets, all);
    less(carries, low, low_offsets, valid);
    select(high, high_offsets_and_carry, high_offsets, carries);
    select(low, low, low_pads, valid);
    select(high, high, high_pads, valid);
    interleave(first, second, low, high);
    store(indices + 2 * i * kLanes<U32>, first, all);
    store(indices + (2 * i + 1) * kLanes<U32>, second, all);
  }
}

// pages[i] = chunk[positions[i] >> log2_page_size - first_page] where that lies in the chunk of
// `chunk_pages` table entries; other items stay.
__simd_vf__ inline void gather_pages(__ubuf__ std::uint32_t* pages,
                                     __ubuf__ std::uint32_t* positions,
                                     __ubuf__ std::uint32_t* chunk, std::uint32_t first_page,
                                     std::uint32_t chunk_pages, std::int16_t log2_page_size,
                                     std::uint32_t count) {
  using namespace simd;
  using U32 = std::uint32_t;
  const std::uint16_t num_vectors = vectors_for<U32>(count);
  Register<U32> page, entry, chunk_ends;
  Mask inside;
  fill(chunk_ends, chunk_pages);
  for (std::uint16_t i = 0; i < num_vectors; ++i) {
    const Mask active = take_lanes<U32>(count);
    load(page, positions + i * kLanes<U32>);
    shift_right(page, page, log2_page_size, active);
    add_scalar(page, page, static_cast<U32>(0 - first_page), active);
    less(inside, page, chunk_ends, active);
    gather(entry, chunk, page, inside);
    store(pages + i * kLanes<U32>, entry, inside);
  }
}

// indices = page << log2_page_size | position within the page, then pads. Pages are signed; of a
// 64-bit index the high word is what the shift pushes out. `high_shift` is 32 - log2_page_size, at
// most 31: a page of size 1 pushes out its sign.
__simd_vf__ inline void page_indices_32(__ubuf__ std::uint32_t* indices,
                                        __ubuf__ std::uint32_t* pages,
                                        __ubuf__ std::uint32_t* positions,
                                        std::int16_t log2_page_size, std::uint32_t pad,
                                        std::uint32_t count, std::uint32_t num_items) {
  using namespace simd;
  using U32 = std::uint32_t;
  const std::uint16_t num_vectors = vectors_for<U32>(num_items);
  const Mask all = all_lanes<U32>();
  Register<U32> index, in_page, in_page_bits, pads;
  fill(in_page_bits, (U32(1) << log2_page_size) - 1);
  fill(pads, pad);
  for (std::uint16_t i = 0; i < num_vectors; ++i) {
    const Mask valid = take_lanes<U32>(count);
    load(index, pages + i * kLanes<U32>);
    load(in_page, positions + i * kLanes<U32>);
    shift_left(index, index, log2_page_size, all);
    bit_and(in_page, in_page, in_page_bits, all);
    bit_or(index, index, in_page, all);
    select(index, index, pads, valid);
    store(indices + i * kLanes<U32>, index, all);
  }
}

__simd_vf__ inline void page_indices_64(__ubuf__ std::uint32_t* indices,
                                        __ubuf__ std::uint32_t* pages,
                                        __ubuf__ std::uint32_t* positions,
                                        std::int16_t log2_page_size, std::int16_t high_shift,
                                        std::uint32_t pad_low, std::uint32_t pad_high,
                                        std::uint32_t count, std::uint32_t num_items) {
  using namespace simd;
  using U32 = std::uint32_t;
  const std::uint16_t num_vectors = vectors_for<U32>(num_items);
  const Mask all = all_lanes<U32>();
  Register<U32> low, high, in_page, in_page_bits, low_pads, high_pads, first, second;
  fill(in_page_bits, (U32(1) << log2_page_size) - 1);
  fill(low_pads, pad_low);
  fill(high_pads, pad_high);
  for (std::uint16_t i = 0; i < num_vectors; ++i) {
    const Mask valid = take_lanes<U32>(count);
    load(low, pages + i * kLanes<U32>);
    load(in_page, positions + i * kLanes<U32>);
    shift_right(view_as<std::int32_t>(high), view_as<std::int32_t>(low), high_shift, all);
    shift_left(low, low, log2_page_size, all);
    bit_and(in_page, in_page, in_page_bits, all);
    bit_or(low, low, in_page, all);
    select(low, low, low_pads, valid);
    select(high, high, high_pads, valid);
    interleave(first, second, low, high);
    store(indices + 2 * i * kLanes<U32>, first, all);
    store(indices + (2 * i + 1) * kLanes<U32>, second, all);
  }
}

// How many of the values are NaN.
template <ValueType kType>
__simd_vf__ inline void count_nans(__ubuf__ std::uint16_t* num_nans, __ubuf__ BitsOf<kType>* values,
                                   std::uint32_t count) {
  using namespace simd;
  using Lane = BitsOf<kType>;
  using Rule = KeyRule<kType>;
  const std::uint16_t num_vectors = vectors_for<Lane>(count);
  const Mask all = all_lanes<Lane>();
  Register<Lane> magnitude_bits, infinity, ones, zero, value, is_nan_lane, counts;
  Mask nans;
  fill(magnitude_bits, Rule::kMagnitude);
  fill(infinity, Rule::kInfinity);
  fill(ones, Lane(1));
  fill(zero, Lane(0));
  fill(counts, Lane(0));
  for (std::uint16_t i = 0; i < num_vectors; ++i) {
    const Mask active = take_lanes<Lane>(count);
    load(value, values + i * kLanes<Lane>);
    bit_and(value, value, magnitude_bits, all);
    greater(nans, value, infinity, active);
    select(is_nan_lane, ones, zero, nans);
    add(counts, counts, is_nan_lane, all);
  }
  // 32-bit lanes hold small numbers: their upper halves are zeros that add nothing.
  Register<std::uint32_t> total;
  sum(total, view_as<std::uint16_t>(counts), all_lanes<std::uint16_t>());
  store_first(num_nans, view_as<std::uint16_t>(total));
}

}  // namespace deepselect::ascend
