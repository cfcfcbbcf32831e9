// One vector core of the host twin: its unified buffer with a byte of shadow per byte, a vector
// clock per pipe, the flags between pipes and counts of what was executed. Instructions execute at
// once, in program order; the clocks decide whether the hardware, where pipes run apart, would have
// been free to do otherwise. Every breach throws Fault with pipe, offset and source line.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace deepselect::twin {

enum Pipe : std::uint8_t { kScalar, kVector, kMte2, kMte3, kNumPipes };
const char* pipe_name(Pipe pipe);

constexpr std::size_t kBlockBytes = 32;
constexpr int kNumEvents = 6;  // ids 6 and 7 belong to the framework

struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Where an intrinsic was called: the default argument of every function of simd/.
struct Site {
  const char* file;
  int line;
  static Site current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

// Flags and barriers that kernels are run without, to show that each is needed.
struct OmittedSite {
  std::string file;  // its last component
  int line;
};
std::vector<OmittedSite>& omitted_sites();

// What the cost model prices. Register instructions by the unit that executes them.
struct Counts {
  std::uint64_t vector_calls = 0;
  std::uint64_t vector_loads = 0;
  std::uint64_t vector_stores = 0;
  std::uint64_t vector_computes = 0;  // on data registers
  std::uint64_t mask_computes = 0;    // on mask registers
  std::uint64_t ub_vector_calls = 0;  // buffer-to-buffer instructions (dav-2201)
  std::uint64_t ub_vector_ops = 0;    // 256-byte repeats of those
  std::uint64_t sorted_items = 0;     // through the library's Sort
  std::uint64_t copies_in = 0;
  std::uint64_t copies_out = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::uint64_t scalar_ub_accesses = 0;
  std::uint64_t scalar_gm_accesses = 0;
  std::uint64_t waits = 0;
  std::uint64_t scalar_round_trips = 0;  // waits of the scalar unit for the vector unit

  Counts& operator+=(const Counts& other);
};

// Global memory that a kernel may touch.
struct GmRange {
  std::uintptr_t first;
  std::uintptr_t past;
  bool writable;
};

class Machine {
 public:
  explicit Machine(std::size_t ub_bytes);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Starts core `block_index` of `num_blocks`: the buffer becomes garbage, flags and clocks zero.
  void begin_core(std::int64_t block_index, std::int64_t num_blocks, std::uint64_t garbage_seed);
  // Throws where a flag is left up.
  void end_core();

  std::uint8_t* ub() { return ub_; }
  std::size_t ub_bytes() const { return ub_bytes_; }
  std::int64_t block_index() const { return block_index_; }
  std::int64_t num_blocks() const { return num_blocks_; }
  std::vector<GmRange>& gm_ranges() { return gm_ranges_; }
  Counts& counts() { return counts_; }

  void at(Site site) { site_ = site; }
  [[noreturn]] void fault(Pipe pipe, const char* what, std::int64_t offset = -1) const;

  // ---- instructions and their order
  // Starts an instruction of `pipe`; accesses that follow belong to it.
  void issue(Pipe pipe) { clocks_[pipe][pipe] += 1; }
  void set_flag(Pipe source, Pipe target, int id);
  void wait_flag(Pipe source, Pipe target, int id);
  void barrier(Pipe pipe);
  void barrier_all();

  // ---- accesses of the current instruction of `pipe`; return the byte offset in the buffer
  std::size_t read(Pipe pipe, const void* address, std::size_t bytes, std::size_t alignment);
  std::size_t write(Pipe pipe, const void* address, std::size_t bytes, std::size_t alignment);
  // Reads whose bytes must have been written before (scalars, copies to global memory, indices).
  std::size_t read_defined(Pipe pipe, const void* address, std::size_t bytes,
                           std::size_t alignment);
  void check_gm(Pipe pipe, const void* address, std::size_t bytes, bool write) const;

  // 1: never written since the core began.
  std::uint8_t* undefined() { return undefined_.data(); }

  // ---- inside a vector function
  void begin_vector_function();
  void end_vector_function();
  bool in_vector_function() const { return in_vector_function_; }
  void require_vector_function() const;
  // Loads after it see the stores before it.
  void store_load_barrier() { ++store_epoch_; }

 private:
  using Clock = std::array<std::uint64_t, kNumPipes>;
  struct Block {
    std::uint64_t write_time = 0;
    Clock read_time{};
    // Of the instruction before the last that read: the last may be the one that writes now.
    Clock previous_read_time{};
    std::uint64_t store_epoch = 0;
    Pipe writer = kScalar;
    int write_line = 0;
  };
  struct Flag {
    bool up = false;
    Clock clock{};
    Site site{};
  };

  std::size_t locate(Pipe pipe, const void* address, std::size_t bytes,
                     std::size_t alignment) const;
  bool is_omitted() const;
  bool is_ordered(Pipe pipe, Pipe earlier, std::uint64_t time) const;
  void check_after_write(Pipe pipe, std::size_t block, const char* what) const;
  void check_store_epoch(std::size_t block, const char* what) const;

  std::size_t ub_bytes_;
  std::uint8_t* mapping_;
  std::uint8_t* ub_;
  std::vector<std::uint8_t> undefined_;
  std::vector<Block> blocks_;
  std::vector<GmRange> gm_ranges_;
  std::array<Clock, kNumPipes> clocks_{};
  std::array<std::uint64_t, kNumPipes> barrier_time_{};
  Flag flags_[kNumPipes][kNumPipes][kNumEvents];
  std::uint64_t store_epoch_ = 1;
  bool in_vector_function_ = false;
  std::int64_t block_index_ = 0;
  std::int64_t num_blocks_ = 1;
  Site site_{"", 0};
  Counts counts_;
};

// The core that intrinsics act on.
Machine& machine();
void use_machine(Machine* machine);

}  // namespace deepselect::twin
