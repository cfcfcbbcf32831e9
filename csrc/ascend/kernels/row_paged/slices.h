// Rows that several cores share: what one slice leaves in the workspace, and how the merge takes
// it. Entries beyond a slice's candidates lose to every element of the row.
#pragma once

#include "ascend/kernels/row_paged/work.h"
#include "ascend/simd/kernel_calls.h"

namespace deepselect::ascend {

// Leaves the flags MTE3 -> V and MTE3 -> MTE2 up, as write_row does.
template <class Set>
__aicore__ inline void store_slice(const RowPagedArgs& args, std::int64_t slice, Set& candidates) {
  using Lane = typename Set::Lane;
  const std::uint32_t num_entries = slice_entries(args.params.k);
  candidates.pad_to(num_entries);
  simd::set<simd::kPipeV, simd::kPipeMte3>(0);
  simd::wait<simd::kPipeV, simd::kPipeMte3>(0);
  __gm__ Lane* target = simd::as_gm<Lane>(args.workspace) +
                        slice * (slice_bytes(args.params.k, sizeof(Lane)) / sizeof(Lane));
  for (int i = 0; i < Set::kNumArrays; ++i) {
    const std::uint32_t num_lanes = num_entries * Set::array_lanes(i);
    simd::copy_out(target, Set::array(i), num_lanes * static_cast<std::uint32_t>(sizeof(Lane)));
    target += num_lanes;
  }
  simd::set<simd::kPipeMte3, simd::kPipeV>(0);
  simd::set<simd::kPipeMte3, simd::kPipeMte2>(0);
}

// All entries of a row's slices become the candidates. The row before is through with their areas:
// start_row waited for its last copy out.
template <int kFlag, class Set>
__aicore__ inline void load_slices(const RowPagedArgs& args, std::int64_t row, Set& candidates) {
  using Lane = typename Set::Lane;
  const std::uint32_t num_entries = slice_entries(args.params.k);
  const std::uint64_t slice_lanes = slice_bytes(args.params.k, sizeof(Lane)) / sizeof(Lane);
  __gm__ Lane* source = simd::as_gm<Lane>(args.workspace) + row * args.num_slices * slice_lanes;
  for (std::uint32_t slice = 0; slice < args.num_slices; ++slice) {
    __gm__ Lane* entries = source + slice * slice_lanes;
    for (int i = 0; i < Set::kNumArrays; ++i) {
      const std::uint32_t num_lanes = num_entries * Set::array_lanes(i);
      simd::copy_in(Set::array(i) + slice * num_lanes, entries,
                    num_lanes * static_cast<std::uint32_t>(sizeof(Lane)));
      entries += num_lanes;
    }
  }
  simd::set<simd::kPipeMte2, simd::kPipeV>(kFlag);
  simd::wait<simd::kPipeMte2, simd::kPipeV>(kFlag);
  candidates.resize(args.num_slices * num_entries);
}

}  // namespace deepselect::ascend
