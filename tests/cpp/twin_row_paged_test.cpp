// row_paged on the twin against the CPU backend: seeded random calls over the whole contract, every
// architecture, dtype and tier, exact comparison of every output.
//   twin_row_paged_test [CASES [DAV [FILE:LINE...]]]
// CASES per dtype (default 250); only dav-DAV (2201, 3510; default both); without the flags and
// barriers at the places named (tools/mutate_ascend.py).
#include <algorithm>
#include <cstring>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "ascend/launch.h"
#include "ascend/twin/launch_twin.h"
#include "cpu/topk_cpu.h"
#include "expect.h"

namespace {

using namespace deepselect;

std::mt19937_64 generator(20240611);

std::int64_t draw(std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(generator);
}

template <class T>
const T& choose(const std::vector<T>& choices) {
  return choices[static_cast<std::size_t>(draw(0, static_cast<std::int64_t>(choices.size()) - 1))];
}

// Bits of a float of 2 or 4 bytes, of a kind that changes from row to row.
std::uint32_t draw_bits(ValueType type, int kind, std::int64_t position) {
  const bool is_wide = value_bytes(type) == 4;
  const auto raw = static_cast<std::uint32_t>(generator());
  std::uint32_t wide = raw;
  switch (kind) {
    case 0:  // any pattern: NaN, infinities, subnormals
      break;
    case 1:  // few values
      wide = 0x3F800000u + ((raw & 7u) << 20);
      break;
    case 2:  // all equal
      wide = 0xBF800000u;
      break;
    case 3:  // signed zeros and tiny numbers
      wide = (raw & 0x80000000u) | ((raw & 3u) == 0 ? 0x00010000u : 0u);
      break;
    case 4:  // ascending
      wide = 0x3F800000u + static_cast<std::uint32_t>(position) * (is_wide ? 1 : 0x10);
      break;
    case 5: {  // normal-like
      float value = 0;
      for (int i = 0; i < 4; ++i) value += static_cast<float>(draw(-1000, 1000)) / 1000.0f;
      std::memcpy(&wide, &value, 4);
      break;
    }
    case 6:  // NaN only
      wide = raw | 0x7FFF0000u;
      break;
    default:  // negatives and NaN of both signs
      wide = (raw & 15u) == 0 ? (raw | 0x7FC00000u) : (raw | 0x80000000u);
      break;
  }
  if (is_wide) return wide;
  if (kind == 4) return 0x3C00u + static_cast<std::uint32_t>(position / 16 % 0x3000);
  return type == ValueType::kFloat16 && kind == 5 ? (wide >> 16) ^ 0x0400u : wide >> 16;
}

struct Outputs {
  std::vector<std::uint8_t> values, indices, raw;
  Outputs(const TopkParams& params)
      : values(static_cast<std::size_t>(params.num_rows * params.values_row_stride_items *
                                        value_bytes(params.value_type)),
               0xC5),
        indices(static_cast<std::size_t>(params.num_rows * params.indices_row_stride_items * 8),
                0xC5),
        raw(static_cast<std::size_t>(params.num_rows * params.raw_indices_row_stride_items * 4),
            0xC5) {}
  void attach(TopkParams* params, bool with_values, bool with_raw) {
    params->values = with_values ? values.data() : nullptr;
    params->indices = indices.data();
    params->raw_indices = with_raw ? reinterpret_cast<std::int32_t*>(raw.data()) : nullptr;
  }
};

void serial_for(std::int64_t begin, std::int64_t end, std::int64_t, cpu::ThreadPool::Body body,
                void* context) {
  body(begin, end, context);
}

// Any 64 bits, or such that sums with positions of the row cross 2^31, 2^32 or 0.
std::int64_t draw_offset(std::int64_t num_cols) {
  const auto any = static_cast<std::int64_t>(generator());
  const std::int64_t edges[] = {any, std::int64_t{1} << 31, std::int64_t{1} << 32, 0};
  const std::int64_t edge = edges[draw(0, 3)];
  return edge == any ? any : edge - draw(0, num_cols);
}

RowVector vector_of(const std::vector<std::int64_t>& values) {
  return {values.data(), 1, IndexType::kInt64, {}};
}

void run_case(int number, ValueType type) {
  TopkParams params{};
  params.value_type = type;
  params.num_rows = draw(1, 5);
  params.k = choose<std::int64_t>(
      {1, 2, 7, 31, 127, 128, 129, 500, 511, 512, 513, 1023, 1024, 1025, 2048, 4095, 4096});
  params.num_cols = choose<std::int64_t>(
      {0,    1,    5,    127,  128,   129,   2047,     2048,         2049,  4095,  4096,
       6000, 8191, 8192, 8193, 20000, 40001, params.k, params.k + 1, 70000, 131072});
  params.input_row_stride_items = (params.num_cols + 16 + 15) / 16 * 16;
  params.values_row_stride_items = params.k + draw(0, 3);
  params.indices_row_stride_items = params.k + draw(0, 3);
  params.raw_indices_row_stride_items = params.k + draw(0, 3);
  params.order = choose<Order>({Order::kValue, Order::kIndex});
  params.nan_rule = choose<NanRule>({NanRule::kLargest, NanRule::kSmallest, NanRule::kPoison});
  params.largest = draw(0, 1) == 0;
  params.index_type = draw(0, 1) == 0 ? IndexType::kInt32 : IndexType::kInt64;
  params.pad_index = -1 - draw(0, 5);
  params.pad_value_bits = static_cast<std::uint32_t>(draw(0, 0xFFFF));

  const auto num_items = static_cast<std::size_t>(params.num_rows * params.input_row_stride_items);
  std::vector<std::uint32_t> input((num_items * value_bytes(type) + 3) / 4 + 8);
  auto* bytes = reinterpret_cast<std::uint8_t*>(input.data());
  bytes += (32 - reinterpret_cast<std::uintptr_t>(bytes) % 32) % 32;
  std::vector<std::uint8_t> storage(num_items * value_bytes(type));
  for (std::int64_t row = 0; row < params.num_rows; ++row) {
    const int kind = static_cast<int>(draw(0, 7));
    for (std::int64_t i = 0; i < params.num_cols; ++i) {
      const std::uint32_t bits = draw_bits(type, kind, i);
      std::memcpy(storage.data() + (row * params.input_row_stride_items + i) * value_bytes(type),
                  &bits, value_bytes(type));
    }
  }
  params.input = storage.data();

  std::vector<std::int64_t> begin, end, offset, table_row, table_begin;
  for (std::int64_t row = 0; row < params.num_rows; ++row) {
    begin.push_back(draw(-3, params.num_cols / 2 + 3));
    end.push_back(draw(params.num_cols / 3, params.num_cols + 3));
    offset.push_back(draw_offset(params.num_cols));
    table_row.push_back(draw(-1, 3));
    table_begin.push_back(draw(-1, 4));
  }
  if (draw(0, 1) == 0) params.begin = vector_of(begin);
  if (draw(0, 1) == 0) params.end = vector_of(end);
  std::vector<std::int32_t> table;
  const std::int64_t mapping = draw(0, 3);
  if (mapping == 0) params.index_offset = vector_of(offset);
  if (mapping == 1) {
    params.log2_page_size = static_cast<std::int32_t>(draw(0, 8));
    params.num_tables = 4;
    params.num_table_pages = (params.num_cols >> params.log2_page_size) + draw(0, 5);
    params.page_table_row_stride_items = params.num_table_pages + 3;
    params.page_table_col_stride_items = 1;
    if (draw(0, 1) == 0)
      std::swap(params.page_table_col_stride_items, params.page_table_row_stride_items);
    for (std::int64_t i = 0; i < (params.num_table_pages + 3) * (params.num_table_pages + 4); ++i) {
      if (i > (params.num_table_pages + 3) * 4) break;
      table.push_back(static_cast<std::int32_t>(generator()));
    }
    if (params.page_table_row_stride_items == 1) params.page_table_col_stride_items = 4;
    params.page_table = table.data();
    params.page_table_row = vector_of(table_row);
    params.page_table_begin = vector_of(table_begin);
  }

  const bool with_values = draw(0, 3) != 0;
  const bool with_raw = draw(0, 1) == 0;
  Outputs expected(params);
  expected.attach(&params, with_values, with_raw);
  cpu::topk(params, {1, &serial_for});
  Outputs actual(params);
  actual.attach(&params, with_values, with_raw);
  const auto num_cores = static_cast<std::uint32_t>(choose<std::int64_t>({1, 3, 16, 64}));
  const ascend::Plan plan = ascend::make_plan(params, {twin::device().architecture, num_cores});
  std::vector<std::uint64_t> workspace(plan.workspace_bytes / 8 + 1);
  try {
    ascend::launch({params, plan, workspace.data(), nullptr});
  } catch (const twin::Fault& fault) {
    std::cerr << fault.what() << "\n";
    EXPECT(!"a fault of the twin");
  }
  const bool same = actual.values == expected.values && actual.indices == expected.indices &&
                    actual.raw == expected.raw;
  EXPECT(same);
  if (!same) {
    std::cerr << "case " << number << ": architecture "
              << static_cast<int>(twin::device().architecture) << " type " << static_cast<int>(type)
              << " rows " << params.num_rows << " cols " << params.num_cols << " k " << params.k
              << " order " << static_cast<int>(params.order) << " nan "
              << static_cast<int>(params.nan_rule) << " largest " << params.largest << " slices "
              << plan.num_slices << " mapping " << mapping << " values "
              << (actual.values == expected.values) << " indices "
              << (actual.indices == expected.indices) << "\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const int num_cases = arguments.empty() ? 250 : std::stoi(arguments[0]);
  const std::string only = arguments.size() < 2 ? "" : arguments[1];
  for (std::size_t i = 2; i < arguments.size(); ++i) {
    const std::size_t colon = arguments[i].find(':');
    twin::omitted_sites().push_back(
        {arguments[i].substr(0, colon), std::stoi(arguments[i].substr(colon + 1))});
  }
  using ascend::Architecture;
  for (Architecture architecture : {Architecture::kDav3510, Architecture::kDav2201}) {
    const char* dav = architecture == Architecture::kDav3510 ? "3510" : "2201";
    if (!only.empty() && only != dav) continue;
    twin::device().architecture = architecture;
    for (int number = 0; number < num_cases; ++number) {
      for (ValueType type : {ValueType::kBFloat16, ValueType::kFloat16, ValueType::kFloat32}) {
        run_case(number, type);
      }
      if (!twin::omitted_sites().empty() && expect::num_failures != 0) return 1;
    }
  }
  return expect::verdict();
}
