// One variant of the CUDA backend as a C function, for experiments:
// tools/bench/harness/candidate.py compiles it together with sources in which some values are
// others, defining CANDIDATE_VARIANT (an enumerator) and CANDIDATE_LAUNCH (its launch function).
#include <cstdint>
#include <exception>
#include <string>

#include "cuda/launch/launch.h"
#include "cuda/plan.h"

using namespace deepselect;

// Contiguous input, int32 indices, values where not null. Without a workspace it enqueues nothing
// and tells the bytes of one. Returns null, or what is wrong, until the thread's next call.
extern "C" __attribute__((visibility("default"))) const char* candidate_topk(
    const void* input, std::int64_t num_rows, std::int64_t num_cols, std::int64_t k,
    std::int32_t value_type, std::int32_t order, void* values, void* indices, void* workspace,
    std::int64_t* workspace_bytes, std::int32_t device_index, void* stream) {
  thread_local std::string fault;
  cuda::LaunchContext context{};
  TopkParams& params = context.params;
  params.input = input;
  params.values = values;
  params.indices = indices;
  params.input_row_stride_items = num_cols;
  params.values_row_stride_items = k;
  params.indices_row_stride_items = k;
  params.num_rows = num_rows;
  params.num_cols = num_cols;
  params.k = k;
  params.pad_index = -1;
  params.value_type = static_cast<ValueType>(value_type);
  params.order = static_cast<Order>(order);
  params.largest = true;
  try {
    context.plan = cuda::make_plan(params, cuda::device_limits(device_index),
                                   cuda::Variant::CANDIDATE_VARIANT);
    context.workspace = workspace;
    context.device_index = device_index;
    context.stream = static_cast<cudaStream_t>(stream);
    *workspace_bytes = static_cast<std::int64_t>(context.plan.workspace_bytes);
    if (workspace != nullptr) cuda::CANDIDATE_LAUNCH(context);
  } catch (const std::exception& error) {
    fault = error.what();
    return fault.c_str();
  }
  return nullptr;
}
