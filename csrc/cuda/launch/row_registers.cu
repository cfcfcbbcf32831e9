#include "cuda/launch/row_registers.cuh"

#include "cuda/launch/dispatch.h"

namespace deepselect::cuda {

// In row_registers_32bit.cu.
extern template void launch_row_registers_of<ValueType::kFloat32>(const LaunchContext& context);
extern template void launch_row_registers_of<ValueType::kInt32>(const LaunchContext& context);

void launch_row_registers(const LaunchContext& context) {
  dispatch_value_type(context.params.value_type, [&](auto value_type) {
    launch_row_registers_of<decltype(value_type)::value>(context);
  });
}

}  // namespace deepselect::cuda
