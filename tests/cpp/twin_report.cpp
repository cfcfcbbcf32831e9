// Prints the unified-buffer plan of every configuration, or the cost model of a set of shapes, from
// what the twin counts. The model's rates are assumptions; no device was measured.
//   twin_report ub-plan | twin_report cost
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ascend/dispatch.h"
#include "ascend/launch.h"
#include "ascend/twin/launch_twin.h"

namespace {

using namespace deepselect;

// Published figures of Ascend 950PR (its platform file: 1650 MHz, 27 bytes a cycle and core from
// memory, 256-byte registers; 56 to 64 vector cores) and assumptions, each marked.
struct Rates {
  double bytes_in_per_cycle = 27;     // one core's share of the memory's rate
  double registers_per_cycle = 2;     // assumed: two compute instructions issue a cycle
  double loads_per_cycle = 1;         // assumed
  double stores_per_cycle = 1;        // assumed
  double cycles_per_call = 30;        // assumed: start and drain of a vector function
  double cycles_per_round_trip = 60;  // assumed: the scalar unit reads a result and decides
  double sort_cycles_per_item = 2;    // assumed: the library's radix sort
};

// Cycles of the vector pipe if its three ports overlap perfectly.
double vector_cycles(const twin::Counts& counts, const Rates& rates) {
  const double compute = static_cast<double>(counts.vector_computes + counts.mask_computes) /
                         rates.registers_per_cycle;
  const double load = static_cast<double>(counts.vector_loads) / rates.loads_per_cycle;
  const double store = static_cast<double>(counts.vector_stores) / rates.stores_per_cycle;
  const double busiest = std::max(compute, std::max(load, store));
  return busiest + static_cast<double>(counts.vector_calls) * rates.cycles_per_call +
         static_cast<double>(counts.scalar_round_trips) * rates.cycles_per_round_trip +
         static_cast<double>(counts.sorted_items) * rates.sort_cycles_per_item;
}

void print_cost(const char* type_name, ValueType type, std::int64_t cols, std::int64_t k) {
  std::mt19937 generator(1);
  std::normal_distribution<float> normal;
  const int item_bytes = value_bytes(type);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(cols * item_bytes));
  for (std::int64_t i = 0; i < cols; ++i) {
    const float value = normal(generator);
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

  const Rates rates;
  const double copy = static_cast<double>(counts.bytes_in) / rates.bytes_in_per_cycle;
  const double vector = vector_cycles(counts, rates);
  const double per_register = static_cast<double>(counts.vector_computes + counts.mask_computes +
                                                  counts.vector_loads + counts.vector_stores) /
                              (static_cast<double>(counts.bytes_in) / 256);
  std::printf("| %s | %lld | %lld | %.0f | %.0f | %.2f | %.1f | %s | %.0f %% |\n", type_name,
              static_cast<long long>(cols), static_cast<long long>(k), copy, vector, vector / copy,
              per_register, vector > copy ? "V" : "MTE2", 100 * copy / std::max(copy, vector));
}

void print_all_costs() {
  std::printf(
      "| dtype | columns | k | copy cycles | vector cycles | vector / copy | instructions per 256 "
      "bytes | bound by | share of the memory floor |\n|---|---|---|---|---|---|---|---|---|\n");
  for (const auto& [name, type] :
       {std::pair{"bfloat16", ValueType::kBFloat16}, std::pair{"float32", ValueType::kFloat32}}) {
    for (std::int64_t k : {512, 2048}) {
      for (std::int64_t cols : {16384, 65536, 131072, 262144, 1048576}) {
        print_cost(name, type, cols, k);
      }
    }
  }
}

void print_ub_plans() {
  for (const auto& [name, type] : {std::pair{"16-bit values", ValueType::kBFloat16},
                                   std::pair{"32-bit values", ValueType::kFloat32}}) {
    for (std::uint32_t max_k : ascend::kTiers) {
      ascend::dispatch<ascend::Architecture::kDav3510>(type, max_k, [&, name = name](auto config) {
        using Config = decltype(config);
        using Plan = ascend::UbPlan3510<Config::kValueType, typename Config::Tuning>;
        std::printf("%s, k <= %u: %u of %u bytes, %u candidates\n", name, max_k, Plan::kEnd,
                    ascend::kUbBytes3510, Plan::kCapacity);
        for (const ascend::UbBuffer& buffer : Plan::kBuffers) {
          std::printf("  %6u  %6u  %-10s %s\n", buffer.offset, buffer.bytes, buffer.name,
                      buffer.note);
        }
      });
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "ub-plan") {
    print_ub_plans();
  } else if (what == "cost") {
    print_all_costs();
  } else {
    std::fprintf(stderr, "usage: twin_report ub-plan | cost\n");
    return 2;
  }
  return 0;
}
