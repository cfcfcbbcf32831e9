// Calls that a router makes.
#pragma once

#include <cstdint>

#include "deepselect/contract.h"
#include "deepselect/macros.h"

namespace deepselect::cuda {

// Whole rows, int32 positions for indices, nothing padded or sorted by position, and at most
// `max_winners`.
DEEPSELECT_HOST_DEVICE inline bool is_router_call(const TopkParams& params,
                                                  std::int64_t max_winners) {
  return params.begin.data == nullptr && params.end.data == nullptr &&
         params.index_offset.data == nullptr && params.page_table == nullptr &&
         params.raw_indices == nullptr && params.index_type == IndexType::kInt32 &&
         params.order != Order::kIndex && params.nan_rule != NanRule::kPoison &&
         params.k <= max_winners && params.k <= params.num_cols;
}

}  // namespace deepselect::cuda
