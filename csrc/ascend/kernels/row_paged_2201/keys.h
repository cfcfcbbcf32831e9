// Keys of values (SignedKeyRule::key) in arithmetic that cannot overflow.
#pragma once

#include "ascend/kernels/row_paged_2201/marks.h"
#include "ascend/ub_plan.h"

namespace deepselect::ascend::dav2201 {

// Value bits as int32.
template <class Lane>
__aicore__ inline __ubuf__ std::int32_t* widen(__ubuf__ std::int32_t* target,
                                               __ubuf__ std::int32_t* through,
                                               __ubuf__ Lane* values, std::uint32_t count) {
  if constexpr (sizeof(Lane) == 4) {
    return (__ubuf__ std::int32_t*)values;
  } else {
    ub::to_float((__ubuf__ float*)through, (__ubuf__ std::int16_t*)values, count);
    simd::barrier<simd::kPipeV>();
    ub::to_int32(target, (__ubuf__ float*)through, count);
    simd::barrier<simd::kPipeV>();
    return target;
  }
}

// `temps`: three arrays of `temp_items` each.
template <ValueType kType>
__aicore__ inline void make_keys(__ubuf__ std::int32_t* keys, __ubuf__ BitsOf<kType>* values,
                                 const SignedKeyRule<kType>& rule, __ubuf__ std::int32_t* temps,
                                 std::uint32_t temp_items, std::uint32_t count) {
  using Rule = SignedKeyRule<kType>;
  using U32 = std::uint32_t;
  constexpr std::int32_t kSignBits = 32 - Rule::kBits + 1;
  __ubuf__ std::int32_t* magnitude = temps + temp_items;
  __ubuf__ std::int32_t* other = temps + 2 * temp_items;
  for (U32 first = 0; first < count; first += temp_items) {
    const U32 part = count - first < temp_items ? count - first : temp_items;
    __ubuf__ std::int32_t* key = keys + first;
    __ubuf__ std::int32_t* bits = widen(temps, other, values + first, part);
    __ubuf__ U32* unsigned_magnitude = (__ubuf__ U32*)magnitude;
    ub::shift_left(unsigned_magnitude, (__ubuf__ U32*)bits, U32(kSignBits), part);
    ub::shift_right(other, bits, std::int32_t(31), part);  // -1 where negative
    simd::barrier<simd::kPipeV>();
    ub::shift_right(unsigned_magnitude, unsigned_magnitude, U32(kSignBits), part);
    simd::barrier<simd::kPipeV>();
    ub::bit_and((__ubuf__ std::uint16_t*)other, (__ubuf__ std::uint16_t*)other,
                (__ubuf__ std::uint16_t*)magnitude, 2 * part);
    simd::barrier<simd::kPipeV>();
    ub::subtract(key, magnitude, other, part);
    simd::barrier<simd::kPipeV>();
    ub::subtract(key, key, other, part);
    // Of NaN 1, of others 0; then +-kNanKey: what the key is at least, or at most.
    ub::add_scalar(magnitude, magnitude, -Rule::kInfinity, part);
    simd::barrier<simd::kPipeV>();
    if (!rule.largest) ub::multiply_scalar(key, key, -1, part);
    ub::max_scalar(magnitude, magnitude, 0, part);
    simd::barrier<simd::kPipeV>();
    ub::min_scalar(magnitude, magnitude, 1, part);
    simd::barrier<simd::kPipeV>();
    ub::multiply_scalar(magnitude, magnitude, 2, part);
    simd::barrier<simd::kPipeV>();
    ub::add_scalar(magnitude, magnitude, -1, part);
    simd::barrier<simd::kPipeV>();
    ub::multiply_scalar(magnitude, magnitude, rule.nan_first ? Rule::kNanKey : -Rule::kNanKey,
                        part);
    simd::barrier<simd::kPipeV>();
    if (rule.nan_first) {
      ub::maximum(key, key, magnitude, part);
      simd::barrier<simd::kPipeV>();
      ub::min_scalar(key, key, Rule::kNanKey, part);  // NaN had its own magnitude so far
    } else {
      ub::minimum(key, key, magnitude, part);
      simd::barrier<simd::kPipeV>();
      ub::max_scalar(key, key, -Rule::kNanKey, part);
    }
    simd::barrier<simd::kPipeV>();
  }
}

}  // namespace deepselect::ascend::dav2201
