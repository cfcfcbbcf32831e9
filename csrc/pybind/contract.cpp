// deepselect._contract: what contract.h says, for Python. Constants only; no torch.
#include "deepselect/contract.h"

#include <pybind11/pybind11.h>

#include <array>
#include <utility>

namespace py = pybind11;

namespace {

using deepselect::BackendLimits;
using deepselect::ValueType;

constexpr std::array<std::pair<ValueType, const char*>, 4> kValueTypeNames{{
    {ValueType::kBFloat16, "bfloat16"},
    {ValueType::kFloat16, "float16"},
    {ValueType::kFloat32, "float32"},
    {ValueType::kInt32, "int32"},
}};

py::dict to_dict(const BackendLimits& limits) {
  py::list dtypes;
  for (const auto& [type, name] : kValueTypeNames) {
    if ((limits.value_types & deepselect::value_type_bit(type)) != 0) dtypes.append(name);
  }
  py::dict dict;
  dict["value_dtypes"] = py::tuple(dtypes);
  dict["max_rows"] = limits.max_rows;
  dict["max_cols"] = limits.max_cols;
  dict["max_k"] = limits.max_k;
  dict["row_alignment_bytes"] = limits.row_alignment_bytes;
  dict["has_weights"] = limits.has_weights;
  return dict;
}

}  // namespace

PYBIND11_MODULE(_contract, m) {
  m.doc() = "Limits and alignments of every backend, from csrc/include/deepselect/contract.h.";
  py::dict backends;
  for (const BackendLimits& limits : deepselect::kBackendLimits) {
    backends[limits.name] = to_dict(limits);
  }
  m.attr("BACKENDS") = backends;
  m.attr("MAX_PAGE_SIZE") = std::int64_t{1} << deepselect::kMaxLog2PageSize;
}
