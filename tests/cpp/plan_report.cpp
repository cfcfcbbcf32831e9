// Not a test: prints what every variant's plan takes for one call of each kind, on an H200; a line
// per plan, read by tools/resource_report.py.
#include <cstdint>
#include <cstdio>

#include "cuda/plan.h"

namespace {

using namespace deepselect;

constexpr cuda::DeviceLimits kH200{90, 132, 232448, 233472, 16};

struct Shape {
  const char* type_name;
  ValueType type;
  std::int64_t num_rows;
  std::int64_t num_cols;
  std::int64_t k;
  Order order;
};

constexpr Shape kShapes[] = {
    {"bfloat16", ValueType::kBFloat16, 65536, 1024, 512, Order::kAny},
    {"bfloat16", ValueType::kBFloat16, 4096, 16384, 2048, Order::kAny},
    {"bfloat16", ValueType::kBFloat16, 4096, 131072, 512, Order::kAny},
    {"bfloat16", ValueType::kBFloat16, 4096, 1048576, 2048, Order::kAny},
    {"float32", ValueType::kFloat32, 4096, 129280, 512, Order::kValue},
    {"float32", ValueType::kFloat32, 1, 1 << 26, 512, Order::kAny},
    {"float32", ValueType::kFloat32, 8, 262144, 4096, Order::kValue},
    {"float32", ValueType::kFloat32, 256, 262144, 50000, Order::kAny},
};

const char* order_name(Order order) {
  return order == Order::kAny ? "any" : order == Order::kValue ? "value" : "index";
}

}  // namespace

int main() {
  for (const Shape& shape : kShapes) {
    TopkParams params{};
    params.num_rows = shape.num_rows;
    params.num_cols = shape.num_cols;
    params.input_row_stride_items = shape.num_cols;
    params.k = shape.k;
    params.value_type = shape.type;
    params.order = shape.order;
    params.largest = true;
    const cuda::Variant chosen = cuda::make_plan(params, kH200).variant;
    for (const cuda::Variant variant : cuda::kAllVariants) {
      if (!cuda::can_serve(variant, params, kH200)) continue;
      const cuda::Plan plan = cuda::make_plan(params, kH200, variant);
      std::printf("%s %s %lldx%lld k=%lld %s\t%d\t%u\t%d\t%zu\t%zu\n", cuda::variant_name(variant),
                  shape.type_name, static_cast<long long>(shape.num_rows),
                  static_cast<long long>(shape.num_cols), static_cast<long long>(shape.k),
                  order_name(shape.order), variant == chosen, plan.grid_ctas, plan.cta_threads,
                  plan.smem_bytes, plan.workspace_bytes);
    }
  }
}
