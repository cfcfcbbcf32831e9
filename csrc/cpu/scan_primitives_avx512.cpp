// AVX-512 F, BW, VL and DQ: Skylake-SP and later, Zen 4 and later. Compress is used in its register
// form only: as a store to memory it is microcoded on Zen. Masks are joined to 64 bits as masks,
// not by shifts of integers: GCC 12 may spill a 32-bit mask and reload 64 bits (seen where
// -fsanitize=thread left no register across its calls).
#include <immintrin.h>

#include <type_traits>

#include "cpu/scan_loops.h"

namespace deepselect::cpu {
namespace {

// The marks of a word as positions. Most words of a long row hold few: those are written four at a
// time without a branch per mark, the rest by compress.
inline void list_word_avx512(std::uint64_t word, std::uint32_t first, std::uint32_t* positions) {
  constexpr int kFewMarks = 4;
  if (__builtin_popcountll(word) <= kFewMarks) {
    for (int i = 0; i < kFewMarks; ++i) {
      positions[i] = first + static_cast<std::uint32_t>(_tzcnt_u64(word));
      word = _blsr_u64(word);
    }
    return;
  }
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (int lane = 0; lane < kMarksPerWord; lane += 16) {
    const auto mask = static_cast<std::uint16_t>(word >> lane);
    const __m512i base = _mm512_set1_epi32(static_cast<int>(first) + lane);
    _mm512_storeu_si512(positions,
                        _mm512_maskz_compress_epi32(mask, _mm512_add_epi32(base, lanes)));
    positions += __builtin_popcount(mask);
  }
}

// Stores run up to 15 positions past the kept ones: onto positions already read.
inline void keep_word_avx512(std::uint64_t word, const std::uint32_t* from, std::uint32_t* to) {
  for (int lane = 0; lane < kMarksPerWord; lane += 16) {
    const auto mask = static_cast<std::uint16_t>(word >> lane);
    _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(mask, _mm512_loadu_si512(from + lane)));
    to += __builtin_popcount(mask);
  }
}

// The only horizontal minimum there is: of 8 unsigned lanes. Of 16, each flipped by `flip`.
inline int lowest_unsigned(__m256i vec, int flip) {
  vec = _mm256_xor_si256(vec, _mm256_set1_epi16(static_cast<short>(flip)));
  const __m128i half = _mm_min_epu16(_mm256_castsi256_si128(vec), _mm256_extracti128_si256(vec, 1));
  return _mm_extract_epi16(_mm_minpos_epu16(half), 0);
}

template <typename KeyType>
struct Lanes;

template <>
struct Lanes<std::int16_t> {
  using Key = std::int16_t;
  using Vec = __m512i;
  static constexpr int kLanes = 32;

  static Vec broadcast(Key key) { return _mm512_set1_epi16(key); }
  static Vec min(Vec a, Vec b) { return _mm512_min_epi16(a, b); }
  static Vec max(Vec a, Vec b) { return _mm512_max_epi16(a, b); }
  static Key lowest(Vec vec) {
    const __m256i half =
        _mm256_min_epi16(_mm512_castsi512_si256(vec), _mm512_extracti64x4_epi64(vec, 1));
    return static_cast<Key>(lowest_unsigned(half, 0x8000) ^ 0x8000);
  }
  static Key highest(Vec vec) {
    const __m256i half =
        _mm256_max_epi16(_mm512_castsi512_si256(vec), _mm512_extracti64x4_epi64(vec, 1));
    return static_cast<Key>(lowest_unsigned(half, 0x7FFF) ^ 0x7FFF);
  }
  static __mmask32 is_at_least(Vec vec, Vec bound) { return _mm512_cmpge_epi16_mask(vec, bound); }
  static __mmask32 is_in(Vec vec, Vec first, Vec span) {
    return _mm512_cmple_epu16_mask(_mm512_sub_epi16(vec, first), span);
  }
  static __mmask32 either(__mmask32 a, __mmask32 b) { return _kor_mask32(a, b); }
  template <typename Item, typename Test>
  static std::uint64_t word(const Item* items, const Test& test) {
    const __mmask32 low = test(_mm512_loadu_si512(items));
    const __mmask32 high = test(_mm512_loadu_si512(items + kLanes));
    return _mm512_kunpackd(high, low);
  }
  static Vec signed_magnitude(Vec bits, Vec magnitude, Vec infinity, Vec nan_key) {
    const Vec zero = _mm512_setzero_si512();
    const Vec key = _mm512_mask_sub_epi16(bits, _mm512_movepi16_mask(bits), zero, magnitude);
    return _mm512_mask_mov_epi16(key, _mm512_cmpgt_epi16_mask(magnitude, infinity), nan_key);
  }
};

template <>
struct Lanes<std::int32_t> {
  using Key = std::int32_t;
  using Vec = __m512i;
  static constexpr int kLanes = 16;

  static Vec broadcast(Key key) { return _mm512_set1_epi32(key); }
  static Vec min(Vec a, Vec b) { return _mm512_min_epi32(a, b); }
  static Vec max(Vec a, Vec b) { return _mm512_max_epi32(a, b); }
  static Key lowest(Vec vec) { return _mm512_reduce_min_epi32(vec); }
  static Key highest(Vec vec) { return _mm512_reduce_max_epi32(vec); }
  static __mmask16 is_at_least(Vec vec, Vec bound) { return _mm512_cmpge_epi32_mask(vec, bound); }
  static __mmask16 is_in(Vec vec, Vec first, Vec span) {
    return _mm512_cmple_epu32_mask(_mm512_sub_epi32(vec, first), span);
  }
  static __mmask16 either(__mmask16 a, __mmask16 b) { return _kor_mask16(a, b); }
  template <typename Item, typename Test>
  static std::uint64_t word(const Item* items, const Test& test) {
    const __mmask16 mask0 = test(_mm512_loadu_si512(items));
    const __mmask16 mask1 = test(_mm512_loadu_si512(items + kLanes));
    const __mmask16 mask2 = test(_mm512_loadu_si512(items + 2 * kLanes));
    const __mmask16 mask3 = test(_mm512_loadu_si512(items + 3 * kLanes));
    return _mm512_kunpackd(_mm512_kunpackw(mask3, mask2), _mm512_kunpackw(mask1, mask0));
  }
  static Vec signed_magnitude(Vec bits, Vec magnitude, Vec infinity, Vec nan_key) {
    const Vec zero = _mm512_setzero_si512();
    const Vec key = _mm512_mask_sub_epi32(bits, _mm512_movepi32_mask(bits), zero, magnitude);
    return _mm512_mask_mov_epi32(key, _mm512_cmpgt_epi32_mask(magnitude, infinity), nan_key);
  }
};

template <ValueType kType>
struct Avx512 : Lanes<std::make_signed_t<BitsOf<kType>>> {
  using Bits = BitsOf<kType>;
  using Key = std::make_signed_t<Bits>;
  using Base = Lanes<Key>;
  using Vec = typename Base::Vec;

  struct Rule {
    explicit Rule(KeyRule<Key> rule)
        : nan_key(Base::broadcast(rule.nan_key)), flip(Base::broadcast(rule.flip)) {}
    Vec nan_key;
    Vec flip;
  };

  struct Range {
    explicit Range(BitRange<Bits> range)
        : first(Base::broadcast(static_cast<Key>(range.first))),
          span(Base::broadcast(static_cast<Key>(range.span))) {}
    Vec first;
    Vec span;
  };
  static auto is_in(Vec vec, const Range& range) {
    return Base::is_in(vec, range.first, range.span);
  }

  static Vec load(const void* items) { return _mm512_loadu_si512(items); }
  static void store(Vec vec, Key* keys) { _mm512_storeu_si512(keys, vec); }

  static Vec to_keys(Vec key, const Rule& rule) {
    if constexpr (is_floating(kType)) {
      constexpr Bits kMagnitude = static_cast<Bits>(Bits(~Bits(0)) >> 1);
      const Vec magnitude = _mm512_and_si512(key, Base::broadcast(static_cast<Key>(kMagnitude)));
      const Vec infinity = Base::broadcast(static_cast<Key>(ValueTraits<kType>::kInfinity));
      key = Base::signed_magnitude(key, magnitude, infinity, rule.nan_key);
    }
    return _mm512_xor_si512(key, rule.flip);
  }

  static void list_word(std::uint64_t word, std::uint32_t first, std::uint32_t* positions) {
    list_word_avx512(word, first, positions);
  }
  static void keep_word(std::uint64_t word, const std::uint32_t* from, std::uint32_t* to) {
    keep_word_avx512(word, from, to);
  }
};

constexpr IsaPrimitives kPrimitives = isa_primitives<Avx512>();

}  // namespace

const IsaPrimitives& scan_primitives_avx512() {
  return kPrimitives;
}

}  // namespace deepselect::cpu
