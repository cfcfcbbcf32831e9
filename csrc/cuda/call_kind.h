// What a call asks for, as far as kernels of their own serve it: those of calls that ask for little
// are without the code of what is not asked for.
#pragma once

#include <cstdint>

#include "deepselect/contract.h"
#include "deepselect/macros.h"
#include "deepselect/row_view.h"

namespace deepselect::cuda {

enum class CallKind {
  kWholeRows,  // int32 indices of whole rows that begin at whole 16-byte slots, and nothing else
  kWindows,    // int32 indices of any windows
  kAny,
};

// Of calls in order "value" nothing is little.
inline CallKind call_kind(const TopkParams& params) {
  if (params.index_offset.data != nullptr || params.page_table != nullptr ||
      params.values != nullptr || params.raw_indices != nullptr ||
      params.index_type != IndexType::kInt32 || params.order == Order::kValue) {
    return CallKind::kAny;
  }
  const std::int64_t row_stride_bytes =
      params.input_row_stride_items * value_bytes(params.value_type);
  const bool begins_at_slots = reinterpret_cast<std::uintptr_t>(params.input) % 16 == 0 &&
                               (params.num_rows == 1 || row_stride_bytes % 16 == 0);
  return begins_at_slots && !reads_row_tensors(params) ? CallKind::kWholeRows : CallKind::kWindows;
}

// The parameters of a call of kind `kKind`, with that written down for the compiler: what windows,
// tables, values and the like would cost falls away. The order is the caller's to know.
template <CallKind kKind>
DEEPSELECT_HOST_DEVICE inline TopkParams params_of(const TopkParams& params) {
  TopkParams lean = params;
  if (kKind == CallKind::kAny) return lean;
  if (kKind == CallKind::kWholeRows) {
    lean.begin.data = nullptr;
    lean.end.data = nullptr;
  }
  lean.index_offset.data = nullptr;
  lean.page_table = nullptr;
  lean.values = nullptr;
  lean.raw_indices = nullptr;
  lean.index_type = IndexType::kInt32;
  lean.order = Order::kAny;
  return lean;
}

}  // namespace deepselect::cuda
