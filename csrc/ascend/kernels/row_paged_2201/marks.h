// Comparisons on dav-2201, as bit masks. Exact ones: floats (16-bit values, which are exact as
// floats) as such; int32 only for equality, x >= t where max(x, t) == x. Loose ones: the bits as
// they are, read as half or float.
//
// Every function here and in the files beside it leaves its results ready for the vector unit: it
// ends with a barrier.
#pragma once

#include "ascend/signed_keys.h"
#include "ascend/simd/ub_ops.h"

namespace deepselect::ascend::dav2201 {

using MaskBits = __ubuf__ std::uint8_t*;

__aicore__ inline __ubuf__ std::uint16_t* words_of(MaskBits mask) {
  return (__ubuf__ std::uint16_t*)mask;
}
constexpr std::uint32_t kMaskWordBits = 16;
// Masks are of whole words and compares of whole repeats for every item size.
constexpr std::uint32_t kMarkGranule = 128;

constexpr std::uint32_t round_up(std::uint32_t count, std::uint32_t granule) {
  return (count + granule - 1) / granule * granule;
}

__aicore__ inline void mark_all(MaskBits mask, std::uint32_t count) {
  ub::fill(words_of(mask), std::uint16_t(0xFFFF), count / kMaskWordBits);
  simd::barrier<simd::kPipeV>();
}
__aicore__ inline void mark_none(MaskBits mask, std::uint32_t count) {
  ub::fill(words_of(mask), std::uint16_t(0), count / kMaskWordBits);
  simd::barrier<simd::kPipeV>();
}
__aicore__ inline void mark_both(MaskBits mask, MaskBits other, std::uint32_t count) {
  ub::bit_and(words_of(mask), words_of(mask), words_of(other), count / kMaskWordBits);
  simd::barrier<simd::kPipeV>();
}
__aicore__ inline void mark_either(MaskBits mask, MaskBits other, std::uint32_t count) {
  ub::bit_or(words_of(mask), words_of(mask), words_of(other), count / kMaskWordBits);
  simd::barrier<simd::kPipeV>();
}
__aicore__ inline void mark_others(MaskBits mask, std::uint32_t count) {
  ub::bit_not(words_of(mask), words_of(mask), count / kMaskWordBits);
  simd::barrier<simd::kPipeV>();
}

// `scratch`: int32 items, as many as are compared at a time; unused for floats.
struct Scratch {
  __ubuf__ std::int32_t* items;
  std::uint32_t num_items;
};

// Items in [low, high]; an end that is the type's own needs no work.
struct Ends {
  std::int32_t low;
  std::int32_t high;
  bool has_low;
  bool has_high;
};

__aicore__ inline void mark_between(MaskBits mask, MaskBits spare, __ubuf__ float* items,
                                    const Ends& ends, Scratch, std::uint32_t count) {
  if (ends.has_low) ub::at_least(mask, items, static_cast<float>(ends.low), count);
  if (ends.has_high) {
    ub::at_most(ends.has_low ? spare : mask, items, static_cast<float>(ends.high), count);
  }
  simd::barrier<simd::kPipeV>();
  if (ends.has_low && ends.has_high) mark_both(mask, spare, count);
}

// x is in [low, high] where it equals min(max(x, low), high).
__aicore__ inline void mark_between(MaskBits mask, MaskBits /*spare*/, __ubuf__ std::int32_t* items,
                                    const Ends& ends, Scratch scratch, std::uint32_t count) {
  for (std::uint32_t first = 0; first < count; first += scratch.num_items) {
    const std::uint32_t rest = count - first;
    const std::uint32_t part = rest < scratch.num_items ? rest : scratch.num_items;
    __ubuf__ std::int32_t* const source = items + first;
    if (ends.has_low) {
      ub::max_scalar(scratch.items, source, ends.low, part);
      simd::barrier<simd::kPipeV>();
    }
    if (ends.has_high) {
      ub::min_scalar(scratch.items, ends.has_low ? scratch.items : source, ends.high, part);
      simd::barrier<simd::kPipeV>();
    }
    ub::equal(mask + first / 8, scratch.items, source, part);
    simd::barrier<simd::kPipeV>();
  }
}

__aicore__ inline void mark_at_least(MaskBits mask, __ubuf__ std::int32_t* items,
                                     std::int32_t least, Scratch scratch, std::uint32_t count) {
  mark_between(mask, mask, items, {least, 0, true, false}, scratch, count);
}

template <ValueType kType, class Item>
__aicore__ inline void mark_interval(MaskBits mask, MaskBits spare, __ubuf__ Item* items,
                                     SignedBound::Interval interval, Scratch scratch,
                                     std::uint32_t count) {
  using Rule = SignedKeyRule<kType>;
  const Ends ends{interval.low, interval.high, interval.low > Rule::kMinusZero,
                  interval.high < Rule::kLastNan};
  mark_between(mask, spare, items, ends, scratch, count);
}

// Marks the items that the bound accepts; `count` is a multiple of kMarkGranule.
template <ValueType kType, class Item>
__aicore__ inline void mark_bound(MaskBits mask, MaskBits other, MaskBits spare,
                                  __ubuf__ Item* items, const SignedBound& bound, Scratch scratch,
                                  std::uint32_t count) {
  if (bound.num_intervals == 0) {
    return bound.rejects ? mark_all(mask, count) : mark_none(mask, count);
  }
  mark_interval<kType>(mask, spare, items, bound.intervals[0], scratch, count);
  if (bound.num_intervals == 2) {
    mark_interval<kType>(other, spare, items, bound.intervals[1], scratch, count);
    mark_either(mask, other, count);
  }
  if (bound.rejects) mark_others(mask, count);
}

// Marks the items that compare as worse than the bound's number: no NaN of that reading.
template <class Lane>
__aicore__ inline void mark_worse(MaskBits mask, __ubuf__ Lane* items,
                                  const LooseBound<Lane>& bound, std::uint32_t count) {
  if (bound.is_lower) {
    ub::less_than(mask, items, bound.bits, count);
  } else {
    ub::greater_than(mask, items, bound.bits, count);
  }
  simd::barrier<simd::kPipeV>();
}

// Marks the items that the bound accepts; `count` is a multiple of kMarkGranule.
template <class Lane>
__aicore__ inline void mark_loosely(MaskBits mask, __ubuf__ Lane* items,
                                    const LooseBound<Lane>& bound, std::uint32_t count) {
  if (bound.accepts_all) return mark_all(mask, count);
  mark_worse(mask, items, bound, count);
  mark_others(mask, count);
}

// array[i] = value for first <= i < past, and on to the end of a block.
template <class T>
__aicore__ inline void fill_from(__ubuf__ T* array, std::uint32_t first, std::uint32_t past,
                                 T value) {
  constexpr std::uint32_t kBlockItems = 32 / sizeof(T);
  if (first >= past) return;
  const std::uint32_t start = first / kBlockItems * kBlockItems;
  if (start != first) {
    ub::fill_lanes(array + start, value, first - start, kBlockItems);
    first = start + kBlockItems;
  }
  if (first < past) ub::fill(array + first, value, past - first);
  simd::barrier<simd::kPipeV>();
}

}  // namespace deepselect::ascend::dav2201
