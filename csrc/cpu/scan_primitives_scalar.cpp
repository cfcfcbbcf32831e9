// The portable level: one lane, any architecture.
#include <type_traits>

#include "cpu/scan_loops.h"

namespace deepselect::cpu {
namespace {

template <ValueType kType>
struct Scalar {
  using Bits = BitsOf<kType>;
  using Key = std::make_signed_t<Bits>;
  using Vec = Key;
  using Rule = KeyRule<Key>;
  static constexpr int kLanes = 1;

  static Vec broadcast(Key key) { return key; }
  static Vec load(const Key* keys) { return *keys; }
  static void store(Vec vec, Key* keys) { *keys = vec; }
  static Vec min(Vec a, Vec b) { return a < b ? a : b; }
  static Vec max(Vec a, Vec b) { return a > b ? a : b; }
  static Key lowest(Vec vec) { return vec; }
  static Key highest(Vec vec) { return vec; }

  static Vec to_keys(const Bits* values, const Rule& rule) {
    if constexpr (is_floating(kType)) {
      constexpr Bits kMagnitude = static_cast<Bits>(Bits(~Bits(0)) >> 1);
      const Bits bits = *values;
      const Key magnitude = static_cast<Key>(bits & kMagnitude);
      const Key sign = static_cast<Key>(-static_cast<Key>(bits > kMagnitude));
      const Key signed_magnitude = static_cast<Key>((magnitude ^ sign) - sign);
      const bool nan = magnitude > static_cast<Key>(ValueTraits<kType>::kInfinity);
      return static_cast<Key>((nan ? rule.nan_key : signed_magnitude) ^ rule.flip);
    } else {
      return static_cast<Key>(static_cast<Key>(*values) ^ rule.flip);
    }
  }

  static std::uint64_t at_least(Vec vec, Vec bound) { return vec >= bound; }

  static void list_word(std::uint64_t word, std::uint32_t first, std::uint32_t* positions) {
    for (; word != 0; word &= word - 1) {
      *positions++ = first + static_cast<std::uint32_t>(__builtin_ctzll(word));
    }
  }

  static void keep_word(std::uint64_t word, const std::uint32_t* from, std::uint32_t* to) {
    for (; word != 0; word &= word - 1) *to++ = from[__builtin_ctzll(word)];
  }
};

constexpr IsaPrimitives kPrimitives = isa_primitives<Scalar>();

}  // namespace

const IsaPrimitives& scan_primitives_scalar() {
  return kPrimitives;
}

}  // namespace deepselect::cpu
