#include "cuda/launch/row_registers.cuh"

namespace deepselect::cuda {

template void launch_row_registers_of<ValueType::kFloat32>(const LaunchContext& context);
template void launch_row_registers_of<ValueType::kInt32>(const LaunchContext& context);

}  // namespace deepselect::cuda
