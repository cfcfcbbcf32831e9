// Faults planted in a small kernel of dav-2201's buffer-to-buffer instructions: each must be
// caught, by a message that names the pipe, the line and, where there is one, the offset. What
// pipes, flags and copies do wrong is tested for both architectures in twin_faults_test.cpp. Ends
// with the same kernel without a fault, which must pass.
#include <iterator>
#include <string>

#include "ascend/simd/ub_ops.h"
#include "ascend/ub_plan.h"
#include "expect.h"
#include "planted_faults.h"

namespace {

using namespace deepselect;
using namespace deepselect::ascend;
using I32 = std::int32_t;
using U16 = std::uint16_t;
using U32 = std::uint32_t;

planted::Items input(1024, 3);
planted::Items output(1024);

enum class Fault {
  kNone,
  kMissingBarrier,
  kMissingBarrierBeforeOverwrite,
  kLandsTooEarly,
  kScalarReadsTooEarly,
  kStaleKeptCount,
  kPastBuffer,
  kMisaligned,
  kPartialCompare,
  kMaskUndefined,
  kOverlap,
  kCompressInPlace,
  kBehindPacked,
  kLanesAcrossBlocks,
  kInt32Overflows,
  kNotAnInteger,
  kBoundNotNormal,
  kGatherUndefined,
  kGatherPastBuffer,
  kScoreNotNormal,
  kRunNotSorted,
  kRunTooLong,
  kNoItems,
  kLast,
};

void kernel(Fault fault) {
  using simd::barrier;
  using simd::kPipeMte2;
  using simd::kPipeMte3;
  using simd::kPipeV;
  const auto is = [fault](Fault other) { return fault == other; };
  auto* items = simd::ub_at<std::int16_t>(0);
  auto* floats = simd::ub_at<float>(2048 + (is(Fault::kMisaligned) ? 4 : 0));
  auto* mask = simd::ub_at<std::uint8_t>(6144);
  auto* packed = simd::ub_at<U16>(is(Fault::kCompressInPlace) ? 0 : 8192);
  auto* words = simd::ub_at<I32>(is(Fault::kPastBuffer) ? kUbBytes2201 - 1024 : 12288);
  auto* offsets = simd::ub_at<U32>(16384);
  auto* gathered = simd::ub_at<U16>(20480);
  auto* scores = simd::ub_at<float>(24576);
  auto* payloads = simd::ub_at<U32>(25600);
  auto* records = simd::ub_at<std::uint8_t>(28672);
  auto* merged = simd::ub_at<std::uint8_t>(32768);

  simd::copy_in(items, input.data(), 2048);
  simd::set<kPipeMte2, kPipeV>(0);
  if (!is(Fault::kLandsTooEarly)) simd::wait<kPipeMte2, kPipeV>(0);
  ub::to_float(floats, items, is(Fault::kPartialCompare) ? 1000 : 1024);
  if (!is(Fault::kMissingBarrier)) barrier<kPipeV>();
  if (is(Fault::kOverlap)) ub::to_float(floats + 8, (std::int16_t*)floats, 256);
  ub::at_least(mask, floats, 3.0f, is(Fault::kPartialCompare) ? 1000 : 1024);
  if (!is(Fault::kMissingBarrierBeforeOverwrite)) barrier<kPipeV>();
  if (is(Fault::kMaskUndefined)) mask += 128;
  ub::fill(floats, 0.5f, 1024);
  ub::compress(packed, (U16*)items, mask, is(Fault::kBehindPacked) ? 1000 : 1024);
  if (is(Fault::kScalarReadsTooEarly)) (void)simd::load_ub(packed);
  if (is(Fault::kStaleKeptCount)) (void)ub::read_kept();
  const U32 num_kept = ub::read_kept();
  EXPECT(num_kept == (is(Fault::kBehindPacked) ? 1000u : 1024u));

  ub::count_up(words, 0, is(Fault::kNoItems) ? 0 : 1024);
  barrier<kPipeV>();
  if (is(Fault::kNotAnInteger)) ub::to_int32(words, floats, 64);
  if (is(Fault::kBoundNotNormal)) ub::less_than(mask, (U16*)items, U16(1), 1024);
  if (is(Fault::kInt32Overflows)) ub::multiply_scalar(words, words, 1 << 24, 1024);
  if (is(Fault::kLanesAcrossBlocks)) ub::fill_lanes(words, 0, 6, 9);
  ub::shift_left(offsets, (U32*)words, U32(1), 1024);
  barrier<kPipeV>();
  if (is(Fault::kGatherPastBuffer)) ub::add_scalar((I32*)offsets, (I32*)offsets, 190000, 1024);
  barrier<kPipeV>();
  if (is(Fault::kGatherUndefined)) offsets += 1024;
  ub::gather(gathered, packed, offsets, 1024);

  ub::max_scalar((I32*)scores, words, is(Fault::kScoreNotNormal) ? 1 : 0x00800000, 128);
  ub::count_up((I32*)payloads, 0, 128);
  barrier<kPipeV>();
  ub::add((I32*)scores, (I32*)scores, words, 128);
  barrier<kPipeV>();
  ub::sort_groups(records, scores, payloads, 4);
  barrier<kPipeV>();
  if (is(Fault::kRunNotSorted)) ub::merge_runs(merged, records, 64, 2, 1);
  ub::merge_runs(merged, records, is(Fault::kRunTooLong) ? 4096 : 32, 4, 1);
  ub::pick_odd(simd::ub_at<U32>(40960), (U32*)records, 256);

  simd::set<kPipeV, kPipeMte3>(0);
  simd::wait<kPipeV, kPipeMte3>(0);
  simd::copy_out(output.data(), gathered, 2048);
}

std::string caught(Fault fault) {
  return planted::message_of([fault] { kernel(fault); }, kUbBytes2201, input, output,
                             static_cast<std::uint64_t>(fault));
}

constexpr planted::Expected<Fault> kExpected[] = {
    {Fault::kMissingBarrier, "PIPE_V", "read races with the write of PIPE_V", true, "ub::at_least"},
    {Fault::kMissingBarrierBeforeOverwrite, "PIPE_V", "write races with a read of PIPE_V", true,
     "ub::fill(floats"},
    {Fault::kLandsTooEarly, "PIPE_V", "read races with the write of PIPE_MTE2", true,
     "ub::to_float(floats, items"},
    {Fault::kScalarReadsTooEarly, "PIPE_S", "read races with the write of PIPE_V", true,
     "load_ub(packed)"},
    {Fault::kStaleKeptCount, "PIPE_S", "read without a compress", false,
     "num_kept = ub::read_kept"},
    {Fault::kPastBuffer, "PIPE_V", "outside the unified buffer", true, "ub::count_up(words"},
    {Fault::kMisaligned, "PIPE_V", "misaligned", true, "ub::to_float(floats, items"},
    {Fault::kPartialCompare, "PIPE_V", "a part of 256 bytes", false, "ub::at_least"},
    {Fault::kMaskUndefined, "PIPE_V", "never written", true, "ub::compress"},
    {Fault::kOverlap, "PIPE_V", "overlap", true, "ub::to_float(floats + 8"},
    {Fault::kCompressInPlace, "PIPE_V", "overlap", true, "ub::compress"},
    {Fault::kBehindPacked, "PIPE_MTE3", "never written", true, "copy_out(output.data()"},
    {Fault::kLanesAcrossBlocks, "PIPE_V", "outside one block", false, "ub::fill_lanes"},
    {Fault::kInt32Overflows, "PIPE_V", "overflows", false, "ub::multiply_scalar"},
    {Fault::kNotAnInteger, "PIPE_V", "not an integer", false, "ub::to_int32"},
    {Fault::kBoundNotNormal, "PIPE_V", "bound that is not normal", false, "ub::less_than"},
    {Fault::kGatherUndefined, "PIPE_V", "never written", true, "ub::gather"},
    {Fault::kGatherPastBuffer, "PIPE_V", "outside the unified buffer", true, "ub::gather"},
    {Fault::kScoreNotNormal, "PIPE_V", "not a normal number", false, "ub::sort_groups"},
    {Fault::kRunNotSorted, "PIPE_V", "not sorted", true, "kRunNotSorted)) ub::merge_runs"},
    {Fault::kRunTooLong, "PIPE_V", "over 4095", false, "ub::merge_runs(merged, records, is("},
    {Fault::kNoItems, "PIPE_V", "no items", false, "ub::count_up(words"},
};

}  // namespace

int main() {
  planted::expect_all(kExpected, caught, "twin_ub_faults_test.cpp");
  EXPECT(output[0] == 3 && output[1023] == 3);
  return expect::verdict();
}
