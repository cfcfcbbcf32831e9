// Faults planted in small kernels: each must be caught, by a message that names the pipe, the line
// and, where there is one, the offset. Ends with the same kernel without a fault, which must pass.
#include <iterator>
#include <string>

#include "ascend/simd/simd.h"
#include "expect.h"
#include "planted_faults.h"

namespace {

using namespace deepselect;
using namespace deepselect::ascend::simd;
using U16 = std::uint16_t;

constexpr std::size_t kUbBytes = 248 * 1024;

planted::Items input(4096, 3);
planted::Items output(4096);

enum class Fault {
  kNone,
  kMissingSet,
  kMissingWait,
  kDoubleSet,
  kFlagLeftUp,
  kEventIdTooHigh,
  kCopyRacesWithRead,
  kOutputBeforeStore,
  kMissingVectorBarrier,
  kMissingMemoryBarrier,
  kScalarReadTooEarly,
  kMisalignedLoad,
  kMisalignedCopy,
  kLoadPastBuffer,
  kStorePastBuffer,
  kStreamPastBuffer,
  kCopyPastInput,
  kCopyPastOutput,
  kWriteIntoInput,
  kUndefinedToOutput,
  kUndefinedDecides,
  kMaskOfOtherWidth,
  kStreamNotEnded,
  kStreamBaseMoves,
  kGatherIndexUndefined,
  kGatherPastBuffer,
  kSortOverlaps,
  kRegisterOutsideVectorFunction,
  kLast,
};

void double_values(U16* dst, U16* src, std::uint32_t count, Fault fault) {
  Register<U16> value, spare;
  const auto num_vectors = static_cast<std::uint16_t>((count + 127) / 128);
  Mask active = all_lanes<U16>();
  for (std::uint16_t i = 0; i < num_vectors; ++i) {
    if (fault == Fault::kMaskOfOtherWidth) active = all_lanes<std::uint32_t>();
    active = fault == Fault::kMaskOfOtherWidth ? active : take_lanes<U16>(count);
    load(value, src + i * 128 + (fault == Fault::kMisalignedLoad ? 1 : 0));
    add(value, value, value, active);
    if (fault == Fault::kUndefinedToOutput) add(value, value, spare, active);
    if (fault == Fault::kUndefinedDecides) {
      greater(active, value, spare, active);
      select(value, value, value, active);
    }
    store(dst + i * 128, value, active);
    if (fault != Fault::kMissingMemoryBarrier) stores_before_loads();
    load(value, dst + i * 128);
  }
  if (fault == Fault::kLoadPastBuffer) load(value, ub_at<U16>(kUbBytes - 128));
  if (fault == Fault::kStorePastBuffer) {
    fill(value, U16(1));
    store(ub_at<U16>(kUbBytes - 128), value, all_lanes<U16>());
  }
}

void pack(U16* dst, U16* src, Fault fault) {
  Register<U16> value;
  Stream stream;
  stream_begin();
  for (int i = 0; i < 2; ++i) {
    load(value, src + i * 128);
    U16* base = fault == Fault::kStreamBaseMoves && i == 1 ? dst + 128 : dst;
    stream_append(base, stream, value, all_lanes<U16>());
  }
  // 2 bytes short of a block: without the end they never arrive.
  std::uint32_t rest = 127;
  stream_append(dst, stream, value, take_lanes<U16>(rest));
  if (fault != Fault::kStreamNotEnded) stream_end(dst, stream);
}

void gather_one(U16* dst, U16* src, Fault fault) {
  Register<U16> index, value;
  if (fault != Fault::kGatherIndexUndefined) {
    fill(index, U16(fault == Fault::kGatherPastBuffer ? 60000 : 5));
  }
  U16* base = fault == Fault::kGatherPastBuffer ? ub_at<U16>(kUbBytes - 1024) : src;
  gather(value, base, index, all_lanes<U16>());
  store(dst, value, all_lanes<U16>());
}

void kernel(Fault fault) {
  U16* landing = ub_at<U16>(0);
  U16* result = ub_at<U16>(8192);
  U16* packed = ub_at<U16>(fault == Fault::kStreamPastBuffer ? kUbBytes - 256 : 16384);
  U16* gathered = ub_at<U16>(24576);
  const U16* source = input.data() + (fault == Fault::kCopyPastInput ? 3500 : 0);
  copy_in(landing + (fault == Fault::kMisalignedCopy ? 8 : 0), source, 2048);
  if (fault != Fault::kMissingSet) set<kPipeMte2, kPipeV>(0);
  if (fault == Fault::kDoubleSet) set<kPipeMte2, kPipeV>(0);
  if (fault == Fault::kFlagLeftUp) set<kPipeMte2, kPipeV>(1);
  if (fault == Fault::kEventIdTooHigh) set<kPipeMte2, kPipeV>(6);
  if (fault != Fault::kMissingWait) wait<kPipeMte2, kPipeV>(0);
  if (fault == Fault::kMissingWait) {
    DEEPSELECT_VECTOR_CALL(double_values(result, landing, 1024, fault));
    wait<kPipeMte2, kPipeV>(0);
  }
  DEEPSELECT_VECTOR_CALL(double_values(result, landing, 1024, fault));
  if (fault == Fault::kRegisterOutsideVectorFunction) {
    double_values(result, landing, 1024, fault);
  }
  if (fault == Fault::kCopyRacesWithRead) {
    barrier<kPipeMte2>();
    copy_in(landing, source, 64);
  }
  if (fault == Fault::kScalarReadTooEarly) (void)load_ub(result);
  if (fault != Fault::kMissingVectorBarrier) barrier<kPipeV>();
  DEEPSELECT_VECTOR_CALL(pack(packed, result, fault));
  DEEPSELECT_VECTOR_CALL(gather_one(gathered, landing, fault));
  barrier<kPipeV>();
  auto* sorted = ub_at<std::uint32_t>(32768);
  auto* items = ub_at<std::uint32_t>(8192);
  sort_ascending(fault == Fault::kSortOverlaps ? items + 8 : sorted, ub_at<std::uint32_t>(36864),
                 items, ub_at<std::uint8_t>(40960), 2048, 64);
  if (fault != Fault::kOutputBeforeStore) {
    set<kPipeV, kPipeMte3>(0);
    wait<kPipeV, kPipeMte3>(0);
  }
  copy_out(output.data(), result, 2048);
  copy_out(output.data() + 2048, packed, fault == Fault::kCopyPastOutput ? 8192 : 2 * 383);
  if (fault == Fault::kWriteIntoInput) copy_out(input.data(), result, 32);
}

std::string caught(Fault fault) {
  return planted::message_of([fault] { kernel(fault); }, kUbBytes, input, output,
                             static_cast<std::uint64_t>(fault));
}

constexpr planted::Expected<Fault> kExpected[] = {
    {Fault::kMissingSet, "PIPE_V", "nobody set", false, "wait<kPipeMte2, kPipeV>(0)"},
    {Fault::kMissingWait, "PIPE_V", "read races with the write of PIPE_MTE2", true,
     "load(value, src + i * 128 + ("},
    {Fault::kDoubleSet, "PIPE_MTE2", "set_flag on a flag that is up", false, "kDoubleSet) set<"},
    {Fault::kFlagLeftUp, "PIPE_MTE2", "never waited for", false, "kFlagLeftUp) set<"},
    {Fault::kEventIdTooHigh, "PIPE_MTE2", "event id", false, "kEventIdTooHigh) set<"},
    {Fault::kCopyRacesWithRead, "PIPE_MTE2", "races with a read of PIPE_V", true,
     "copy_in(landing, source, 64)"},
    {Fault::kOutputBeforeStore, "PIPE_MTE3", "read races with the write of PIPE_V", true,
     "copy_out(output.data(), result"},
    {Fault::kMissingVectorBarrier, "PIPE_V", "read races with the write of PIPE_V", true,
     "load(value, src + i * 128);"},
    {Fault::kMissingMemoryBarrier, "PIPE_V", "without mem_bar", true, "load(value, dst"},
    {Fault::kScalarReadTooEarly, "PIPE_S", "read races with the write of PIPE_V", true,
     "load_ub(result)"},
    {Fault::kMisalignedLoad, "PIPE_V", "misaligned", true, "load(value, src + i * 128 + ("},
    {Fault::kMisalignedCopy, "PIPE_MTE2", "misaligned", true, "copy_in(landing + "},
    {Fault::kLoadPastBuffer, "PIPE_V", "outside the unified buffer", true, "load(value, ub_at"},
    {Fault::kStorePastBuffer, "PIPE_V", "outside the unified buffer", true, "store(ub_at"},
    {Fault::kStreamPastBuffer, "PIPE_V", "outside the unified buffer", true, "stream_append(base"},
    {Fault::kCopyPastInput, "PIPE_MTE2", "outside the input tensors", false, "copy_in(landing + "},
    {Fault::kCopyPastOutput, "PIPE_MTE3", "outside the output tensors", false,
     "copy_out(output.data() + 2048"},
    {Fault::kWriteIntoInput, "PIPE_MTE3", "outside the output tensors", false,
     "copy_out(input.data()"},
    {Fault::kUndefinedToOutput, "PIPE_V", "never written", true, "sort_ascending("},
    {Fault::kUndefinedDecides, "PIPE_V", "mask that is undefined", false, "select(value"},
    {Fault::kMaskOfOtherWidth, "PIPE_V", "another lane width", false, "add(value, value, value"},
    {Fault::kStreamNotEnded, "PIPE_MTE3", "never written", true, "copy_out(output.data() + 2048"},
    {Fault::kStreamBaseMoves, "PIPE_V", "another base", false, "stream_append(base"},
    {Fault::kGatherIndexUndefined, "PIPE_V", "undefined index", false, "gather(value"},
    {Fault::kGatherPastBuffer, "PIPE_V", "outside the unified buffer", true, "gather(value"},
    {Fault::kSortOverlaps, "PIPE_V", "overlapping", true, "sort_ascending("},
    {Fault::kRegisterOutsideVectorFunction, "PIPE_V", "outside a vector function", false,
     "all_lanes<U16>()"},
};

}  // namespace

int main() {
  planted::expect_all(kExpected, caught, "twin_faults_test.cpp");
  EXPECT(output[0] == 6 && output[1023] == 6 && output[2048 + 382] == 6);
  return expect::verdict();
}
