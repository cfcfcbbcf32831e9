// Every register instruction of the twin against a plain loop over arrays, on random data and
// masks; the loops are written from the instructions' published description.
#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "ascend/simd/simd.h"
#include "expect.h"

namespace {

using namespace deepselect;
using namespace deepselect::ascend::simd;

std::mt19937 generator(7);

template <class T>
using Lanes = std::array<T, kLanes<T>>;
template <class T>
using Active = std::array<bool, kLanes<T>>;

template <class T>
Lanes<T> random_lanes(unsigned range = 0) {
  Lanes<T> lanes;
  for (T& lane : lanes) {
    lane = static_cast<T>(range == 0 ? generator() : generator() % range);
  }
  return lanes;
}

template <class T>
Active<T> random_active() {
  Active<T> active;
  for (bool& lane : active) lane = (generator() & 1) != 0;
  return active;
}

template <class T>
Register<T> to_register(const Lanes<T>& lanes) {
  Register<T> reg;
  std::copy(lanes.begin(), lanes.end(), reg.lane);
  reg.set_defined();
  return reg;
}

template <class T>
Mask to_mask(const Active<T>& active) {
  Mask mask;
  for (int i = 0; i < kLanes<T>; ++i) mask.set_lane<T>(i, active[i]);
  return mask;
}

template <class T>
bool holds(const Register<T>& reg, const Lanes<T>& lanes) {
  for (int i = 0; i < kLanes<T>; ++i) {
    if (reg.is_undefined(i) || reg.lane[i] != lanes[i]) return false;
  }
  return true;
}

template <class T>
bool holds(const Mask& mask, const Active<T>& active) {
  for (int i = 0; i < kLanes<T>; ++i) {
    if ((mask.bit[i * sizeof(T)] & Mask::kUndefined) != 0) return false;
    if (mask.lane<T>(i) != active[i]) return false;
  }
  return true;
}

// Writes `data` into the buffer as a copy would.
template <class T, std::size_t kSize>
T* place(std::size_t offset, const std::array<T, kSize>& data) {
  T* target = ub_at<T>(offset);
  std::memcpy(target, data.data(), sizeof(data));
  std::memset(twin::machine().undefined() + offset, 0, sizeof(data));
  return target;
}

template <class T>
void test_masks() {
  EXPECT(holds<T>(all_lanes<T>(), [] {
    Active<T> a;
    a.fill(true);
    return a;
  }()));
  for (std::uint32_t count : {0u, 1u, 5u, std::uint32_t{kLanes<T>}, 3u * kLanes<T> + 2}) {
    std::uint32_t rest = count;
    const Mask mask = take_lanes<T>(rest);
    Active<T> expected{};
    for (int i = 0; i < kLanes<T>; ++i) expected[i] = static_cast<std::uint32_t>(i) < count;
    EXPECT(holds<T>(mask, expected));
    EXPECT(rest == (count > kLanes<T> ? count - kLanes<T> : 0));
  }
  const Active<T> a = random_active<T>(), b = random_active<T>(), active = random_active<T>();
  Mask result;
  Active<T> expected;
  mask_or(result, to_mask<T>(a), to_mask<T>(b), to_mask<T>(active));
  for (int i = 0; i < kLanes<T>; ++i) expected[i] = (a[i] || b[i]) && active[i];
  EXPECT(holds<T>(result, expected));
  mask_not(result, to_mask<T>(a), to_mask<T>(active));
  for (int i = 0; i < kLanes<T>; ++i) expected[i] = !a[i] && active[i];
  EXPECT(holds<T>(result, expected));
}

template <class T>
void test_compares() {
  const Lanes<T> a = random_lanes<T>(5), b = random_lanes<T>(5);
  const Active<T> active = random_active<T>();
  Register<T> ra = to_register<T>(a), rb = to_register<T>(b);
  Mask result;
  Active<T> expected;
  auto check = [&](auto compare, auto instruction) {
    instruction(result);
    for (int i = 0; i < kLanes<T>; ++i) expected[i] = compare(a[i], b[i]) && active[i];
    EXPECT(holds<T>(result, expected));
  };
  const Mask mask = to_mask<T>(active);
  check([](T x, T y) { return x == y; }, [&](Mask& m) { equal(m, ra, rb, mask); });
  check([](T x, T y) { return x < y; }, [&](Mask& m) { less(m, ra, rb, mask); });
  check([](T x, T y) { return x <= y; }, [&](Mask& m) { less_equal(m, ra, rb, mask); });
  check([](T x, T y) { return x > y; }, [&](Mask& m) { greater(m, ra, rb, mask); });
  check([](T x, T y) { return x >= y; }, [&](Mask& m) { greater_equal(m, ra, rb, mask); });
}

template <class T>
void test_signed_compare() {
  const Lanes<T> a = random_lanes<T>(), b = random_lanes<T>();
  Register<T> ra = to_register<T>(a), rb = to_register<T>(b);
  using Signed = std::make_signed_t<T>;
  Mask result;
  Active<T> expected;
  greater(result, view_as<Signed>(ra), view_as<Signed>(rb), all_lanes<T>());
  for (int i = 0; i < kLanes<T>; ++i) {
    expected[i] = static_cast<Signed>(a[i]) > static_cast<Signed>(b[i]);
  }
  EXPECT(holds<T>(result, expected));
}

template <class T>
void test_arithmetic() {
  using W = std::make_unsigned_t<T>;
  const Lanes<T> a = random_lanes<T>(), b = random_lanes<T>();
  const Active<T> active = random_active<T>();
  const Mask mask = to_mask<T>(active);
  Register<T> ra = to_register<T>(a), rb = to_register<T>(b), result;
  Lanes<T> expected;
  auto check = [&](auto plain) {
    for (int i = 0; i < kLanes<T>; ++i) expected[i] = active[i] ? static_cast<T>(plain(i)) : T(0);
    EXPECT(holds<T>(result, expected));
  };
  add(result, ra, rb, mask);
  check([&](int i) { return W(a[i]) + W(b[i]); });
  subtract(result, ra, rb, mask);
  check([&](int i) { return W(a[i]) - W(b[i]); });
  minimum(result, ra, rb, mask);
  check([&](int i) { return std::min(a[i], b[i]); });
  maximum(result, ra, rb, mask);
  check([&](int i) { return std::max(a[i], b[i]); });
  bit_and(result, ra, rb, mask);
  check([&](int i) { return a[i] & b[i]; });
  bit_or(result, ra, rb, mask);
  check([&](int i) { return a[i] | b[i]; });
  bit_xor(result, ra, rb, mask);
  check([&](int i) { return a[i] ^ b[i]; });
  add_scalar(result, ra, T(77), mask);
  check([&](int i) { return W(a[i]) + 77; });
  for (std::int16_t shift : {0, 1, 7, int(8 * sizeof(T)) - 1}) {
    shift_left(result, ra, shift, mask);
    check([&](int i) { return static_cast<W>(W(a[i]) << shift); });
    shift_right(result, ra, shift, mask);
    check([&](int i) { return a[i] >> shift; });
  }
  if constexpr (std::is_unsigned_v<T>) {
    shift_right(result, ra, 8 * sizeof(T), mask);
    check([](int) { return 0; });
  }
  // In place, as the kernels use it.
  result = ra;
  add(result, result, result, mask);
  check([&](int i) { return W(a[i]) + W(a[i]); });
}

template <class T>
void test_moves() {
  const Lanes<T> a = random_lanes<T>(), b = random_lanes<T>();
  const Active<T> active = random_active<T>();
  Register<T> ra = to_register<T>(a), rb = to_register<T>(b), result, other;
  Lanes<T> expected;
  select(result, ra, rb, to_mask<T>(active));
  for (int i = 0; i < kLanes<T>; ++i) expected[i] = active[i] ? a[i] : b[i];
  EXPECT(holds<T>(result, expected));
  fill(result, T(0x5B));
  expected.fill(T(0x5B));
  EXPECT(holds<T>(result, expected));
  broadcast_first(result, ra, to_mask<T>(active));
  for (int i = 0; i < kLanes<T>; ++i) expected[i] = active[i] ? a[0] : T(0);
  EXPECT(holds<T>(result, expected));
  broadcast_last(result, ra, to_mask<T>(active));
  for (int i = 0; i < kLanes<T>; ++i) expected[i] = active[i] ? a[kLanes<T> - 1] : T(0);
  EXPECT(holds<T>(result, expected));

  std::array<T, 2 * kLanes<T>> joined, mixed;
  std::copy(a.begin(), a.end(), joined.begin());
  std::copy(b.begin(), b.end(), joined.begin() + kLanes<T>);
  for (int i = 0; i < kLanes<T>; ++i) {
    mixed[2 * i] = a[i];
    mixed[2 * i + 1] = b[i];
  }
  interleave(result, other, ra, rb);
  EXPECT(std::equal(result.lane, result.lane + kLanes<T>, mixed.begin()));
  EXPECT(std::equal(other.lane, other.lane + kLanes<T>, mixed.begin() + kLanes<T>));
  deinterleave(result, other, ra, rb);
  for (int i = 0; i < kLanes<T>; ++i) {
    EXPECT(result.lane[i] == joined[2 * i] && other.lane[i] == joined[2 * i + 1]);
  }
}

template <class T>
void test_memory() {
  const Lanes<T> a = random_lanes<T>();
  T* source = place<T>(1024, a);
  Register<T> result;
  load(result, source);
  EXPECT(holds<T>(result, a));
  load_broadcast(result, source + 3);
  Lanes<T> expected;
  expected.fill(a[3]);
  EXPECT(holds<T>(result, expected));

  // Active lanes only, the others keep what was there.
  const Lanes<T> before = random_lanes<T>();
  const Active<T> active = random_active<T>();
  T* target = place<T>(2048, before);
  Register<T> ra = to_register<T>(a);
  store(target, ra, to_mask<T>(active));
  for (int i = 0; i < kLanes<T>; ++i) EXPECT(target[i] == (active[i] ? a[i] : before[i]));
  store_first(target + 5, ra);
  EXPECT(target[5] == a[0]);

  if constexpr (sizeof(T) > 1) {
    const Lanes<T> index = random_lanes<T>(kLanes<T>);
    Register<T> indices = to_register<T>(index);
    gather(result, source, indices, to_mask<T>(active));
    for (int i = 0; i < kLanes<T>; ++i) expected[i] = active[i] ? a[index[i]] : T(0);
    EXPECT(holds<T>(result, expected));

    count_up<T>(result, T(9));
    for (int i = 0; i < kLanes<T>; ++i) expected[i] = static_cast<T>(9 + i);
    EXPECT(holds<T>(result, expected));
  }
}

void test_split_load() {
  std::array<std::uint8_t, 512> bytes;
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(generator());
  Register<std::uint8_t> even, odd;
  load_split_bytes(even, odd, place(4096, bytes));
  for (int i = 0; i < 256; ++i) {
    EXPECT(even.lane[i] == bytes[2 * i] && odd.lane[i] == bytes[2 * i + 1]);
  }
}

// Streams of every length, from an unaligned start: exactly the active lanes, in order; bytes
// before and behind keep their values.
template <class T>
void test_stream() {
  for (int num_vectors = 0; num_vectors <= 5; ++num_vectors) {
    const std::size_t start = 8192 + sizeof(T) * (generator() % 40);
    std::array<std::uint8_t, 4096> before;
    for (auto& byte : before) byte = static_cast<std::uint8_t>(generator());
    std::uint8_t* area = place(8192 - 64, before);
    T* base = ub_at<T>(start);
    std::vector<T> expected;
    Stream stream;
    stream_begin();
    for (int v = 0; v < num_vectors; ++v) {
      const Lanes<T> lanes = random_lanes<T>();
      Active<T> active = random_active<T>();
      if (v == 2) active.fill(false);
      if (v == 3) active.fill(true);
      Register<T> reg = to_register<T>(lanes);
      stream_append(base, stream, reg, to_mask<T>(active));
      for (int i = 0; i < kLanes<T>; ++i) {
        if (active[i]) expected.push_back(lanes[i]);
      }
      // What is not a whole block yet has not arrived.
      const std::size_t bytes = expected.size() * sizeof(T);
      const std::size_t arrived = (start + bytes) / 32 * 32;
      if (arrived > start && arrived < start + bytes) {
        EXPECT(std::memcmp(ub_at<std::uint8_t>(arrived), before.data() + (arrived - (8192 - 64)),
                           start + bytes - arrived) == 0);
      }
    }
    stream_end(base, stream);
    auto* count = ub_at<std::uint32_t>(16384);
    store_stream_bytes(count);
    EXPECT(*count == expected.size() * sizeof(T));
    EXPECT(std::equal(expected.begin(), expected.end(), base));
    const std::size_t head = start - (8192 - 64);
    EXPECT(std::memcmp(area, before.data(), head) == 0);
    const std::size_t past = head + expected.size() * sizeof(T);
    EXPECT(std::memcmp(area + past, before.data() + past, before.size() - past) == 0);
  }
}

void test_histogram() {
  Lanes<std::uint16_t> low = random_lanes<std::uint16_t>(1000),
                       high = random_lanes<std::uint16_t>();
  Register<std::uint16_t> low_counts = to_register<std::uint16_t>(low);
  Register<std::uint16_t> high_counts = to_register<std::uint16_t>(high);
  const Lanes<std::uint8_t> bytes = random_lanes<std::uint8_t>();
  const Active<std::uint8_t> active = random_active<std::uint8_t>();
  Register<std::uint8_t> reg = to_register<std::uint8_t>(bytes);
  count_up_to_low(low_counts, reg, to_mask<std::uint8_t>(active));
  count_up_to_high(high_counts, reg, to_mask<std::uint8_t>(active));
  for (int n = 0; n < 128; ++n) {
    for (int i = 0; i < 256; ++i) {
      if (!active[i]) continue;
      low[n] = static_cast<std::uint16_t>(low[n] + (bytes[i] <= n));
      high[n] = static_cast<std::uint16_t>(high[n] + (bytes[i] <= 128 + n));
    }
  }
  EXPECT(holds<std::uint16_t>(low_counts, low));
  EXPECT(holds<std::uint16_t>(high_counts, high));
}

void test_reductions() {
  using U16 = std::uint16_t;
  for (int round = 0; round < 20; ++round) {
    const Lanes<U16> a = random_lanes<U16>(round % 2 == 0 ? 0 : 7);
    const Active<U16> active = round == 0 ? Active<U16>{} : random_active<U16>();
    Register<U16> ra = to_register<U16>(a), extreme;
    Register<std::uint32_t> total;
    std::uint32_t plain_sum = 0;
    U16 least = 0xFFFF, greatest = 0;
    int least_at = 0;
    for (int i = 0; i < 128; ++i) {
      if (!active[i]) continue;
      plain_sum += a[i];
      if (a[i] < least) {
        least = a[i];
        least_at = i;
      }
      greatest = std::max(greatest, a[i]);
    }
    sum(total, ra, to_mask<U16>(active));
    EXPECT(total.lane[0] == plain_sum && total.lane[1] == 0 && total.lane[63] == 0);
    reduce_minimum(extreme, ra, to_mask<U16>(active));
    EXPECT(extreme.lane[0] == least && extreme.lane[1] == least_at && extreme.lane[2] == 0);
    reduce_maximum(extreme, ra, to_mask<U16>(active));
    EXPECT(extreme.lane[0] == greatest);
  }
  const Lanes<std::uint32_t> wide = random_lanes<std::uint32_t>();
  Register<std::uint32_t> source = to_register<std::uint32_t>(wide);
  Register<U16> narrowed;
  narrow(narrowed, source);
  for (int i = 0; i < 64; ++i) EXPECT(narrowed.lane[i] == static_cast<U16>(wide[i]));
  EXPECT(narrowed.is_undefined(64) && narrowed.is_undefined(127));
}

// A value that was never written stays recognisable through arithmetic and stores, and only there.
void test_undefined_values() {
  using U16 = std::uint16_t;
  place<U16>(20480, random_lanes<U16>());
  twin::machine().undefined()[20480 + 6] = 1;  // one byte of lane 3
  Register<U16> value, other = to_register<U16>(random_lanes<U16>());
  load(value, ub_at<U16>(20480));
  add(value, value, other, all_lanes<U16>());
  for (int i = 0; i < 128; ++i) EXPECT(value.is_undefined(i) == (i == 3));
  store(ub_at<U16>(20992), value, all_lanes<U16>());
  for (int i = 0; i < 256; ++i) {
    EXPECT((twin::machine().undefined()[20992 + i] != 0) == (i / 2 == 3));
  }
  Mask mask;
  greater(mask, value, other, all_lanes<U16>());
  for (int i = 0; i < 128; ++i) EXPECT(((mask.bit[2 * i] & Mask::kUndefined) != 0) == (i == 3));
}

void test_sort() {
  std::array<std::uint32_t, 300> source;
  for (auto& item : source) item = generator() % 40;
  std::uint32_t* items = place(0, source);
  auto* sorted = ub_at<std::uint32_t>(4096);
  auto* index = ub_at<std::uint32_t>(8192);
  sort_ascending(sorted, index, items, ub_at<std::uint8_t>(12288), 512 + 11 * 300, 300);
  for (int i = 0; i < 300; ++i) {
    EXPECT(sorted[i] == source[index[i]]);
    if (i == 0) continue;
    EXPECT(sorted[i - 1] < sorted[i] || (sorted[i - 1] == sorted[i] && index[i - 1] < index[i]));
  }
}

// Copies of any length from and to any address of global memory: these bytes, no others. What fills
// the last block in the buffer counts as never written.
void test_copies() {
  std::vector<std::uint8_t> source(700), target(700);
  twin::machine().gm_ranges() = {
      {reinterpret_cast<std::uintptr_t>(source.data()),
       reinterpret_cast<std::uintptr_t>(source.data() + source.size()), false},
      {reinterpret_cast<std::uintptr_t>(target.data()),
       reinterpret_cast<std::uintptr_t>(target.data() + target.size()), true}};
  for (std::uint32_t bytes : {1u, 2u, 31u, 32u, 33u, 64u, 300u}) {
    for (auto& byte : source) byte = static_cast<std::uint8_t>(generator());
    for (auto& byte : target) byte = static_cast<std::uint8_t>(generator());
    const std::vector<std::uint8_t> before = target;
    const std::size_t from = generator() % 300, to = generator() % 300;
    auto* landing = ub_at<std::uint8_t>(65536);
    copy_in(landing, source.data() + from, bytes);
    EXPECT(std::memcmp(landing, source.data() + from, bytes) == 0);
    const std::uint8_t* undefined = twin::machine().undefined() + 65536;
    for (std::uint32_t i = 0; i < (bytes + 31) / 32 * 32; ++i) {
      EXPECT((undefined[i] != 0) == (i >= bytes));
    }
    set<kPipeMte2, kPipeMte3>(0);
    wait<kPipeMte2, kPipeMte3>(0);
    copy_out(target.data() + to, landing, bytes);
    set<kPipeMte3, kPipeMte2>(0);
    wait<kPipeMte3, kPipeMte2>(0);
    for (std::size_t i = 0; i < target.size(); ++i) {
      const bool is_copied = i >= to && i < to + bytes;
      EXPECT(target[i] == (is_copied ? source[from + i - to] : before[i]));
    }
  }
  auto* word = ub_at<std::uint32_t>(131072);
  store_ub(word, std::uint32_t{0x12345678});
  EXPECT(load_ub(word) == 0x12345678);
  EXPECT(load_gm(source.data() + 5) == source[5]);
}

}  // namespace

int main() {
  twin::Machine core(248 * 1024);
  twin::use_machine(&core);
  core.begin_core(0, 1, 1);
  for (int round = 0; round < 20; ++round) {
    DEEPSELECT_VECTOR_CALL(test_masks<std::uint8_t>());
    DEEPSELECT_VECTOR_CALL(test_masks<std::uint16_t>());
    DEEPSELECT_VECTOR_CALL(test_masks<std::uint32_t>());
    DEEPSELECT_VECTOR_CALL(test_compares<std::uint8_t>());
    DEEPSELECT_VECTOR_CALL(test_compares<std::uint16_t>());
    DEEPSELECT_VECTOR_CALL(test_compares<std::uint32_t>());
    DEEPSELECT_VECTOR_CALL(test_compares<std::int16_t>());
    DEEPSELECT_VECTOR_CALL(test_signed_compare<std::uint16_t>());
    DEEPSELECT_VECTOR_CALL(test_signed_compare<std::uint32_t>());
    DEEPSELECT_VECTOR_CALL(test_arithmetic<std::uint16_t>());
    DEEPSELECT_VECTOR_CALL(test_arithmetic<std::int16_t>());
    DEEPSELECT_VECTOR_CALL(test_arithmetic<std::uint32_t>());
    DEEPSELECT_VECTOR_CALL(test_arithmetic<std::int32_t>());
    DEEPSELECT_VECTOR_CALL(test_moves<std::uint8_t>());
    DEEPSELECT_VECTOR_CALL(test_moves<std::uint16_t>());
    DEEPSELECT_VECTOR_CALL(test_moves<std::uint32_t>());
    core.barrier(twin::kVector);
    DEEPSELECT_VECTOR_CALL(test_memory<std::uint8_t>());
    core.barrier(twin::kVector);
    DEEPSELECT_VECTOR_CALL(test_memory<std::uint16_t>());
    core.barrier(twin::kVector);
    DEEPSELECT_VECTOR_CALL(test_memory<std::uint32_t>());
    core.barrier(twin::kVector);
    DEEPSELECT_VECTOR_CALL(test_stream<std::uint16_t>());
    core.barrier(twin::kVector);
    DEEPSELECT_VECTOR_CALL(test_stream<std::uint32_t>());
    DEEPSELECT_VECTOR_CALL(test_split_load());
    DEEPSELECT_VECTOR_CALL(test_histogram());
  }
  DEEPSELECT_VECTOR_CALL(test_reductions());
  DEEPSELECT_VECTOR_CALL(test_undefined_values());
  core.barrier(twin::kVector);
  test_sort();
  test_copies();
  twin::use_machine(nullptr);
  return expect::verdict();
}
