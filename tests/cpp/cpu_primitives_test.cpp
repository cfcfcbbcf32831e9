// The CPU backend's vector loops against plain ones, at every instruction set level that this
// machine has.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <limits>
#include <vector>

#include "cpu/bit_ranges.h"
#include "cpu/isa.h"
#include "cpu_cases.h"
#include "deepselect/order_key.h"
#include "expect.h"

namespace {

using namespace deepselect;
using namespace deepselect::cpu_test;

template <ValueType kType>
void test_primitives(const Level& level) {
  using Primitives = cpu::ScanPrimitives<kType>;
  using Bits = typename Primitives::Bits;
  using Key = typename Primitives::Key;
  const Primitives& primitives = cpu::primitives_for<kType>(*level.primitives);
  constexpr Key kMax = std::numeric_limits<Key>::max();
  constexpr Key kMin = std::numeric_limits<Key>::min();

  const auto makers = Rows<kType>::makers();
  for (std::int64_t n = 0; n <= 300; ++n) {
    const auto& maker = makers[static_cast<std::size_t>(n) % makers.size()];
    const std::vector<Bits> values = Rows<kType>::make(maker, n, static_cast<unsigned>(n));
    for (int variant = 0; variant < 4; ++variant) {
      const bool nan_is_largest = (variant & 1) != 0;
      const bool largest = (variant & 2) != 0;
      const cpu::KeyRule<Key> rule{nan_is_largest ? kMax : kMin,
                                   static_cast<Key>(largest ? 0 : -1)};
      std::vector<Key> keys(static_cast<std::size_t>(n + cpu::kOverrunItems));
      primitives.make_keys(values.data(), n, rule, keys.data());
      std::vector<Key> in_place(keys.size());
      if (n > 0) std::memcpy(in_place.data(), values.data(), values.size() * sizeof(Bits));
      primitives.make_keys(reinterpret_cast<const Bits*>(in_place.data()), n, rule,
                           in_place.data());
      EXPECT(std::equal(in_place.begin(), in_place.begin() + n, keys.begin()));
      keys.resize(static_cast<std::size_t>(n));
      keys.shrink_to_fit();

      // Same order as the contract's keys, between neighbours and against the first.
      const auto contract_key = [&](std::size_t i) {
        return order_key<kType>(values[i], nan_is_largest, largest);
      };
      for (std::size_t i = 1; i < keys.size(); ++i) {
        for (const std::size_t j : {i - 1, std::size_t{0}}) {
          EXPECT((keys[i] < keys[j]) == (contract_key(i) < contract_key(j)));
          EXPECT((keys[i] == keys[j]) == (contract_key(i) == contract_key(j)));
        }
      }

      if (n > 0) {
        const cpu::KeyRange<Key> range = primitives.key_range(keys.data(), n);
        EXPECT(range.min == *std::min_element(keys.begin(), keys.end()));
        EXPECT(range.max == *std::max_element(keys.begin(), keys.end()));
      }

      std::vector<Key> bounds{kMin, static_cast<Key>(kMin + 1), 0, kMax};
      if (n > 0) bounds.push_back(keys[static_cast<std::size_t>(n) / 2]);
      for (const Key bound : bounds) {
        const auto num_words = static_cast<std::size_t>((n + 63) / 64);
        std::vector<std::uint64_t> expected(num_words);
        std::vector<std::uint32_t> expected_positions;
        for (std::size_t i = 0; i < keys.size(); ++i) {
          if (keys[i] < bound) continue;
          expected[i / 64] |= std::uint64_t{1} << (i % 64);
          expected_positions.push_back(static_cast<std::uint32_t>(i) + 7);
        }
        const auto num_expected = static_cast<std::int64_t>(expected_positions.size());
        std::vector<std::uint64_t> marks(num_words, ~std::uint64_t{0});
        primitives.mark_keys(keys.data(), n, bound, marks.data());
        EXPECT(marks == expected);
        marks.assign(num_words, ~std::uint64_t{0});
        const cpu::BitRanges<Bits> accepted = cpu::bits_at_least<kType>(rule, bound);
        primitives.mark_values(values.data(), n, accepted, marks.data());
        EXPECT(marks == expected);
        EXPECT(primitives.count_keys(keys.data(), n, bound) == num_expected);
        EXPECT(primitives.count_values(values.data(), n, accepted) == num_expected);
        const auto words = static_cast<std::int64_t>(num_words);
        EXPECT(primitives.count_marks(marks.data(), words) == num_expected);
        std::vector<std::uint32_t> positions(
            static_cast<std::size_t>(num_expected + cpu::kOverrunItems));
        EXPECT(primitives.list_marks(marks.data(), words, 7, positions.data()) == num_expected);
        positions.resize(static_cast<std::size_t>(num_expected));
        EXPECT(positions == expected_positions);

        std::vector<std::uint32_t> kept(static_cast<std::size_t>(n + cpu::kOverrunItems));
        for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = static_cast<std::uint32_t>(i) + 7;
        primitives.keep_marked(marks.data(), words, kept.data());
        kept.resize(static_cast<std::size_t>(num_expected));
        EXPECT(kept == expected_positions);
      }
    }
  }
}

// Every 16-bit pattern, and 32-bit patterns around every exponent, have the contract's order.
template <ValueType kType>
void test_key_order(const Level& level) {
  using Primitives = cpu::ScanPrimitives<kType>;
  using Bits = typename Primitives::Bits;
  using Key = typename Primitives::Key;
  const Primitives& primitives = cpu::primitives_for<kType>(*level.primitives);
  std::vector<Bits> values;
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    if constexpr (sizeof(Bits) == 2) {
      values.push_back(static_cast<Bits>(i));
    } else {
      for (const std::uint32_t low : {0u, 1u, 0x8000u, 0xFFFFu}) values.push_back(i << 16 | low);
    }
  }
  for (int variant = 0; variant < 4; ++variant) {
    const bool nan_is_largest = (variant & 1) != 0;
    const bool largest = (variant & 2) != 0;
    const cpu::KeyRule<Key> rule{
        nan_is_largest ? std::numeric_limits<Key>::max() : std::numeric_limits<Key>::min(),
        static_cast<Key>(largest ? 0 : -1)};
    std::sort(values.begin(), values.end(), [&](Bits a, Bits b) {
      return order_key<kType>(a, nan_is_largest, largest) <
             order_key<kType>(b, nan_is_largest, largest);
    });
    const auto n = static_cast<std::int64_t>(values.size());
    std::vector<Key> keys(values.size() + cpu::kOverrunItems);
    primitives.make_keys(values.data(), n, rule, keys.data());
    bool is_same = true;
    for (std::size_t i = 1; i < values.size(); ++i) {
      const bool equal = order_key<kType>(values[i], nan_is_largest, largest) ==
                         order_key<kType>(values[i - 1], nan_is_largest, largest);
      is_same &= equal ? keys[i] == keys[i - 1] : keys[i] > keys[i - 1];
    }
    EXPECT(is_same);

    // Accepted patterns are those whose keys reach the bound: bounds throughout, and at every edge.
    constexpr Key kMin = std::numeric_limits<Key>::min();
    constexpr Key kMax = std::numeric_limits<Key>::max();
    std::vector<Key> bounds{kMin, static_cast<Key>(kMin + 1), -1,  0,
                            1,    static_cast<Key>(kMax - 1), kMax};
    if constexpr (is_floating(kType)) {
      for (int offset = -2; offset <= 2; ++offset) {
        bounds.push_back(static_cast<Key>(ValueTraits<kType>::kInfinity + offset));
        bounds.push_back(
            static_cast<Key>(-static_cast<Key>(ValueTraits<kType>::kInfinity) + offset));
      }
    }
    for (std::size_t i = 0; i < values.size(); i += 977) bounds.push_back(keys[i]);
    std::vector<std::uint64_t> expected((values.size() + 63) / 64);
    std::vector<std::uint64_t> marks(expected.size());
    for (const Key bound : bounds) {
      primitives.mark_keys(keys.data(), n, bound, expected.data());
      const auto at_least = cpu::bits_at_least<kType>(rule, bound);
      EXPECT(at_least.num <= 2);
      primitives.mark_values(values.data(), n, at_least, marks.data());
      EXPECT(marks == expected);
      if (bound == kMin) continue;
      primitives.mark_values(values.data(), n,
                             cpu::bits_above<kType>(rule, static_cast<Key>(bound - 1)),
                             marks.data());
      EXPECT(marks == expected);
    }
    EXPECT(cpu::bits_above<kType>(rule, kMax).num == 0);
  }
}

template <ValueType kType>
struct Primitives {
  static void run(const Level& level) {
    test_primitives<kType>(level);
    test_key_order<kType>(level);
  }
};

}  // namespace

int main() {
  for (const Level& level : levels()) {
    std::cout << "level " << level.name << "\n";
    run_types<Primitives>(level);
  }
  return expect::verdict();
}
