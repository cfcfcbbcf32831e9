// deepselect._contract: what contract.h and ascend/ub_plan.h say, for Python. Constants only; no
// torch.
#include "deepselect/contract.h"

#include <pybind11/pybind11.h>

#include <array>
#include <utility>

#include "ascend/dispatch.h"

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
  return dict;
}

// The unified-buffer plan of one configuration; float16 has that of bfloat16.
template <class Config>
py::dict to_dict(const char* architecture, std::uint32_t ub_bytes) {
  using Plan = typename Config::Plan;
  using Tuning = typename Config::Tuning;
  py::list buffers;
  for (const deepselect::ascend::UbBuffer& buffer : Plan::kBuffers) {
    buffers.append(py::make_tuple(buffer.name, buffer.offset, buffer.bytes, buffer.note));
  }
  py::dict dict;
  dict["architecture"] = architecture;
  dict["item_bytes"] = Plan::kItemBytes;
  dict["max_k"] = Plan::kMaxK;
  dict["ub_bytes"] = ub_bytes;
  dict["num_candidates"] = Plan::kCapacity;
  dict["batch_items"] = Tuning::kBatchItems;
  dict["num_stages"] = Tuning::kNumStages;
  dict["buffers"] = py::tuple(buffers);
  return dict;
}

py::tuple ub_plans() {
  using namespace deepselect::ascend;
  constexpr std::pair<Architecture, const char*> kArchitectures[] = {
      {Architecture::kDav3510, "dav-3510"}, {Architecture::kDav2201, "dav-2201"}};
  py::list plans;
  for (const auto& [architecture, name] : kArchitectures) {
    for (ValueType type : {ValueType::kBFloat16, ValueType::kFloat32}) {
      for (std::uint32_t max_k : kTiers) {
        dispatch(architecture, type, max_k,
                 [&, name = name, bytes = ub_bytes(architecture)](auto config) {
                   plans.append(to_dict<decltype(config)>(name, bytes));
                 });
      }
    }
  }
  return py::tuple(plans);
}

}  // namespace

PYBIND11_MODULE(_contract, m) {
  m.doc() =
      "Limits of every backend, from csrc/include/deepselect/contract.h, and the plans of Ascend's "
      "unified buffer, from csrc/ascend/ub_plan.h.";
  py::dict backends;
  for (const BackendLimits& limits : deepselect::kBackendLimits) {
    backends[limits.name] = to_dict(limits);
  }
  m.attr("BACKENDS") = backends;
  m.attr("ASCEND_UB_PLANS") = ub_plans();
  m.attr("MAX_PAGE_SIZE") = std::int64_t{1} << deepselect::kMaxLog2PageSize;
}
