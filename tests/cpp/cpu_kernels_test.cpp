// Whole calls of the CPU backend, without torch, against a sort: at every instruction set level
// that this machine has.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <iostream>
#include <limits>
#include <new>
#include <string>
#include <vector>

#include "cpu/isa.h"
#include "cpu/row_sample.h"
#include "cpu/tasks.h"
#include "cpu/topk_cpu.h"
#include "cpu/tuning.h"
#include "cpu_cases.h"
#include "deepselect/order_key.h"
#include "deepselect/row_view.h"
#include "expect.h"

namespace {

using namespace deepselect;
using namespace deepselect::cpu_test;

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
struct Calls {
  static void run(const Level& level) {
    test_short_rows<kType>(level);
    test_long_rows<kType>(level);
  }
};

}  // namespace

int main() {
  for (const Level& level : levels()) {
    std::cout << "level " << level.name << "\n";
    run_types<Calls>(level);
    test_misleading_samples(level);
    test_windows_and_maps(level);
  }
  test_exceptions();
  return expect::verdict();
}
