// Keys of values (SignedKeyRule::key) in arithmetic that cannot overflow.
#pragma once

#include "ascend/kernels/row_paged_2201/marks.h"
#include "ascend/ub_plan.h"

namespace deepselect::ascend::dav2201 {

// `temps`: kNumTemps arrays of `temp_items` each. At the width of values, then widened.
template <ValueType kType>
__aicore__ inline void make_keys(__ubuf__ std::int32_t* keys, __ubuf__ BitsOf<kType>* values,
                                 const SignedKeyRule<kType>& rule, __ubuf__ std::int32_t* temps,
                                 std::uint32_t temp_items, std::uint32_t count) {
  using Rule = SignedKeyRule<kType>;
  using Bits = BitsOf<kType>;
  using Item = std::make_signed_t<Bits>;
  constexpr std::uint32_t kItemsPerTemp = sizeof(std::int32_t) / sizeof(Item);
  constexpr std::uint32_t kWordsPerItem = sizeof(Item) / sizeof(std::uint16_t);
  constexpr auto kNanKey = static_cast<Item>(Rule::kNanKey);
  constexpr auto kMinusNanKey = static_cast<Item>(-Rule::kNanKey);
  __ubuf__ Item* magnitude = (__ubuf__ Item*)temps;
  __ubuf__ Item* negative = (__ubuf__ Item*)(temps + temp_items);  // -1 or 0
  __ubuf__ Item* number = (__ubuf__ Item*)(temps + 2 * temp_items);
  __ubuf__ std::uint16_t* magnitude_words = (__ubuf__ std::uint16_t*)magnitude;
  __ubuf__ std::uint16_t* negative_words = (__ubuf__ std::uint16_t*)negative;
  __ubuf__ std::uint16_t* number_words = (__ubuf__ std::uint16_t*)number;
  const std::uint32_t most = temp_items * kItemsPerTemp;
  for (std::uint32_t first = 0; first < count; first += most) {
    const std::uint32_t part = count - first < most ? count - first : most;
    const std::uint32_t num_words = part * kWordsPerItem;
    __ubuf__ Bits* bits = values + first;
    ub::shift_left((__ubuf__ Bits*)magnitude, bits, Bits(1), part);
    ub::shift_right(negative, (__ubuf__ Item*)bits, Item(Rule::kBits - 1), part);
    simd::barrier<simd::kPipeV>();
    ub::shift_right((__ubuf__ Bits*)magnitude, (__ubuf__ Bits*)magnitude, Bits(1), part);
    if (!rule.largest) ub::bit_not(negative_words, negative_words, num_words);
    simd::barrier<simd::kPipeV>();
    ub::add_scalar(number, magnitude, kMinusNanKey, part);
    simd::barrier<simd::kPipeV>();
    ub::shift_right(number, number, Item(Rule::kBits - 1), part);  // 0: a NaN
    simd::barrier<simd::kPipeV>();
    if (rule.nan_first) {
      ub::bit_and(negative_words, negative_words, number_words, num_words);
    } else {
      ub::bit_not(number_words, number_words, num_words);
      simd::barrier<simd::kPipeV>();
      ub::bit_or(negative_words, negative_words, number_words, num_words);
    }
    simd::barrier<simd::kPipeV>();
    ub::bit_and(negative_words, negative_words, magnitude_words, num_words);
    simd::barrier<simd::kPipeV>();
    ub::subtract(magnitude, magnitude, negative, part);
    simd::barrier<simd::kPipeV>();
    __ubuf__ Item* key = sizeof(Item) == 4 ? (__ubuf__ Item*)(keys + first) : magnitude;
    ub::subtract(key, magnitude, negative, part);
    simd::barrier<simd::kPipeV>();
    // Every NaN had its own magnitude so far.
    if (rule.nan_first) {
      ub::min_scalar(key, key, kNanKey, part);
    } else {
      ub::max_scalar(key, key, kMinusNanKey, part);
    }
    simd::barrier<simd::kPipeV>();
    if constexpr (sizeof(Item) == 2) {
      __ubuf__ float* floats = (__ubuf__ float*)(keys + first);
      ub::to_float(floats, key, part);
      simd::barrier<simd::kPipeV>();
      ub::to_int32(keys + first, floats, part);
      simd::barrier<simd::kPipeV>();
    }
  }
}

}  // namespace deepselect::ascend::dav2201
