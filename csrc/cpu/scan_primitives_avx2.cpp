// AVX2 with BMI and POPCNT: Haswell and later, Zen and later.
#include <immintrin.h>

#include <limits>
#include <type_traits>

#include "cpu/scan_loops.h"

namespace deepselect::cpu {
namespace {

// For every byte, the numbers of its set bits, ascending: what compress is made of here.
struct BitNumbers {
  std::uint8_t of[256][8];
};

constexpr BitNumbers bit_numbers() {
  BitNumbers table{};
  for (int byte = 0; byte < 256; ++byte) {
    int count = 0;
    for (int bit = 0; bit < 8; ++bit) {
      if ((byte >> bit) & 1) table.of[byte][count++] = static_cast<std::uint8_t>(bit);
    }
  }
  return table;
}

constexpr BitNumbers kBitNumbers = bit_numbers();

// As its AVX-512 counterpart: few marks without a branch per mark, many by table.
inline void list_word_avx2(std::uint64_t word, std::uint32_t first, std::uint32_t* positions) {
  constexpr int kFewMarks = 4;
  if (__builtin_popcountll(word) <= kFewMarks) {
    for (int i = 0; i < kFewMarks; ++i) {
      positions[i] = first + static_cast<std::uint32_t>(_tzcnt_u64(word));
      word = _blsr_u64(word);
    }
    return;
  }
  for (int lane = 0; lane < kMarksPerWord; lane += 8) {
    const auto byte = static_cast<std::uint8_t>(word >> lane);
    const __m128i numbers = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kBitNumbers.of[byte]));
    const __m256i base = _mm256_set1_epi32(static_cast<int>(first) + lane);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(positions),
                        _mm256_add_epi32(base, _mm256_cvtepu8_epi32(numbers)));
    positions += __builtin_popcount(byte);
  }
}

// Stores run up to 7 positions past the kept ones: onto positions already read.
inline void keep_word_avx2(std::uint64_t word, const std::uint32_t* from, std::uint32_t* to) {
  for (int lane = 0; lane < kMarksPerWord; lane += 8) {
    const auto byte = static_cast<std::uint8_t>(word >> lane);
    const __m256i numbers = _mm256_cvtepu8_epi32(
        _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kBitNumbers.of[byte])));
    const __m256i kept = _mm256_permutevar8x32_epi32(
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + lane)), numbers);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), kept);
    to += __builtin_popcount(byte);
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

// Two registers, so that one movemask serves 32 lanes.
template <>
struct Lanes<std::int16_t> {
  using Key = std::int16_t;
  struct Vec {
    __m256i low;
    __m256i high;
  };
  static constexpr int kLanes = 32;

  static __m256i broadcast_register(Key key) { return _mm256_set1_epi16(key); }
  static Vec broadcast(Key key) { return {broadcast_register(key), broadcast_register(key)}; }
  static Vec min(Vec a, Vec b) {
    return {_mm256_min_epi16(a.low, b.low), _mm256_min_epi16(a.high, b.high)};
  }
  static Vec max(Vec a, Vec b) {
    return {_mm256_max_epi16(a.low, b.low), _mm256_max_epi16(a.high, b.high)};
  }
  static Key lowest(Vec vec) {
    return static_cast<Key>(lowest_unsigned(_mm256_min_epi16(vec.low, vec.high), 0x8000) ^ 0x8000);
  }
  static Key highest(Vec vec) {
    return static_cast<Key>(lowest_unsigned(_mm256_max_epi16(vec.low, vec.high), 0x7FFF) ^ 0x7FFF);
  }
  static Vec load(const void* items) {
    const auto* registers = static_cast<const __m256i*>(items);
    return {_mm256_loadu_si256(registers), _mm256_loadu_si256(registers + 1)};
  }
  static void store(Vec vec, Key* keys) {
    auto* registers = reinterpret_cast<__m256i*>(keys);
    _mm256_storeu_si256(registers, vec.low);
    _mm256_storeu_si256(registers + 1, vec.high);
  }
  // Tests give the lanes that fail them: greater-than is all there is to compare with.
  static Vec is_at_least(Vec vec, Vec bound) {
    return {_mm256_cmpgt_epi16(bound.low, vec.low), _mm256_cmpgt_epi16(bound.high, vec.high)};
  }
  static Vec is_in(Vec vec, __m256i first, __m256i span) {
    return {_mm256_cmpgt_epi16(_mm256_sub_epi16(vec.low, first), span),
            _mm256_cmpgt_epi16(_mm256_sub_epi16(vec.high, first), span)};
  }
  static Vec either(Vec a, Vec b) {
    return {_mm256_and_si256(a.low, b.low), _mm256_and_si256(a.high, b.high)};
  }
  static std::uint64_t passing(Vec failing) {
    const __m256i packed = _mm256_packs_epi16(failing.low, failing.high);
    // packs works within 128-bit halves: put its four quarters back in order.
    const __m256i ordered = _mm256_permute4x64_epi64(packed, _MM_SHUFFLE(3, 1, 2, 0));
    return static_cast<std::uint32_t>(~_mm256_movemask_epi8(ordered));
  }

  static __m256i signed_magnitude(__m256i bits, __m256i magnitude, __m256i infinity,
                                  __m256i nan_key) {
    const __m256i nan = _mm256_cmpgt_epi16(magnitude, infinity);
    return _mm256_blendv_epi8(_mm256_sign_epi16(magnitude, bits), nan_key, nan);
  }
  template <typename Function>
  static Vec map(Vec vec, Function function) {
    return {function(vec.low), function(vec.high)};
  }
};

template <>
struct Lanes<std::int32_t> {
  using Key = std::int32_t;
  using Vec = __m256i;
  static constexpr int kLanes = 8;

  static __m256i broadcast_register(Key key) { return _mm256_set1_epi32(key); }
  static Vec broadcast(Key key) { return broadcast_register(key); }
  static Vec min(Vec a, Vec b) { return _mm256_min_epi32(a, b); }
  static Vec max(Vec a, Vec b) { return _mm256_max_epi32(a, b); }
  static Key lowest(Vec vec) {
    __m128i half = _mm_min_epi32(_mm256_castsi256_si128(vec), _mm256_extracti128_si256(vec, 1));
    half = _mm_min_epi32(half, _mm_shuffle_epi32(half, _MM_SHUFFLE(1, 0, 3, 2)));
    return _mm_cvtsi128_si32(_mm_min_epi32(half, _mm_shuffle_epi32(half, _MM_SHUFFLE(2, 3, 0, 1))));
  }
  static Key highest(Vec vec) {
    __m128i half = _mm_max_epi32(_mm256_castsi256_si128(vec), _mm256_extracti128_si256(vec, 1));
    half = _mm_max_epi32(half, _mm_shuffle_epi32(half, _MM_SHUFFLE(1, 0, 3, 2)));
    return _mm_cvtsi128_si32(_mm_max_epi32(half, _mm_shuffle_epi32(half, _MM_SHUFFLE(2, 3, 0, 1))));
  }
  static Vec load(const void* items) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(items));
  }
  static void store(Vec vec, Key* keys) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(keys), vec);
  }
  static Vec is_at_least(Vec vec, Vec bound) { return _mm256_cmpgt_epi32(bound, vec); }
  static Vec is_in(Vec vec, __m256i first, __m256i span) {
    return _mm256_cmpgt_epi32(_mm256_sub_epi32(vec, first), span);
  }
  static Vec either(Vec a, Vec b) { return _mm256_and_si256(a, b); }
  static std::uint64_t passing(Vec failing) {
    return static_cast<std::uint32_t>(~_mm256_movemask_ps(_mm256_castsi256_ps(failing))) & 0xFF;
  }

  static __m256i signed_magnitude(__m256i bits, __m256i magnitude, __m256i infinity,
                                  __m256i nan_key) {
    const __m256i nan = _mm256_cmpgt_epi32(magnitude, infinity);
    return _mm256_blendv_epi8(_mm256_sign_epi32(magnitude, bits), nan_key, nan);
  }
  template <typename Function>
  static Vec map(Vec vec, Function function) {
    return function(vec);
  }
};

template <ValueType kType>
struct Avx2 : Lanes<std::make_signed_t<BitsOf<kType>>> {
  using Bits = BitsOf<kType>;
  using Key = std::make_signed_t<Bits>;
  using Base = Lanes<Key>;
  using Vec = typename Base::Vec;

  struct Rule {
    explicit Rule(KeyRule<Key> rule)
        : nan_key(Base::broadcast_register(rule.nan_key)),
          flip(Base::broadcast_register(rule.flip)) {}
    __m256i nan_key;
    __m256i flip;
  };

  // Turned by the top bit, so that signed comparison does for unsigned.
  struct Range {
    static constexpr Key kTop = std::numeric_limits<Key>::min();
    explicit Range(BitRange<Bits> range)
        : first(Base::broadcast_register(static_cast<Key>(static_cast<Key>(range.first) ^ kTop))),
          span(Base::broadcast_register(static_cast<Key>(static_cast<Key>(range.span) ^ kTop))) {}
    __m256i first;
    __m256i span;
  };
  static Vec is_in(Vec vec, const Range& range) {
    return Base::is_in(vec, range.first, range.span);
  }

  static Vec to_keys(Vec vec, const Rule& rule) {
    return Base::map(vec, [&rule](__m256i key) {
      if constexpr (is_floating(kType)) {
        constexpr Bits kMagnitude = static_cast<Bits>(Bits(~Bits(0)) >> 1);
        const __m256i magnitude =
            _mm256_and_si256(key, Base::broadcast_register(static_cast<Key>(kMagnitude)));
        const __m256i infinity =
            Base::broadcast_register(static_cast<Key>(ValueTraits<kType>::kInfinity));
        key = Base::signed_magnitude(key, magnitude, infinity, rule.nan_key);
      }
      return _mm256_xor_si256(key, rule.flip);
    });
  }

  template <typename Item, typename Test>
  static std::uint64_t word(const Item* items, const Test& test) {
    std::uint64_t word = 0;
    for (int lane = 0; lane < kMarksPerWord; lane += Base::kLanes) {
      word |= Base::passing(test(Base::load(items + lane))) << lane;
    }
    return word;
  }

  static void list_word(std::uint64_t word, std::uint32_t first, std::uint32_t* positions) {
    list_word_avx2(word, first, positions);
  }
  static void keep_word(std::uint64_t word, const std::uint32_t* from, std::uint32_t* to) {
    keep_word_avx2(word, from, to);
  }
};

constexpr IsaPrimitives kPrimitives = isa_primitives<Avx2>();

}  // namespace

const IsaPrimitives& scan_primitives_avx2() {
  return kPrimitives;
}

}  // namespace deepselect::cpu
