// The CPU backend without torch: its primitives against plain loops, and whole calls against a
// sort, at every instruction set level that this machine has.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iostream>
#include <limits>
#include <new>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "cpu/bit_ranges.h"
#include "cpu/isa.h"
#include "cpu/row_sample.h"
#include "cpu/tasks.h"
#include "cpu/topk_cpu.h"
#include "cpu/tuning.h"
#include "deepselect/order_key.h"
#include "deepselect/row_view.h"
#include "expect.h"

namespace {

using namespace deepselect;

struct Level {
  const char* name;
  const cpu::IsaPrimitives* primitives;
};

std::vector<Level> levels() {
  const Level all[] = {{"portable", cpu::primitives_of(cpu::Isa::kPortable)},
                       {"avx2", cpu::primitives_of(cpu::Isa::kAvx2)},
                       {"avx512", cpu::primitives_of(cpu::Isa::kAvx512)}};
  std::vector<Level> available;
  for (const Level& level : all) {
    if (level.primitives != nullptr) available.push_back(level);
  }
  return available;
}

// A pool of one, and one that gives every item to a thread of its own.
void run_here(std::int64_t begin, std::int64_t end, std::int64_t, cpu::ThreadPool::Body body,
              void* context) {
  body(begin, end, context);
}

void run_apart(std::int64_t begin, std::int64_t end, std::int64_t, cpu::ThreadPool::Body body,
               void* context) {
  std::vector<std::thread> threads;
  for (std::int64_t i = begin; i < end; ++i) threads.emplace_back(body, i, i + 1, context);
  for (std::thread& thread : threads) thread.join();
}

// Rows that are hard for one part of the scan or another; `n` values as bits.
template <ValueType kType>
class Rows {
 public:
  using Bits = BitsOf<kType>;

  struct Maker {
    const char* name;
    std::function<Bits(std::mt19937&, std::int64_t i, std::int64_t n)> value;
  };

  static Bits from_float(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    if constexpr (kType == ValueType::kFloat32) {
      return bits;
    } else if constexpr (kType == ValueType::kBFloat16) {
      return static_cast<Bits>(bits >> 16);
    } else if constexpr (kType == ValueType::kFloat16) {
      // Normal range only, truncated: enough to make test values.
      const std::uint32_t magnitude = bits & 0x7FFFFFFF;
      const std::uint32_t sign = (bits >> 16) & 0x8000;
      if (magnitude < 0x38800000) return static_cast<Bits>(sign);
      if (magnitude >= 0x477FE000) return static_cast<Bits>(sign | 0x7BFF);
      return static_cast<Bits>(sign | ((magnitude - 0x38000000) >> 13));
    } else {
      return static_cast<Bits>(static_cast<std::int32_t>(value * 1e6f));
    }
  }

  static std::vector<Maker> makers() {
    std::vector<Maker> makers{
        {"normal",
         [](std::mt19937& random, std::int64_t, std::int64_t) {
           return from_float(std::normal_distribution<float>()(random));
         }},
        {"relu",
         [](std::mt19937& random, std::int64_t, std::int64_t) {
           return from_float(std::max(0.0f, std::normal_distribution<float>()(random) - 1.5f));
         }},
        {"equal", [](std::mt19937&, std::int64_t, std::int64_t) { return from_float(1.0f); }},
        {"two values", [](std::mt19937& random, std::int64_t,
                          std::int64_t) { return from_float(random() % 2 ? 0.5f : 0.25f); }},
        {"ascending", [](std::mt19937&, std::int64_t i,
                         std::int64_t) { return from_float(static_cast<float>(i) / 64); }},
        {"descending", [](std::mt19937&, std::int64_t i,
                          std::int64_t n) { return from_float(static_cast<float>(n - i) / 64); }},
        {"sawtooth", [](std::mt19937&, std::int64_t i,
                        std::int64_t) { return from_float(static_cast<float>(i % 257) - 100); }},
        {"late rise",
         [](std::mt19937&, std::int64_t i, std::int64_t n) {
           return from_float(i > n - n / 7 ? static_cast<float>(i) / 512 : -1.0f);
         }},
        {"any bits", [](std::mt19937& random, std::int64_t,
                        std::int64_t) { return static_cast<Bits>(random()); }},
        {"signed zeros and subnormals",
         [](std::mt19937& random, std::int64_t, std::int64_t) {
           const Bits sign = static_cast<Bits>((random() % 2) << (8 * sizeof(Bits) - 1));
           return static_cast<Bits>(sign | (random() % 3));
         }},
    };
    if constexpr (is_floating(kType)) {
      makers.push_back({"rare nan", [](std::mt19937& random, std::int64_t, std::int64_t) {
                          const Bits nan =
                              static_cast<Bits>(ValueTraits<kType>::kQuietNan | random() % 4 |
                                                (random() % 2) << (8 * sizeof(Bits) - 1));
                          const float value = std::normal_distribution<float>()(random);
                          return random() % 97 == 0 ? nan : from_float(value);
                        }});
      makers.push_back({"mostly nan", [](std::mt19937& random, std::int64_t, std::int64_t) {
                          return random() % 5 == 0 ? from_float(2.0f)
                                                   : ValueTraits<kType>::kQuietNan;
                        }});
      makers.push_back({"infinities", [](std::mt19937& random, std::int64_t, std::int64_t) {
                          const Bits sign =
                              static_cast<Bits>((random() % 2) << (8 * sizeof(Bits) - 1));
                          return random() % 3 == 0
                                     ? static_cast<Bits>(ValueTraits<kType>::kInfinity | sign)
                                     : from_float(3.0f);
                        }});
    }
    return makers;
  }

  // On the heap and exactly as long as asked: reading past the end is seen by the address
  // sanitizer.
  static std::vector<Bits> make(const Maker& maker, std::int64_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<Bits> row(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
      row[static_cast<std::size_t>(i)] = maker.value(random, i, n);
    }
    row.shrink_to_fit();
    return row;
  }
};

// --- Primitives ------------------------------------------------------------------------------

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

// --- Whole calls -------------------------------------------------------------------------------

struct Options {
  bool largest = true;
  NanRule nan_rule = NanRule::kLargest;
  Order order = Order::kIndex;
  int num_threads = 1;
};

template <ValueType kType>
void expect_topk(const Level& level, const std::string& name,
                 const std::vector<BitsOf<kType>>& input, std::int64_t num_rows,
                 std::int64_t num_cols, std::int64_t k, const Options& options) {
  using Bits = BitsOf<kType>;
  constexpr std::int32_t kCanary = -77;
  const auto entries = static_cast<std::size_t>(num_rows * (k + 1));
  std::vector<std::int32_t> indices(entries, kCanary);
  std::vector<Bits> values(entries, Bits(0x5A5A));

  TopkParams params{};
  params.input = input.data();
  params.values = values.data();
  params.indices = indices.data();
  params.input_row_stride_items = num_cols;
  params.values_row_stride_items = k + 1;
  params.indices_row_stride_items = k + 1;
  params.num_rows = num_rows;
  params.num_cols = num_cols;
  params.k = k;
  params.pad_index = -1;
  params.pad_value_bits = 0x1234;
  params.value_type = kType;
  params.order = options.order;
  params.nan_rule = options.nan_rule;
  params.largest = options.largest;
  cpu::topk_with(*level.primitives, params,
                 {options.num_threads, options.num_threads > 1 ? &run_apart : &run_here});

  bool ok = true;
  for (std::int64_t row = 0; row < num_rows; ++row) {
    const Bits* window = input.data() + row * num_cols;
    std::vector<std::uint64_t> composite;
    bool poisoned = false;
    for (std::int64_t i = 0; i < num_cols; ++i) {
      poisoned |= options.nan_rule == NanRule::kPoison && is_nan<kType>(window[i]);
      composite.push_back(composite_key(
          order_key<kType>(window[i], options.nan_rule != NanRule::kSmallest, options.largest),
          static_cast<std::uint32_t>(i)));
    }
    std::sort(composite.begin(), composite.end(), std::greater<>());
    composite.resize(static_cast<std::size_t>(poisoned ? 0 : std::min(k, num_cols)));
    std::vector<std::int32_t> expected;
    for (const std::uint64_t key : composite) {
      expected.push_back(static_cast<std::int32_t>(~static_cast<std::uint32_t>(key)));
    }
    if (options.order != Order::kValue) std::sort(expected.begin(), expected.end());

    const std::int32_t* row_indices = indices.data() + row * (k + 1);
    const Bits* row_values = values.data() + row * (k + 1);
    for (std::int64_t i = 0; i < k; ++i) {
      const bool is_pad = i >= static_cast<std::int64_t>(expected.size());
      const std::int32_t index = is_pad ? -1 : expected[static_cast<std::size_t>(i)];
      Bits value = static_cast<Bits>(params.pad_value_bits);
      if (!is_pad) value = window[index];
      if constexpr (is_floating(kType)) {
        if (poisoned) value = ValueTraits<kType>::kQuietNan;
      }
      ok &= row_indices[i] == index && row_values[i] == value;
    }
    ok &= row_indices[k] == kCanary && row_values[k] == Bits(0x5A5A);
  }
  if (!ok) {
    std::cerr << "level " << level.name << ", type " << static_cast<int>(kType) << ", " << name
              << ", " << num_rows << " x " << num_cols << ", k " << k << ", largest "
              << options.largest << ", nan " << static_cast<int>(options.nan_rule) << ", order "
              << static_cast<int>(options.order) << ", threads " << options.num_threads << "\n";
  }
  EXPECT(ok);
}

std::vector<std::int64_t> interesting_ks(std::int64_t n) {
  std::vector<std::int64_t> ks{1,     2,         7,     31,    32, 33,    64,    n / 9,
                               n / 8, n / 8 + 1, n / 2, n - 1, n,  n + 1, n + 65};
  ks.erase(std::remove_if(ks.begin(), ks.end(), [](std::int64_t k) { return k < 1; }), ks.end());
  std::sort(ks.begin(), ks.end());
  ks.erase(std::unique(ks.begin(), ks.end()), ks.end());
  return ks;
}

// A different mix of the remaining options every time.
Options next_options(int num_threads) {
  static int count = 0;
  ++count;
  Options options;
  options.largest = count % 2 == 0;
  options.nan_rule = static_cast<NanRule>(count % 3);
  options.order = static_cast<Order>(count / 2 % 3);
  options.num_threads = num_threads;
  return options;
}

template <ValueType kType>
void test_short_rows(const Level& level) {
  const auto makers = Rows<kType>::makers();
  // Enough rows that tasks hold several.
  const auto many = Rows<kType>::make(makers[0], 100 * 700, 1);
  expect_topk<kType>(level, makers[0].name, many, 100, 700, 60, next_options(1));
  expect_topk<kType>(level, makers[0].name, many, 100, 700, 60, next_options(3));
  for (std::int64_t n = 0; n <= 300; n += n < 70 ? 1 : 13) {
    const auto& maker = makers[static_cast<std::size_t>(n) % makers.size()];
    const auto input = Rows<kType>::make(maker, 3 * n, static_cast<unsigned>(n) + 1);
    for (const std::int64_t k : interesting_ks(n)) {
      expect_topk<kType>(level, maker.name, input, 3, n, k, next_options(1));
    }
  }
}

// Lengths on both sides of where the scan changes its way, every kind of row.
template <ValueType kType>
void test_long_rows(const Level& level) {
  constexpr std::int64_t kDirect = cpu::kScanTuning.direct_items;
  constexpr std::int64_t kSegment = cpu::kScanTuning.segment_items;
  constexpr std::int64_t kPart = cpu::kScanTuning.min_part_items;
  for (const auto& maker : Rows<kType>::makers()) {
    for (const std::int64_t n :
         {kDirect - 1, kDirect, kDirect + 1, kSegment + 1, 3 * kSegment - 1}) {
      const auto input = Rows<kType>::make(maker, n, static_cast<unsigned>(n));
      for (const std::int64_t k : {std::int64_t{1}, std::int64_t{100}, n / 9, n / 3, n - 1}) {
        expect_topk<kType>(level, maker.name, input, 1, n, k, next_options(1));
      }
    }
    // One row on four threads, three rows on two, eight rows on three.
    const std::int64_t n = 2 * kPart + 77;
    const auto input = Rows<kType>::make(maker, 3 * n, 5);
    for (const std::int64_t k : {std::int64_t{32}, std::int64_t{600}, n / 2, n}) {
      expect_topk<kType>(level, maker.name, input, 1, n, k, next_options(4));
      expect_topk<kType>(level, maker.name, input, 3, n, k, next_options(2));
      expect_topk<kType>(level, maker.name, input, 8, n / 4, k / 4, next_options(3));
    }
  }
}

// Rows made against the sample: the sampled places hold other values than the rest, so that every
// bound taken from them is wrong.
void test_misleading_samples(const Level& level) {
  constexpr ValueType kType = ValueType::kInt32;
  constexpr std::int64_t kN = 3 * cpu::kScanTuning.min_part_items + 5;
  const auto& primitives = cpu::primitives_for<kType>(*level.primitives);
  std::vector<std::uint32_t> row(kN);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<std::uint32_t>(i);
  cpu::RowSample<kType> sample(primitives);
  const std::int64_t num_samples = sample.draw(row.data(), kN, {0, 0});
  std::vector<bool> is_sampled(row.size());
  for (std::int64_t i = 0; i < num_samples; ++i) {
    is_sampled[static_cast<std::size_t>(sample.keys()[i])] = true;
  }
  EXPECT(num_samples >= cpu::kScanTuning.min_sample_items);

  const auto rest = [](const char* kind, std::size_t i) -> std::int32_t {
    const auto position = static_cast<std::int32_t>(i);
    if (kind[0] == 'a') return position;         // ascending
    if (kind[0] == 'd') return -position;        // descending
    if (kind[0] == 's') return position % 1000;  // saw teeth
    return 5;                                    // level
  };
  for (const char* kind : {"ascending", "descending", "saw teeth", "level"}) {
    for (const std::int32_t sampled : {-2'000'000, 2'000'000}) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] = static_cast<std::uint32_t>(is_sampled[i] ? sampled : rest(kind, i));
      }
      for (const std::int64_t k : {std::int64_t{1}, std::int64_t{2000}, kN / 9, kN / 2, kN - 1}) {
        expect_topk<kType>(level, kind, row, 1, kN, k, next_options(1));
        expect_topk<kType>(level, kind, row, 1, kN, k, next_options(2));
      }
    }
  }
}

// What a task throws arrives at the caller, after the other tasks.
void test_exceptions() {
  for (const int num_threads : {1, 3}) {
    bool is_caught = false;
    try {
      cpu::run_tasks({num_threads, num_threads > 1 ? &run_apart : &run_here}, num_threads, 100,
                     [](int, std::int64_t task) {
                       if (task == 50) throw std::bad_alloc();
                     });
    } catch (const std::bad_alloc&) {
      is_caught = true;
    }
    EXPECT(is_caught);
  }
}

// Windows, offsets, tables and pads of one call, against row_view.h.
void test_windows_and_maps(const Level& level) {
  constexpr std::int64_t kRows = 6;
  constexpr std::int64_t kCols = 300;
  constexpr std::int64_t kK = 10;
  const auto makers = Rows<ValueType::kFloat32>::makers();
  const auto input = Rows<ValueType::kFloat32>::make(makers[0], kRows * kCols, 3);
  const std::int64_t begins[kRows] = {-5, 0, 290, 7, 400, 100};
  const std::int32_t ends[kRows] = {20, 1000, 300, 3, 500, 104};
  const std::int64_t offsets[kRows] = {0, std::int64_t{1} << 40, -9, 5, 5, 77};
  std::vector<std::int32_t> table(2 * 64);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::int32_t>(1000 - 3 * i);
  const std::int32_t table_rows[kRows] = {0, 1, 1, 0, -1, 0};

  for (const bool paged : {false, true}) {
    std::vector<std::int64_t> indices(kRows * kK);
    std::vector<std::int32_t> raw(kRows * kK);
    TopkParams params{};
    params.input = input.data();
    params.indices = indices.data();
    params.raw_indices = raw.data();
    params.input_row_stride_items = kCols;
    params.indices_row_stride_items = kK;
    params.raw_indices_row_stride_items = kK;
    params.num_rows = kRows;
    params.num_cols = kCols;
    params.k = kK;
    params.begin = {begins, 1, IndexType::kInt64, {}};
    params.end = {ends, 1, IndexType::kInt32, {}};
    if (paged) {
      params.page_table = table.data();
      params.page_table_row_stride_items = 64;
      params.page_table_col_stride_items = 1;
      params.num_tables = 2;
      params.num_table_pages = 64;
      params.page_table_row = {table_rows, 1, IndexType::kInt32, {}};
      params.log2_page_size = 2;
    } else {
      params.index_offset = {offsets, 1, IndexType::kInt64, {}};
    }
    params.pad_index = -3;
    params.value_type = ValueType::kFloat32;
    params.index_type = IndexType::kInt64;
    params.order = Order::kIndex;
    params.largest = true;
    cpu::topk_with(*level.primitives, params, {1, &run_here});

    for (std::int64_t row = 0; row < kRows; ++row) {
      const RowView view = row_view(params, row);
      std::vector<std::uint64_t> composite;
      for (std::int64_t i = 0; i < view.size(); ++i) {
        composite.push_back(composite_key(
            order_key<ValueType::kFloat32>(
                input[static_cast<std::size_t>(row * kCols + view.begin + i)], true, true),
            static_cast<std::uint32_t>(i)));
      }
      std::sort(composite.begin(), composite.end(), std::greater<>());
      composite.resize(std::min<std::size_t>(kK, composite.size()));
      std::vector<std::uint32_t> expected;
      for (const std::uint64_t key : composite)
        expected.push_back(~static_cast<std::uint32_t>(key));
      std::sort(expected.begin(), expected.end());
      for (std::size_t i = 0; i < kK; ++i) {
        const std::size_t entry = static_cast<std::size_t>(row * kK) + i;
        const bool is_pad = i >= expected.size();
        EXPECT(raw[entry] == (is_pad ? -3 : static_cast<std::int32_t>(expected[i])));
        EXPECT(indices[entry] == (is_pad ? -3 : view.index_of(expected[i])));
      }
    }
  }
}

template <ValueType kType>
void test_type(const Level& level) {
  test_primitives<kType>(level);
  test_key_order<kType>(level);
  test_short_rows<kType>(level);
  test_long_rows<kType>(level);
}

}  // namespace

int main() {
  for (const Level& level : levels()) {
    std::cout << "level " << level.name << "\n";
    test_type<ValueType::kBFloat16>(level);
    test_type<ValueType::kFloat16>(level);
    test_type<ValueType::kFloat32>(level);
    test_type<ValueType::kInt32>(level);
    test_misleading_samples(level);
    test_windows_and_maps(level);
  }
  test_exceptions();
  return expect::verdict();
}
