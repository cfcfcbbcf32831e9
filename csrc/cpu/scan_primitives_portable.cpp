// The portable level, for any architecture: "vectors" are arrays of a word's 64 lanes, and loops
// over them are plain enough for a compiler to vectorise with whatever the architecture's baseline
// has.
#include <cstring>
#include <type_traits>

#include "cpu/scan_loops.h"

namespace deepselect::cpu {
namespace {

// One byte per lane, 0 or 1.
struct Flags {
  std::uint8_t lanes[kMarksPerWord];
};

inline std::uint64_t pack(const Flags& flags) {
  std::uint64_t word = 0;
  for (int i = 0; i < kMarksPerWord; i += 8) {
    std::uint64_t bytes = 0;
    for (int j = 0; j < 8; ++j) bytes |= std::uint64_t{flags.lanes[i + j]} << (8 * j);
    // The product's top byte collects bit 0 of every byte, and no two partial products meet.
    word |= ((bytes * 0x0102040810204080u) >> 56) << i;
  }
  return word;
}

template <ValueType kType>
struct Portable {
  using Bits = BitsOf<kType>;
  using Key = std::make_signed_t<Bits>;
  using Rule = KeyRule<Key>;
  using Range = BitRange<Bits>;
  static constexpr int kLanes = kMarksPerWord;
  struct Vec {
    Key lanes[kLanes];
  };

  static Vec broadcast(Key key) {
    Vec vec;
    for (Key& lane : vec.lanes) lane = key;
    return vec;
  }
  static Vec load(const void* items) {
    Vec vec;
    std::memcpy(vec.lanes, items, sizeof(vec.lanes));
    return vec;
  }
  static void store(const Vec& vec, Key* keys) { std::memcpy(keys, vec.lanes, sizeof(vec.lanes)); }
  static Vec min(const Vec& a, const Vec& b) {
    Vec vec;
    for (int i = 0; i < kLanes; ++i) {
      vec.lanes[i] = a.lanes[i] < b.lanes[i] ? a.lanes[i] : b.lanes[i];
    }
    return vec;
  }
  static Vec max(const Vec& a, const Vec& b) {
    Vec vec;
    for (int i = 0; i < kLanes; ++i) {
      vec.lanes[i] = a.lanes[i] > b.lanes[i] ? a.lanes[i] : b.lanes[i];
    }
    return vec;
  }
  static Key lowest(const Vec& vec) {
    Key key = vec.lanes[0];
    for (const Key lane : vec.lanes) key = lane < key ? lane : key;
    return key;
  }
  static Key highest(const Vec& vec) {
    Key key = vec.lanes[0];
    for (const Key lane : vec.lanes) key = lane > key ? lane : key;
    return key;
  }

  static Vec to_keys(const Vec& values, const Rule& rule) {
    Vec vec;
    for (int i = 0; i < kLanes; ++i) vec.lanes[i] = to_key(values.lanes[i], rule);
    return vec;
  }

  static Key to_key(Key value, const Rule& rule) {
    if constexpr (is_floating(kType)) {
      constexpr Key kMagnitude = static_cast<Key>(Bits(~Bits(0)) >> 1);
      constexpr Key kInfinity = static_cast<Key>(ValueTraits<kType>::kInfinity);
      const Key magnitude = static_cast<Key>(value & kMagnitude);
      const Key sign = static_cast<Key>(value < 0 ? -1 : 0);
      const Key signed_magnitude = static_cast<Key>((magnitude ^ sign) - sign);
      const Key nan = static_cast<Key>(magnitude > kInfinity ? -1 : 0);
      return static_cast<Key>(((signed_magnitude & ~nan) | (rule.nan_key & nan)) ^ rule.flip);
    } else {
      return static_cast<Key>(value ^ rule.flip);
    }
  }

  static Flags is_at_least(const Vec& vec, const Vec& bound) {
    Flags flags;
    for (int i = 0; i < kLanes; ++i) flags.lanes[i] = vec.lanes[i] >= bound.lanes[i];
    return flags;
  }
  static Flags is_in(const Vec& vec, const Range& range) {
    Flags flags;
    for (int i = 0; i < kLanes; ++i) {
      flags.lanes[i] =
          static_cast<Bits>(static_cast<Bits>(vec.lanes[i]) - range.first) <= range.span;
    }
    return flags;
  }
  static Flags either(const Flags& a, const Flags& b) {
    Flags flags;
    for (int i = 0; i < kLanes; ++i) flags.lanes[i] = a.lanes[i] | b.lanes[i];
    return flags;
  }
  template <typename Item, typename Test>
  static std::uint64_t word(const Item* items, const Test& test) {
    return pack(test(load(items)));
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
