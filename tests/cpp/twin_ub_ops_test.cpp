// Every buffer-to-buffer instruction of the twin (dav-2201) against a plain loop over arrays, on
// random data; the loops are written from the instructions' published description.
#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "ascend/simd/ub_ops.h"
#include "ascend/ub_plan.h"
#include "expect.h"

namespace {

using namespace deepselect;
using namespace deepselect::ascend;
using I32 = std::int32_t;
using U16 = std::uint16_t;
using U32 = std::uint32_t;

std::mt19937 generator(11);

// Random items below `range` from 0, or of all bits.
template <class T>
std::vector<T> random_items(std::size_t count, U32 range = 0) {
  std::vector<T> items(count);
  for (T& item : items) {
    item = static_cast<T>(range == 0 ? generator() : generator() % range);
  }
  return items;
}

template <class T>
std::vector<T> small_signed(std::size_t count, int range) {
  std::vector<T> items(count);
  for (T& item : items) {
    item = static_cast<T>(static_cast<int>(generator() % static_cast<U32>(2 * range + 1)) - range);
  }
  return items;
}

// Writes `items` into the buffer as a copy would, and orders it before what follows.
template <class T>
T* place(std::size_t offset, const std::vector<T>& items) {
  T* target = simd::ub_at<T>(offset);
  std::memcpy(target, items.data(), items.size() * sizeof(T));
  std::memset(twin::machine().undefined() + offset, 0, items.size() * sizeof(T));
  simd::barrier<simd::kPipeV>();
  return target;
}

template <class T>
bool holds(const T* array, const std::vector<T>& expected) {
  const std::uint8_t* undefined =
      twin::machine().undefined() +
      (reinterpret_cast<const std::uint8_t*>(array) - twin::machine().ub());
  simd::barrier<simd::kPipeV>();
  return std::equal(expected.begin(), expected.end(), array) &&
         std::memchr(undefined, 1, expected.size() * sizeof(T)) == nullptr;
}

constexpr std::size_t kA = 0, kB = 16384, kC = 32768, kD = 49152, kE = 81920;

template <class T, class F, class Instruction>
void check_map(const std::vector<T>& a, const std::vector<T>& b, F plain, Instruction call) {
  const auto count = static_cast<U32>(a.size());
  std::vector<T> expected(count);
  for (U32 i = 0; i < count; ++i) expected[i] = static_cast<T>(plain(a[i], b[i]));
  T* dst = simd::ub_at<T>(kC);
  call(dst, place(kA, a), place(kB, b), count);
  EXPECT(holds(dst, expected));
  call(simd::ub_at<T>(kA), simd::ub_at<T>(kA), simd::ub_at<T>(kB), count);  // in place
  EXPECT(holds(simd::ub_at<T>(kA), expected));
}

template <class T>
void test_arithmetic(U32 count, int range) {
  const auto a = small_signed<T>(count, range), b = small_signed<T>(count, range);
  const auto add = [](T* d, T* x, T* y, U32 n) { ub::add(d, x, y, n); };
  check_map(a, b, [](T x, T y) { return x + y; }, add);
  const auto subtract = [](T* d, T* x, T* y, U32 n) { ub::subtract(d, x, y, n); };
  check_map(a, b, [](T x, T y) { return x - y; }, subtract);
  const auto maximum = [](T* d, T* x, T* y, U32 n) { ub::maximum(d, x, y, n); };
  check_map(a, b, [](T x, T y) { return std::max(x, y); }, maximum);
  const auto minimum = [](T* d, T* x, T* y, U32 n) { ub::minimum(d, x, y, n); };
  check_map(a, b, [](T x, T y) { return std::min(x, y); }, minimum);
  const auto add_scalar = [](T* d, T* x, T*, U32 n) { ub::add_scalar(d, x, -77, n); };
  check_map(a, b, [](T x, T) { return x - 77; }, add_scalar);
  const auto multiply = [](T* d, T* x, T*, U32 n) { ub::multiply_scalar(d, x, -9, n); };
  check_map(a, b, [](T x, T) { return x * -9; }, multiply);
  const auto max_scalar = [](T* d, T* x, T*, U32 n) { ub::max_scalar(d, x, 500, n); };
  check_map(a, b, [](T x, T) { return std::max(x, T(500)); }, max_scalar);
  const auto min_scalar = [](T* d, T* x, T*, U32 n) { ub::min_scalar(d, x, 500, n); };
  check_map(a, b, [](T x, T) { return std::min(x, T(500)); }, min_scalar);
}

void test_bits(U32 count) {
  const auto a = random_items<U16>(count), b = random_items<U16>(count);
  const auto bit_and = [](U16* d, U16* x, U16* y, U32 n) { ub::bit_and(d, x, y, n); };
  check_map(a, b, [](int x, int y) { return x & y; }, bit_and);
  const auto bit_or = [](U16* d, U16* x, U16* y, U32 n) { ub::bit_or(d, x, y, n); };
  check_map(a, b, [](int x, int y) { return x | y; }, bit_or);
  const auto bit_not = [](U16* d, U16* x, U16*, U32 n) { ub::bit_not(d, x, n); };
  check_map(a, b, [](int x, int) { return ~x; }, bit_not);
}

// By 0 and the width too.
template <class T>
void test_shifts(U32 count) {
  const auto a = random_items<T>(count);
  for (int shift : {0, 1, 17, 31, 32}) {
    const auto left = [shift](T* d, T* x, T*, U32 n) { ub::shift_left(d, x, T(shift), n); };
    const auto plain_left = [shift](T x, T) {
      return static_cast<U32>(static_cast<std::uint64_t>(static_cast<U32>(x)) << shift);
    };
    EXPECT(plain_left(T(1), T(0)) == (shift == 32 ? 0u : 1u << shift));
    T* dst = simd::ub_at<T>(kC);
    left(dst, place(kA, a), nullptr, count);
    std::vector<T> expected(count);
    for (U32 i = 0; i < count; ++i) expected[i] = static_cast<T>(plain_left(a[i], T(0)));
    EXPECT(holds(dst, expected));
    ub::shift_right(dst, simd::ub_at<T>(kA), T(shift), count);
    for (U32 i = 0; i < count; ++i) {
      const std::int64_t wide = a[i];  // keeps the sign of int32, zeros for unsigned
      expected[i] = static_cast<T>(wide >> shift);
    }
    EXPECT(holds(dst, expected));
  }
}

void test_shifts_of_16_bits(U32 count) {
  const auto words = random_items<U16>(count);
  const auto left = [](U16* d, U16* x, U16*, U32 n) { ub::shift_left(d, x, U16(1), n); };
  check_map(words, words, [](U16 x, U16) { return x << 1; }, left);
  const auto right = [](U16* d, U16* x, U16*, U32 n) { ub::shift_right(d, x, U16(1), n); };
  check_map(words, words, [](U16 x, U16) { return x >> 1; }, right);
  using I16 = std::int16_t;
  const auto sign = [](I16* d, I16* x, I16*, U32 n) { ub::shift_right(d, x, I16(15), n); };
  const auto items = random_items<I16>(count);
  check_map(items, items, [](I16 x, I16) { return x < 0 ? -1 : 0; }, sign);
}

void test_casts(U32 count) {
  const auto items = random_items<std::int16_t>(count);
  auto* floats = simd::ub_at<float>(kC);
  ub::to_float(floats, place(kA, items), count);
  EXPECT(holds(floats, std::vector<float>(items.begin(), items.end())));
  auto* back = simd::ub_at<I32>(kC);  // in place: items of one size
  ub::to_int32(back, floats, count);
  EXPECT(holds(back, std::vector<I32>(items.begin(), items.end())));
}

template <class T, class F, class Instruction>
void check_compare(const std::vector<T>& a, const std::vector<T>& b, F plain, Instruction call) {
  const auto count = static_cast<U32>(a.size());
  std::vector<std::uint8_t> expected(count / 8);
  for (U32 i = 0; i < count; ++i) {
    expected[i / 8] = static_cast<std::uint8_t>(expected[i / 8] | int(plain(a[i], b[i])) << i % 8);
  }
  auto* mask = simd::ub_at<std::uint8_t>(kC);
  call(mask, place(kA, a), place(kB, b), count);
  EXPECT(holds(mask, expected));
}

void test_compares(U32 count) {
  std::vector<float> a(count), b(count);
  for (float& item : a) item = static_cast<float>(static_cast<int>(generator() % 21) - 10);
  using Bytes = std::uint8_t*;
  const auto at_least = [](Bytes m, float* x, float*, U32 n) { ub::at_least(m, x, -3.0f, n); };
  check_compare(a, b, [](float x, float) { return x >= -3; }, at_least);
  const auto at_most = [](Bytes m, float* x, float*, U32 n) { ub::at_most(m, x, 4.0f, n); };
  check_compare(a, b, [](float x, float) { return x <= 4; }, at_most);
  const auto words = random_items<I32>(count, 5), others = random_items<I32>(count, 5);
  const auto equal = [](Bytes m, I32* x, I32* y, U32 n) { ub::equal(m, x, y, n); };
  check_compare(words, others, [](I32 x, I32 y) { return x == y; }, equal);
  const auto equal_scalar = [](Bytes m, I32* x, I32*, U32 n) { ub::equal_scalar(m, x, 3, n); };
  check_compare(words, others, [](I32 x, I32) { return x == 3; }, equal_scalar);
}

// Of all bits. A half is m * 2^(e - 25) with a fraction m of 11 bits: compared here as integers.
void test_compares_of_bits(U32 count) {
  using Bytes = std::uint8_t*;
  const auto is_nan = [](U16 x) { return (x & 0x7FFF) > 0x7C00; };
  const auto order = [](U16 x) { return (x & 0x8000) != 0 ? -(x & 0x7FFF) : int{x}; };
  std::vector<U16> halves = random_items<U16>(count), bounds(count);
  for (U16 bound : {0, 0x0400, 0x8400, 0x3C00, 0xC123, 0x7BFF, 0xFBFF}) {
    halves[count / 2] = bound;
    halves[count / 3] = 0x8000;
    halves[count / 4] = 0xFC00;
    halves[count / 5] = 0x7C01;
    const auto less = [bound](Bytes m, U16* x, U16*, U32 n) { ub::less_than(m, x, bound, n); };
    const auto is_less = [&](U16 x, U16) { return !is_nan(x) && order(x) < order(bound); };
    check_compare(halves, bounds, is_less, less);
    const auto more = [bound](Bytes m, U16* x, U16*, U32 n) { ub::greater_than(m, x, bound, n); };
    const auto is_more = [&](U16 x, U16) { return !is_nan(x) && order(x) > order(bound); };
    check_compare(halves, bounds, is_more, more);
  }
  const auto words = random_items<U32>(count);
  const std::vector<U32> others(count);
  const auto as_float = [](U32 x) {
    float value = 0;
    std::memcpy(&value, &x, sizeof(value));
    return value;
  };
  const auto less = [](Bytes m, U32* x, U32*, U32 n) { ub::less_than(m, x, 0x40490FDBu, n); };
  check_compare(
      words, others, [&](U32 x, U32) { return as_float(x) < as_float(0x40490FDB); }, less);
  const auto more = [](Bytes m, U32* x, U32*, U32 n) { ub::greater_than(m, x, 0xC0490FDBu, n); };
  check_compare(
      words, others, [&](U32 x, U32) { return as_float(x) > as_float(0xC0490FDB); }, more);
}

template <class T>
void test_fills(U32 count) {
  T* dst = simd::ub_at<T>(kC);
  ub::fill(dst, T(0x1234), count);
  EXPECT(holds(dst, std::vector<T>(count, T(0x1234))));
  constexpr U32 kBlockItems = 32 / sizeof(T);
  for (U32 first = 0; first < kBlockItems; ++first) {
    for (U32 past = first + 1; past <= kBlockItems; ++past) {
      std::vector<T> expected = random_items<T>(kBlockItems);
      T* block = place(kC, expected);
      ub::fill_lanes(block, T(7), first, past);
      std::fill(expected.begin() + first, expected.begin() + past, T(7));
      EXPECT(holds(block, expected));
    }
  }
}

template <class T>
void test_compress(U32 count) {
  for (int density : {0, 1, 8, 16}) {
    const auto items = random_items<T>(count);
    std::vector<std::uint8_t> mask((count + 7) / 8);
    std::vector<T> expected;
    for (U32 i = 0; i < 8 * mask.size(); ++i) {
      if (static_cast<int>(generator() % 16) >= density) continue;
      mask[i / 8] = static_cast<std::uint8_t>(mask[i / 8] | 1 << i % 8);
      if (i < count) expected.push_back(items[i]);  // bits behind the count have no influence
    }
    const std::vector<T> before = random_items<T>(count + 64);
    T* dst = place(kC, before);
    ub::compress(dst, place(kA, items), place(kB, mask), count);
    EXPECT(ub::read_kept() == expected.size());
    EXPECT(holds(dst, expected));
    const std::size_t block_items = 32 / sizeof(T);
    const std::size_t past = (expected.size() + block_items - 1) / block_items * block_items;
    EXPECT(
        std::equal(before.begin() + static_cast<std::ptrdiff_t>(past), before.end(), dst + past));
    const std::uint8_t* undefined = twin::machine().undefined() + kC;
    for (std::size_t i = expected.size(); i < past; ++i) EXPECT(undefined[i * sizeof(T)] == 1);
  }
}

template <class T>
void test_gather(U32 count) {
  const auto items = random_items<T>(1000);
  std::vector<U32> offsets(count);
  std::vector<T> expected(count);
  for (U32 i = 0; i < count; ++i) {
    const U32 index = generator() % 1000;
    offsets[i] = index * static_cast<U32>(sizeof(T));
    expected[i] = items[index];
  }
  T* dst = simd::ub_at<T>(kC);
  ub::gather(dst, place(kA, items), place(kB, offsets), count);
  EXPECT(holds(dst, expected));
}

void test_count_and_pick(U32 count) {
  auto* numbers = simd::ub_at<I32>(kC);
  ub::count_up(numbers, -5, count);
  std::vector<I32> expected(count);
  for (U32 i = 0; i < count; ++i) expected[i] = static_cast<I32>(i) - 5;
  EXPECT(holds(numbers, expected));
  auto* short_numbers = simd::ub_at<std::int16_t>(kC);
  ub::count_up(short_numbers, -5, count);
  EXPECT(holds(short_numbers, std::vector<std::int16_t>(expected.begin(), expected.end())));
  const auto pairs = random_items<U32>(2 * count);
  std::vector<U32> odd(count);
  for (U32 i = 0; i < count; ++i) odd[i] = pairs[2 * i + 1];
  auto* picked = simd::ub_at<U32>(kD);
  ub::pick_odd(picked, place(kA, pairs), 2 * count);
  EXPECT(holds(picked, odd));
}

bool by_score(const twin::Record& a, const twin::Record& b) {
  return a.score > b.score;
}

void test_sorting() {
  constexpr U32 kGroups = 16;
  constexpr U32 kItems = 32 * kGroups;
  // Scores with ties inside a group; none between the groups that are merged.
  std::vector<float> scores(kItems);
  const auto payloads = random_items<U32>(kItems);
  std::vector<twin::Record> expected(kItems);
  for (U32 i = 0; i < kItems; ++i) {
    scores[i] = static_cast<float>(1 + i / 32 + kGroups * (generator() % 20));
    expected[i] = {scores[i], payloads[i]};
  }
  auto* records = simd::ub_at<std::uint8_t>(kD);
  auto* merged = simd::ub_at<std::uint8_t>(kE);
  ub::sort_groups(records, place(kA, scores), place(kB, payloads), kGroups);
  const auto same = [&](const std::uint8_t* bytes) {
    simd::barrier<simd::kPipeV>();
    return std::memcmp(bytes, expected.data(), kItems * sizeof(twin::Record)) == 0;
  };
  const auto sort_runs = [&](U32 run_items) {
    for (auto run = expected.begin(); run != expected.end(); run += run_items) {
      std::stable_sort(run, run + run_items, by_score);
    }
  };
  sort_runs(32);
  EXPECT(same(records));
  ub::merge_runs(merged, records, 32, 4, kGroups / 4);
  sort_runs(128);
  EXPECT(same(merged));
  ub::merge_runs(records, merged, 128, 4, 1);
  sort_runs(512);
  EXPECT(same(records));
  // Two runs, and three.
  for (U32 num_runs : {2u, 3u}) {
    expected.resize(kItems);
    ub::sort_groups(records, simd::ub_at<float>(kA), simd::ub_at<U32>(kB), kGroups);
    simd::barrier<simd::kPipeV>();
    std::memcpy(expected.data(), records, kItems * sizeof(twin::Record));
    ub::merge_runs(merged, records, 32, num_runs, 1);
    simd::barrier<simd::kPipeV>();
    std::stable_sort(expected.begin(), expected.begin() + 32 * num_runs, by_score);
    EXPECT(std::memcmp(merged, expected.data(), 32 * num_runs * sizeof(twin::Record)) == 0);
  }
}

// An item that was never written stays recognisable, and makes only its own results undefined.
void test_undefined_items() {
  I32* items = place(kA, small_signed<I32>(64, 1000000));
  twin::machine().undefined()[kA + 4 * 9 + 1] = 1;  // one byte of item 9
  I32* sums = simd::ub_at<I32>(kC);
  ub::add_scalar(sums, items, 1, 64);
  for (std::size_t byte = 0; byte < 256; ++byte) {
    EXPECT((twin::machine().undefined()[kC + byte] != 0) == (byte / 4 == 9));
  }
  simd::barrier<simd::kPipeV>();
  ub::equal_scalar(simd::ub_at<std::uint8_t>(kD), sums, 5, 64);
  for (std::size_t byte = 0; byte < 8; ++byte) {
    EXPECT((twin::machine().undefined()[kD + byte] != 0) == (byte == 1));
  }
  simd::barrier<simd::kPipeV>();
}

}  // namespace

int main() {
  twin::Machine core(kUbBytes2201);
  twin::use_machine(&core);
  core.begin_core(0, 1, 1);
  for (int round = 0; round < 10; ++round) {
    for (U32 count : {1u, 7u, 64u, 100u, 1000u}) {
      test_arithmetic<I32>(count, 1000000);
      test_arithmetic<std::int16_t>(count, 3000);
      test_bits(count);
      test_shifts<I32>(count);
      test_shifts<U32>(count);
      test_shifts_of_16_bits(count);
      test_casts(count);
      test_fills<U16>(count);
      test_fills<U32>(count);
      test_compress<U16>(count);
      test_compress<U32>(count);
      test_gather<U16>(count);
      test_gather<U32>(count);
      test_count_and_pick(count);
    }
    for (U32 count : {64u, 128u, 1024u}) test_compares(count);
    for (U32 count : {128u, 1024u}) test_compares_of_bits(count);
    test_sorting();
    test_undefined_items();
  }
  twin::use_machine(nullptr);
  return expect::verdict();
}
