// Rows that several cores share: what one slice leaves in the workspace, and how the merge takes
// it. Entries beyond a slice's candidates lose to every element of the row.
#pragma once

#include "ascend/kernels/row_paged/candidate_set.h"
#include "ascend/kernels/row_paged/epilogue.h"
#include "ascend/kernels/row_paged/work.h"

namespace deepselect::ascend {

// Leaves the flags MTE3 -> V and MTE3 -> MTE2 up, as write_row does.
template <ValueType kType, class Tuning>
__aicore__ inline void store_slice(const RowPagedArgs& args, std::int64_t slice,
                                   CandidateSet<kType, Tuning>& candidates) {
  using Lane = BitsOf<kType>;
  using Set = CandidateSet<kType, Tuning>;
  const std::uint32_t num_entries = slice_entries(args.params.k);
  const std::uint32_t count = candidates.size();
  // The worst value and, with the inverted position 0, behind every element that has it too.
  const Lane infinity =
      candidates.rule().flip == 0 ? KeyRule<kType>::kMinusInfinity : KeyRule<kType>::kInfinity;
  const Lane worst = candidates.rule().nan_key == 0 ? ValueTraits<kType>::kQuietNan : infinity;
  simd::barrier<simd::kPipeV>();
  DEEPSELECT_VECTOR_CALL(pad_items<Lane>(Set::values(), Set::values(), worst, count, num_entries));
  DEEPSELECT_VECTOR_CALL(
      pad_items<Lane>(Set::positions_high(), Set::positions_high(), Lane(0), count, num_entries));
  if constexpr (Set::kIs16) {
    DEEPSELECT_VECTOR_CALL(
        pad_items<Lane>(Set::positions_low(), Set::positions_low(), Lane(0), count, num_entries));
  }
  simd::set<simd::kPipeV, simd::kPipeMte3>(0);
  simd::wait<simd::kPipeV, simd::kPipeMte3>(0);
  constexpr std::uint32_t kItemBytes = sizeof(Lane);
  __gm__ Lane* target = simd::as_gm<Lane>(args.workspace) +
                        slice * (slice_bytes(args.params.k, kItemBytes) / kItemBytes);
  simd::copy_out(target, Set::values(), num_entries * kItemBytes);
  simd::copy_out(target + num_entries, Set::positions_high(), num_entries * kItemBytes);
  if constexpr (Set::kIs16) {
    simd::copy_out(target + 2 * num_entries, Set::positions_low(), num_entries * kItemBytes);
  }
  simd::set<simd::kPipeMte3, simd::kPipeV>(0);
  simd::set<simd::kPipeMte3, simd::kPipeMte2>(0);
}

// All entries of a row's slices become the candidates.
template <ValueType kType, class Tuning>
__aicore__ inline void load_slices(const RowPagedArgs& args, std::int64_t row,
                                   CandidateSet<kType, Tuning>& candidates) {
  using Lane = BitsOf<kType>;
  using Set = CandidateSet<kType, Tuning>;
  constexpr std::uint32_t kItemBytes = sizeof(Lane);
  const std::uint32_t num_entries = slice_entries(args.params.k);
  const std::uint64_t slice_items = slice_bytes(args.params.k, kItemBytes) / kItemBytes;
  __gm__ Lane* source = simd::as_gm<Lane>(args.workspace) + row * args.num_slices * slice_items;
  // The row before is through with these areas: start_row waited for its last copy out.
  for (std::uint32_t slice = 0; slice < args.num_slices; ++slice) {
    __gm__ Lane* entries = source + slice * slice_items;
    simd::copy_in(Set::values() + slice * num_entries, entries, num_entries * kItemBytes);
    simd::copy_in(Set::positions_high() + slice * num_entries, entries + num_entries,
                  num_entries * kItemBytes);
    if constexpr (Set::kIs16) {
      simd::copy_in(Set::positions_low() + slice * num_entries, entries + 2 * num_entries,
                    num_entries * kItemBytes);
    }
  }
  simd::set<simd::kPipeMte2, simd::kPipeV>(Tuning::kNumStages);
  simd::wait<simd::kPipeMte2, simd::kPipeV>(Tuning::kNumStages);
  candidates.resize(args.num_slices * num_entries);
}

}  // namespace deepselect::ascend
