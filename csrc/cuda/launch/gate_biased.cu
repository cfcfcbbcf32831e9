#include "cuda/launch/dispatch.h"
#include "cuda/launch/gate_policies.h"

namespace deepselect::cuda {

void launch_gate_biased(const LaunchContext& context) {
  dispatch_score_type(context.params.value_type, [&](auto value_type) {
    launch_gate_of<decltype(value_type)::value, true>(context);
  });
}

}  // namespace deepselect::cuda
