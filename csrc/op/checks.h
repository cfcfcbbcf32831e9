// From tensors to TopkParams, or an error: the one place where arguments are checked.
#pragma once

#include <optional>
#include <tuple>

#include "deepselect/contract.h"
#include "op/arguments.h"

namespace deepselect::op {

// Checks every argument but the outputs against `limits` and describes the call; output fields of
// the result stay empty. Raises as errors.h says.
TopkParams describe_inputs(const TopkArguments& arguments, const BackendLimits& limits);

// Checks caller-given outputs (shape, dtype, device, strides, overlap) and adds them to `params`.
void add_given_outputs(const TopkArguments& arguments, const TopkOutputs& outputs,
                       TopkParams* params);

// New tensors for the results, added to `params`. Values is an empty (0,) tensor where not wanted.
std::tuple<Tensor, Tensor> add_new_outputs(const TopkArguments& arguments, bool return_values,
                                           std::optional<ScalarType> index_dtype,
                                           TopkParams* params);

}  // namespace deepselect::op
