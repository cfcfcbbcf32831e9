// Key mapping against the language's own floats: every 16-bit pattern, and for 32-bit values every
// pattern of the high half with chosen low halves.
#include "deepselect/order_key.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "expect.h"

namespace {

using deepselect::composite_key;
using deepselect::is_nan;
using deepselect::order_key;
using deepselect::ValueType;

float float_of(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// Decodes independently of the key mapping, by the formats' definitions.
template <ValueType kType>
double value_of(std::uint32_t bits) {
  if constexpr (kType == ValueType::kInt32) {
    return static_cast<std::int32_t>(bits);
  } else if constexpr (kType == ValueType::kFloat32) {
    return float_of(bits);
  } else if constexpr (kType == ValueType::kBFloat16) {
    return float_of(bits << 16);
  } else {
    const int exponent = (bits >> 10) & 0x1F;
    const int fraction = bits & 0x3FF;
    double magnitude =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
    if (exponent == 31) magnitude = fraction == 0 ? INFINITY : NAN;
    return (bits & 0x8000) ? -magnitude : magnitude;
  }
}

// Rank of a value as contract.md states it: NaN outside of the infinities, all alike.
double rank_of(double value, bool nan_is_largest) {
  if (std::isnan(value)) return nan_is_largest ? 2 : -2;
  if (std::isinf(value)) return value > 0 ? 1 : -1;
  return 0;
}

bool before(double a, double b, bool nan_is_largest) {
  const double rank_a = rank_of(a, nan_is_largest);
  const double rank_b = rank_of(b, nan_is_largest);
  if (rank_a != rank_b) return rank_a > rank_b;
  return rank_a == 0 && a > b;
}

template <ValueType kType>
void check_sorted(std::vector<std::uint32_t> patterns) {
  using Bits = deepselect::BitsOf<kType>;
  for (bool nan_is_largest : {true, false}) {
    for (bool largest : {true, false}) {
      const auto key = [&](std::uint32_t bits) {
        return order_key<kType>(static_cast<Bits>(bits), nan_is_largest, largest);
      };
      std::sort(patterns.begin(), patterns.end(),
                [&](std::uint32_t a, std::uint32_t b) { return key(a) > key(b); });
      // Neighbours in key order must be in value order, and equal keys equal values: with
      // transitivity that is every pair.
      for (std::size_t i = 1; i < patterns.size(); ++i) {
        double a = value_of<kType>(patterns[i - 1]);
        double b = value_of<kType>(patterns[i]);
        if (!largest) std::swap(a, b);
        EXPECT(!before(b, a, nan_is_largest));
        const bool is_equal = !before(a, b, nan_is_largest);
        EXPECT(is_equal == (key(patterns[i - 1]) == key(patterns[i])));
      }
    }
  }
  for (std::uint32_t bits : patterns) {
    EXPECT(is_nan<kType>(static_cast<Bits>(bits)) == std::isnan(value_of<kType>(bits)));
  }
}

std::vector<std::uint32_t> all_16_bit_patterns() {
  std::vector<std::uint32_t> patterns;
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) patterns.push_back(bits);
  return patterns;
}

std::vector<std::uint32_t> chosen_32_bit_patterns() {
  std::vector<std::uint32_t> patterns;
  for (std::uint32_t high = 0; high < 0x10000; ++high) {
    for (std::uint32_t low : {0u, 1u, 0x7FFFu, 0xFFFFu}) patterns.push_back((high << 16) | low);
  }
  return patterns;
}

void check_composite_order() {
  EXPECT(composite_key(5, 0) > composite_key(4, 7));
  EXPECT(composite_key(5, 0) > composite_key(5, 1));
  EXPECT(composite_key(5, 0x7FFFFFFE) > composite_key(5, 0x7FFFFFFF));
  EXPECT(composite_key(0xFFFFFFFF, 0) == ~std::uint64_t{0});
}

}  // namespace

int main() {
  check_sorted<ValueType::kBFloat16>(all_16_bit_patterns());
  check_sorted<ValueType::kFloat16>(all_16_bit_patterns());
  check_sorted<ValueType::kFloat32>(chosen_32_bit_patterns());
  check_sorted<ValueType::kInt32>(chosen_32_bit_patterns());
  check_composite_order();
  return expect::verdict();
}
