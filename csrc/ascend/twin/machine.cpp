#include "ascend/twin/machine.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <sstream>

namespace deepselect::twin {
namespace {

Machine* current = nullptr;

std::string base_name(const char* path) {
  const std::string name(path);
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? name : name.substr(slash + 1);
}

}  // namespace

Machine& machine() {
  if (current == nullptr) throw Fault("twin: an intrinsic was called outside a kernel");
  return *current;
}

std::vector<OmittedSite>& omitted_sites() {
  static std::vector<OmittedSite> sites;
  return sites;
}

void use_machine(Machine* machine) {
  current = machine;
}

const char* pipe_name(Pipe pipe) {
  constexpr const char* kNames[] = {"PIPE_S", "PIPE_V", "PIPE_MTE2", "PIPE_MTE3"};
  return kNames[pipe];
}

Counts& Counts::operator+=(const Counts& other) {
  vector_calls += other.vector_calls;
  vector_loads += other.vector_loads;
  vector_stores += other.vector_stores;
  vector_computes += other.vector_computes;
  mask_computes += other.mask_computes;
  ub_vector_calls += other.ub_vector_calls;
  ub_vector_ops += other.ub_vector_ops;
  sorted_items += other.sorted_items;
  copies_in += other.copies_in;
  copies_out += other.copies_out;
  bytes_in += other.bytes_in;
  bytes_out += other.bytes_out;
  scalar_ub_accesses += other.scalar_ub_accesses;
  scalar_gm_accesses += other.scalar_gm_accesses;
  waits += other.waits;
  scalar_round_trips += other.scalar_round_trips;
  return *this;
}

Machine::Machine(std::size_t ub_bytes)
    : ub_bytes_(ub_bytes), undefined_(ub_bytes), blocks_(ub_bytes / kBlockBytes) {
  // Pages without access on both sides, for plain C++ accesses that no check sees.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t body = (ub_bytes + page - 1) / page * page;
  void* mapping = mmap(nullptr, body + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<std::uint8_t*>(mapping);
  ub_ = mapping_ + page;
  if (mprotect(ub_, body, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
}

Machine::~Machine() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  munmap(mapping_, (ub_bytes_ + page - 1) / page * page + 2 * page);
}

void Machine::begin_core(std::int64_t block_index, std::int64_t num_blocks,
                         std::uint64_t garbage_seed) {
  block_index_ = block_index;
  num_blocks_ = num_blocks;
  std::uint64_t state = garbage_seed * 0x9E3779B97F4A7C15u + 1;
  for (std::size_t i = 0; i + 8 <= ub_bytes_; i += 8) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    std::memcpy(ub_ + i, &state, 8);
  }
  std::memset(undefined_.data(), 1, ub_bytes_);
  blocks_.assign(blocks_.size(), Block{});
  clocks_ = {};
  barrier_time_ = {};
  for (auto& sources : flags_) {
    for (auto& targets : sources) {
      for (Flag& flag : targets) flag = Flag{};
    }
  }
  in_vector_function_ = false;
  store_epoch_ = 1;
}

void Machine::end_core() {
  for (int source = 0; source < kNumPipes; ++source) {
    for (int target = 0; target < kNumPipes; ++target) {
      for (const Flag& flag : flags_[source][target]) {
        if (!flag.up) continue;
        site_ = flag.site;
        fault(static_cast<Pipe>(source), "a flag that was set is never waited for");
      }
    }
  }
}

void Machine::fault(Pipe pipe, const char* what, std::int64_t offset) const {
  std::ostringstream message;
  message << "twin: " << pipe_name(pipe) << ": " << what;
  if (offset >= 0) message << ", at offset " << offset;
  message << " (" << base_name(site_.file) << ":" << site_.line << ", core " << block_index_ << ")";
  throw Fault(message.str());
}

bool Machine::is_omitted() const {
  const auto is_here = [this](const OmittedSite& site) {
    return site.line == site_.line && site.file == base_name(site_.file);
  };
  return std::any_of(omitted_sites().begin(), omitted_sites().end(), is_here);
}

void Machine::set_flag(Pipe source, Pipe target, int id) {
  if (is_omitted()) return;
  if (id < 0 || id >= kNumEvents) fault(source, "event id out of range 0..5");
  if (in_vector_function_) fault(source, "set_flag inside a vector function");
  Flag& flag = flags_[source][target][id];
  if (flag.up) fault(source, "set_flag on a flag that is up: the core would hang");
  flag = {true, clocks_[source], site_};
}

void Machine::wait_flag(Pipe source, Pipe target, int id) {
  if (is_omitted()) return;
  if (id < 0 || id >= kNumEvents) fault(target, "event id out of range 0..5");
  Flag& flag = flags_[source][target][id];
  if (!flag.up) fault(target, "wait_flag on a flag that nobody set: the core would hang");
  flag.up = false;
  ++counts_.waits;
  if (source == kVector && target == kScalar) ++counts_.scalar_round_trips;
  // Work of its own that the target knows, through the source, to be done.
  barrier_time_[target] = std::max(barrier_time_[target], flag.clock[target]);
  for (int pipe = 0; pipe < kNumPipes; ++pipe) {
    if (flag.clock[pipe] > clocks_[target][pipe]) clocks_[target][pipe] = flag.clock[pipe];
  }
}

void Machine::barrier(Pipe pipe) {
  if (is_omitted()) return;
  barrier_time_[pipe] = clocks_[pipe][pipe];
}

void Machine::barrier_all() {
  Clock joined{};
  for (int pipe = 0; pipe < kNumPipes; ++pipe) joined[pipe] = clocks_[pipe][pipe];
  for (int pipe = 0; pipe < kNumPipes; ++pipe) {
    clocks_[pipe] = joined;
    barrier_time_[pipe] = joined[pipe];
  }
}

std::size_t Machine::locate(Pipe pipe, const void* address, std::size_t bytes,
                            std::size_t alignment) const {
  const std::int64_t offset = static_cast<const std::uint8_t*>(address) - ub_;
  if (offset < 0 ||
      offset + static_cast<std::int64_t>(bytes) > static_cast<std::int64_t>(ub_bytes_)) {
    fault(pipe, "access outside the unified buffer", offset < 0 ? 0 : offset);
  }
  if (offset % static_cast<std::int64_t>(alignment) != 0) {
    fault(pipe, "misaligned access to the unified buffer", offset);
  }
  return static_cast<std::size_t>(offset);
}

// Whether instruction `time` of `earlier` is done when the current one of `pipe` starts.
bool Machine::is_ordered(Pipe pipe, Pipe earlier, std::uint64_t time) const {
  if (earlier != pipe) return clocks_[pipe][earlier] >= time;
  return pipe == kScalar || time == clocks_[pipe][pipe] || time <= barrier_time_[pipe];
}

void Machine::check_after_write(Pipe pipe, std::size_t block, const char* what) const {
  const Block& state = blocks_[block];
  if (state.write_time == 0 || is_ordered(pipe, state.writer, state.write_time)) return;
  std::ostringstream text;
  text << what << " races with the write of " << pipe_name(state.writer) << " at line "
       << state.write_line;
  fault(pipe, text.str().c_str(), static_cast<std::int64_t>(block * kBlockBytes));
}

void Machine::check_store_epoch(std::size_t block, const char* what) const {
  if (in_vector_function_ && blocks_[block].store_epoch == store_epoch_) {
    fault(kVector, what, static_cast<std::int64_t>(block * kBlockBytes));
  }
}

std::size_t Machine::read(Pipe pipe, const void* address, std::size_t bytes,
                          std::size_t alignment) {
  const std::size_t offset = locate(pipe, address, bytes, alignment);
  if (bytes == 0) return offset;
  const std::uint64_t now = clocks_[pipe][pipe];
  const std::size_t last = (offset + bytes - 1) / kBlockBytes;
  for (std::size_t block = offset / kBlockBytes; block <= last; ++block) {
    check_after_write(pipe, block, "read");
    if (pipe == kVector) {
      check_store_epoch(block, "load of a stored block without mem_bar(VST_VLD)");
    }
    Block& state = blocks_[block];
    if (state.read_time[pipe] != now) state.previous_read_time[pipe] = state.read_time[pipe];
    state.read_time[pipe] = now;
  }
  return offset;
}

std::size_t Machine::write(Pipe pipe, const void* address, std::size_t bytes,
                           std::size_t alignment) {
  const std::size_t offset = locate(pipe, address, bytes, alignment);
  if (bytes == 0) return offset;
  const std::uint64_t now = clocks_[pipe][pipe];
  const std::size_t last = (offset + bytes - 1) / kBlockBytes;
  for (std::size_t block = offset / kBlockBytes; block <= last; ++block) {
    Block& state = blocks_[block];
    check_after_write(pipe, block, "write");
    for (int other = 0; other < kNumPipes; ++other) {
      if (is_ordered(pipe, static_cast<Pipe>(other), state.read_time[other]) &&
          is_ordered(pipe, static_cast<Pipe>(other), state.previous_read_time[other])) {
        continue;
      }
      std::ostringstream text;
      text << "write races with a read of " << pipe_name(static_cast<Pipe>(other));
      fault(pipe, text.str().c_str(), static_cast<std::int64_t>(block * kBlockBytes));
    }
    state.write_time = now;
    state.writer = pipe;
    state.write_line = site_.line;
    state.store_epoch = pipe == kVector ? store_epoch_ : 0;
  }
  return offset;
}

std::size_t Machine::read_defined(Pipe pipe, const void* address, std::size_t bytes,
                                  std::size_t alignment) {
  const std::size_t offset = read(pipe, address, bytes, alignment);
  const void* found = std::memchr(undefined_.data() + offset, 1, bytes);
  if (found != nullptr) {
    fault(pipe, "use of bytes that were never written",
          static_cast<const std::uint8_t*>(found) - undefined_.data());
  }
  return offset;
}

void Machine::check_gm(Pipe pipe, const void* address, std::size_t bytes, bool write) const {
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  for (const GmRange& range : gm_ranges_) {
    if (first >= range.first && first + bytes <= range.past && (range.writable || !write)) return;
  }
  fault(pipe, write ? "write outside the output tensors" : "read outside the input tensors");
}

void Machine::begin_vector_function() {
  if (in_vector_function_) fault(kVector, "a vector function called inside another");
  in_vector_function_ = true;
  issue(kVector);
  ++store_epoch_;
  ++counts_.vector_calls;
}

void Machine::end_vector_function() {
  in_vector_function_ = false;
}

void Machine::require_vector_function() const {
  if (!in_vector_function_) fault(kVector, "a register instruction outside a vector function");
}

}  // namespace deepselect::twin
