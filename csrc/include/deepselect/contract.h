// The contract of deepselect::topk as data: limits, enumerations and the one
// structure that describes a call to a backend. Torch-free C++17, read by g++,
// nvcc and bisheng alike. docs/contract.md says the same in words.
#pragma once

#include <cstddef>
#include <cstdint>

namespace deepselect {

enum class ValueType : std::uint8_t { kBFloat16, kFloat16, kFloat32, kInt32 };
enum class IndexType : std::uint8_t { kInt32, kInt64 };

// Order of the entries of one output row; pads come last in every order.
enum class Order : std::uint8_t {
  kAny,    // valid entries first, otherwise unstated
  kValue,  // best first, equal values by ascending position
  kIndex,  // ascending position
};

// Rank of NaN (every sign and payload alike) among the values of a row.
enum class NanRule : std::uint8_t {
  kLargest,   // above +inf
  kSmallest,  // below -inf
  kPoison,    // a window that holds one selects nothing
};

// What the values of a call are: the selected elements themselves, or a weight in float32 for each.
enum class Weights : std::uint8_t {
  kNone,
  kSoftmax,          // exp(score) over its sum in the row's window
  kSoftmaxSelected,  // ... over its sum in the selection
  kSigmoid,          // 1 / (1 + exp(-score))
  kSigmoidSelected,  // ... over its sum in the selection
};

constexpr bool is_sigmoid(Weights weights) {
  return weights == Weights::kSigmoid || weights == Weights::kSigmoidSelected;
}

constexpr bool is_share_of_selection(Weights weights) {
  return weights == Weights::kSoftmaxSelected || weights == Weights::kSigmoidSelected;
}

constexpr int value_bytes(ValueType type) {
  return type == ValueType::kBFloat16 || type == ValueType::kFloat16 ? 2 : 4;
}

constexpr bool is_floating(ValueType type) {
  return type != ValueType::kInt32;
}

// One value per row, int32 or int64, any stride; absent where data is null.
struct RowVector {
  const void* data;
  std::int64_t stride_items;
  IndexType type;
  std::uint8_t reserved[7];
};

// One call, checked: everything a backend needs, nothing that depends on torch.
// Plain data, so that it can be a kernel argument. Strides are in items.
struct TopkParams {
  const void* input;          // (num_rows, num_cols), inner stride 1
  void* values;               // (num_rows, k) or null: values are not wanted
  void* indices;              // (num_rows, k), of index_type
  std::int32_t* raw_indices;  // (num_rows, k) or null: positions relative to the window

  std::int64_t input_row_stride_items;
  std::int64_t values_row_stride_items;
  std::int64_t indices_row_stride_items;
  std::int64_t raw_indices_row_stride_items;

  std::int64_t num_rows;
  std::int64_t num_cols;
  std::int64_t k;

  RowVector begin;         // absent: 0
  RowVector end;           // absent: num_cols
  RowVector index_offset;  // absent: 0

  const std::int32_t* page_table;  // (num_tables, num_table_pages) or null
  std::int64_t page_table_row_stride_items;
  std::int64_t page_table_col_stride_items;
  std::int64_t num_tables;
  std::int64_t num_table_pages;
  RowVector page_table_row;    // absent: the row itself
  RowVector page_table_begin;  // absent: 0

  std::int64_t pad_index;
  std::uint32_t pad_value_bits;  // low 16 bits for 16-bit values; float32 for weights
  std::int32_t log2_page_size;   // page_size = 1 << log2_page_size

  ValueType value_type;
  IndexType index_type;
  Order order;
  NanRule nan_rule;
  bool largest;
  Weights weights;
  std::uint8_t reserved[2];

  const float* bias;  // (num_cols,), added to the scores that are compared, or null
};

// Whether the call is more than a plain selection.
constexpr bool is_weighted(const TopkParams& params) {
  return params.weights != Weights::kNone || params.bias != nullptr;
}

static_assert(sizeof(RowVector) == 24, "RowVector is shared between compilers");
static_assert(offsetof(TopkParams, num_rows) == 64, "TopkParams is shared between compilers");
static_assert(offsetof(TopkParams, begin) == 88, "TopkParams is shared between compilers");
static_assert(offsetof(TopkParams, pad_index) == 248, "TopkParams is shared between compilers");
static_assert(offsetof(TopkParams, bias) == 272, "TopkParams is shared between compilers");
static_assert(sizeof(TopkParams) == 280, "TopkParams is shared between compilers");

// What a backend accepts; checked in C++ (op/checks.cpp) and shown to Python
// through deepselect._contract.
struct BackendLimits {
  const char* name;           // as in tensor.device.type
  std::uint32_t value_types;  // bit set over ValueType
  std::int64_t max_rows;
  std::int64_t max_cols;
  std::int64_t max_k;
  std::int32_t row_alignment_bytes;  // base address and row stride; 1: element-aligned suffices
  bool has_weights;                  // weights and bias are served
};

constexpr std::uint32_t value_type_bit(ValueType type) {
  return 1u << static_cast<unsigned>(type);
}

constexpr std::uint32_t kAllValueTypes =
    value_type_bit(ValueType::kBFloat16) | value_type_bit(ValueType::kFloat16) |
    value_type_bit(ValueType::kFloat32) | value_type_bit(ValueType::kInt32);

constexpr std::int64_t kMaxInt32 = 0x7FFFFFFF;
constexpr std::int32_t kMaxLog2PageSize = 30;

constexpr BackendLimits kCpuLimits{"cpu", kAllValueTypes, kMaxInt32, kMaxInt32, kMaxInt32, 1, true};
constexpr BackendLimits kCudaLimits{"cuda", kAllValueTypes, kMaxInt32, kMaxInt32, kMaxInt32, 1,
                                    true};
constexpr BackendLimits kAscendLimits{"npu",
                                      value_type_bit(ValueType::kBFloat16) |
                                          value_type_bit(ValueType::kFloat16) |
                                          value_type_bit(ValueType::kFloat32),
                                      kMaxInt32,
                                      (std::int64_t{1} << 21) - 1,
                                      4096,
                                      32,
                                      false};
constexpr BackendLimits kBackendLimits[] = {kCpuLimits, kCudaLimits, kAscendLimits};

}  // namespace deepselect
