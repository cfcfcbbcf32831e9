#include "cuda/launch/dispatch.h"
#include "cuda/launch/gate_policies.h"

namespace deepselect::cuda {

void launch_gate(const LaunchContext& context) {
  if (context.params.bias != nullptr) return launch_gate_biased(context);
  dispatch_value_type(context.params.value_type, [&](auto value_type) {
    launch_gate_of<decltype(value_type)::value, false>(context);
  });
}

}  // namespace deepselect::cuda
