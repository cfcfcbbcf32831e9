// Prints the cost model of a set of shapes, from what the twin counts. The model's rates are
// assumptions; no device was measured.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "ascend/launch.h"
#include "ascend/twin/launch_twin.h"

namespace {

using namespace deepselect;

using ascend::Architecture;

// Cycles of the vector pipe of dav-3510 if its three ports overlap perfectly. Memory: Ascend
// 950PR's platform file has 27 bytes a cycle and core (1650 MHz, 56 to 64 vector cores). All else
// is assumed.
struct Rates3510 {
  double bytes_in_per_cycle = 27;
  double registers_per_cycle = 2;  // two compute instructions issue a cycle
  double loads_per_cycle = 1;
  double stores_per_cycle = 1;
  double cycles_per_call = 30;        // start and drain of a vector function
  double cycles_per_round_trip = 60;  // the scalar unit reads a result and decides
  double sort_cycles_per_item = 2;    // the library's radix sort

  double vector_cycles(const twin::Counts& counts) const {
    const double compute =
        static_cast<double>(counts.vector_computes + counts.mask_computes) / registers_per_cycle;
    const double load = static_cast<double>(counts.vector_loads) / loads_per_cycle;
    const double store = static_cast<double>(counts.vector_stores) / stores_per_cycle;
    return std::max(compute, std::max(load, store)) +
           static_cast<double>(counts.vector_calls) * cycles_per_call +
           static_cast<double>(counts.scalar_round_trips) * cycles_per_round_trip +
           static_cast<double>(counts.sorted_items) * sort_cycles_per_item;
  }
  static std::uint64_t instructions(const twin::Counts& counts) {
    return counts.vector_computes + counts.mask_computes + counts.vector_loads +
           counts.vector_stores;
  }
};

// The same of dav-2201, where every instruction goes through the buffer. Memory: 1.6 TB/s over the
// 48 vector cores and 1850 MHz of Ascend 910B1's platform file. All else is assumed.
struct Rates2201 {
  double bytes_in_per_cycle = 18;
  double cycles_per_repeat = 1;       // 256 bytes of one instruction
  double cycles_per_call = 12;        // start of an instruction behind a barrier
  double cycles_per_round_trip = 60;  // the scalar unit reads a result and decides
  double sort_cycles_per_item = 1;    // of Sort32 and of each merge

  double vector_cycles(const twin::Counts& counts) const {
    return static_cast<double>(counts.ub_vector_ops) * cycles_per_repeat +
           static_cast<double>(counts.ub_vector_calls) * cycles_per_call +
           static_cast<double>(counts.scalar_round_trips) * cycles_per_round_trip +
           static_cast<double>(counts.sorted_items) * sort_cycles_per_item;
  }
  // Each of 256 bytes.
  static std::uint64_t instructions(const twin::Counts& counts) { return counts.ub_vector_ops; }
};

// What a row holds.
enum class Values {
  kNormal,
  kEightValues,
  kOneValue,
  kMostlyZeros,  // 63 of 64
};

float draw(Values values, std::mt19937& generator, std::normal_distribution<float>& normal) {
  switch (values) {
    case Values::kNormal:
      break;
    case Values::kEightValues:
      return 1.0f + static_cast<float>(generator() % 8) / 8;
    case Values::kOneValue:
      return -1.0f;
    case Values::kMostlyZeros:
      if (generator() % 64 != 0) return 0.0f;
      break;
  }
  return normal(generator);
}

// What the twin counts of one row.
twin::Counts count(Values kind, ValueType type, std::int64_t cols, std::int64_t k) {
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  const int item_bytes = value_bytes(type);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(cols * item_bytes));
  for (std::int64_t i = 0; i < cols; ++i) {
    const float value = draw(kind, generator, normal);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, 4);
    if (item_bytes == 2) bits >>= 16;
    std::memcpy(row.data() + i * item_bytes, &bits, item_bytes);
  }
  std::vector<std::uint8_t> values(static_cast<std::size_t>(k * item_bytes));
  std::vector<std::int32_t> indices(static_cast<std::size_t>(k));
  TopkParams params{};
  params.input = row.data();
  params.values = values.data();
  params.indices = indices.data();
  params.num_rows = 1;
  params.num_cols = cols;
  params.k = k;
  params.value_type = type;
  params.largest = true;
  params.order = Order::kAny;
  twin::Counts counts;
  twin::device().counts = &counts;
  // As one of many rows: one core, not shared.
  ascend::launch(
      {params, ascend::make_plan(params, {twin::device().architecture, 1}), nullptr, nullptr});
  twin::device().counts = nullptr;
  return counts;
}

template <class Rates>
double copy_cycles(const twin::Counts& counts) {
  return static_cast<double>(counts.bytes_in) / Rates{}.bytes_in_per_cycle;
}

template <class Rates>
void print_cost(const char* type_name, ValueType type, std::int64_t cols, std::int64_t k) {
  const twin::Counts counts = count(Values::kNormal, type, cols, k);
  const double copy = copy_cycles<Rates>(counts);
  const double vector = Rates{}.vector_cycles(counts);
  const std::uint64_t scalar = counts.scalar_ub_accesses + counts.scalar_gm_accesses + counts.waits;
  std::printf(
      "| %s | %lld | %lld | %.0f | %llu | %llu | %llu | %.0f | %.0f | %.2f | %s | %.0f %% |\n",
      type_name, static_cast<long long>(cols), static_cast<long long>(k),
      static_cast<double>(counts.bytes_in) / 1024,
      static_cast<unsigned long long>(counts.copies_in + counts.copies_out),
      static_cast<unsigned long long>(scalar),
      static_cast<unsigned long long>(Rates::instructions(counts)), copy, vector, vector / copy,
      vector > copy ? "V" : "MTE2", 100 * copy / std::max(copy, vector));
}

// Vector time over copy time where many elements are equal.
template <class Rates>
void print_ties(const char* type_name, ValueType type, std::int64_t cols) {
  constexpr std::int64_t kK = 512;
  std::printf("| %s | %lld |", type_name, static_cast<long long>(cols));
  for (Values kind :
       {Values::kNormal, Values::kEightValues, Values::kOneValue, Values::kMostlyZeros}) {
    const twin::Counts counts = count(kind, type, cols, kK);
    std::printf(" %.2f |", Rates{}.vector_cycles(counts) / copy_cycles<Rates>(counts));
  }
  std::printf("\n");
}

template <class Rates>
void print_costs(Architecture architecture, const char* dav) {
  std::printf(
      "dav-%s\n\n| dtype | columns | k | KiB in | copies | S | V | copy cycles | vector cycles | "
      "vector / copy | bound by | share of the memory floor |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|\n",
      dav);
  twin::device().architecture = architecture;
  for (const auto& [name, type] :
       {std::pair{"bfloat16", ValueType::kBFloat16}, std::pair{"float32", ValueType::kFloat32}}) {
    for (std::int64_t k : {512, 2048}) {
      for (std::int64_t cols : {16384, 65536, 131072, 262144, 1048576}) {
        print_cost<Rates>(name, type, cols, k);
      }
    }
  }
  std::printf(
      "\ndav-%s, k = 512: vector / copy\n\n"
      "| dtype | columns | normal | eight values | one value | 63 of 64 zeros |\n"
      "|---|---|---|---|---|---|\n",
      dav);
  for (const auto& [name, type] :
       {std::pair{"bfloat16", ValueType::kBFloat16}, std::pair{"float32", ValueType::kFloat32}}) {
    for (std::int64_t cols : {131072, 262144, 1048576}) print_ties<Rates>(name, type, cols);
  }
}

}  // namespace

int main() {
  print_costs<Rates3510>(Architecture::kDav3510, "3510");
  std::printf("\n");
  print_costs<Rates2201>(Architecture::kDav2201, "2201");
  return 0;
}
