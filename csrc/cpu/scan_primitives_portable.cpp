// The portable level, for any architecture: a "vector" is one lane, and the loops over lanes are
// plain enough for a compiler to vectorise with whatever the architecture's baseline has.
#include <cstring>
#include <limits>
#include <type_traits>

#include "cpu/scan_loops.h"

namespace deepselect::cpu {
namespace {

// Bit i of the result is byte i of `flags`, each 0 or 1.
inline std::uint64_t pack(const std::uint8_t* flags) {
  std::uint64_t word = 0;
  for (int i = 0; i < kMarksPerWord; i += 8) {
    std::uint64_t bytes = 0;
    for (int j = 0; j < 8; ++j) bytes |= std::uint64_t{flags[i + j]} << (8 * j);
    // The product's top byte collects bit 0 of every byte, and no two partial products meet.
    word |= ((bytes * 0x0102040810204080u) >> 56) << i;
  }
  return word;
}

template <ValueType kType>
struct Portable {
  using Bits = BitsOf<kType>;
  using Key = std::make_signed_t<Bits>;
  using Vec = Key;
  using Rule = KeyRule<Key>;
  static constexpr int kLanes = 1;

  // Turned by the top bit: signed comparison is what baselines have.
  struct Range {
    static constexpr Key kTop = std::numeric_limits<Key>::min();
    explicit Range(BitRange<Bits> range)
        : first(static_cast<Key>(static_cast<Key>(range.first) ^ kTop)),
          span(static_cast<Key>(static_cast<Key>(range.span) ^ kTop)) {}
    Key first;
    Key span;
  };

  template <typename Item>
  static Vec load(const Item* item) {
    return static_cast<Key>(*item);
  }
  static void store(Vec vec, Key* key) { *key = vec; }
  static Vec broadcast(Key key) { return key; }
  static Vec min(Vec a, Vec b) { return a < b ? a : b; }
  static Vec max(Vec a, Vec b) { return a > b ? a : b; }
  static Key lowest(Vec vec) { return vec; }
  static Key highest(Vec vec) { return vec; }

  static Vec to_keys(Vec value, const Rule& rule) {
    if constexpr (is_floating(kType)) {
      constexpr Key kMagnitude = std::numeric_limits<Key>::max();
      constexpr Key kInfinity = static_cast<Key>(ValueTraits<kType>::kInfinity);
      const Key magnitude = static_cast<Key>(value & kMagnitude);
      const Key sign = static_cast<Key>(value < 0 ? -1 : 0);
      const Key signed_magnitude = static_cast<Key>((magnitude ^ sign) - sign);
      value = magnitude > kInfinity ? rule.nan_key : signed_magnitude;
    }
    return static_cast<Key>(value ^ rule.flip);
  }

  static std::uint8_t is_at_least(Vec vec, Vec bound) { return vec >= bound; }
  static std::uint8_t is_in(Vec vec, const Range& range) {
    return static_cast<Key>(static_cast<Bits>(vec) - static_cast<Bits>(range.first)) <= range.span;
  }
  static std::uint8_t either(std::uint8_t a, std::uint8_t b) {
    return static_cast<std::uint8_t>(a | b);
  }
  template <typename Item, typename Test>
  static std::uint64_t word(const Item* items, const Test& test) {
    std::uint8_t flags[kMarksPerWord];
    for (int i = 0; i < kMarksPerWord; ++i) flags[i] = test(load(items + i));
    return pack(flags);
  }

  static void list_word(std::uint64_t word, std::uint32_t first, std::uint32_t* positions) {
    for (; word != 0; word &= word - 1) {
      *positions++ = first + static_cast<std::uint32_t>(__builtin_ctzll(word));
    }
  }

  static void keep_word(std::uint64_t word, const std::uint32_t* from, std::uint32_t* to) {
    for (; word != 0; word &= word - 1) *to++ = from[__builtin_ctzll(word)];
  }
};

constexpr IsaPrimitives kPrimitives = isa_primitives<Portable>();

}  // namespace

const IsaPrimitives& scan_primitives_portable() {
  return kPrimitives;
}

}  // namespace deepselect::cpu
