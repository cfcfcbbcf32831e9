// Runs a small kernel with one fault planted and judges what the twin says of it.
#pragma once

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "ascend/twin/machine.h"
#include "expect.h"

namespace planted {

using Items = std::vector<std::uint16_t>;

// The message of the fault that `kernel` runs into; empty: none.
template <class Kernel>
std::string message_of(const Kernel& kernel, std::size_t ub_bytes, Items& input, Items& output,
                       std::uint64_t garbage_seed) {
  namespace twin = deepselect::twin;
  const auto range = [](Items& items, bool writable) {
    const auto first = reinterpret_cast<std::uintptr_t>(items.data());
    return twin::GmRange{first, first + items.size() * sizeof(items[0]), writable};
  };
  twin::Machine core(ub_bytes);
  core.gm_ranges() = {range(input, false), range(output, true)};
  twin::use_machine(&core);
  core.begin_core(0, 1, garbage_seed);
  std::string message;
  try {
    kernel();
    core.end_core();
  } catch (const twin::Fault& error) {
    message = error.what();
  }
  twin::use_machine(nullptr);
  return message;
}

// The message must name the pipe, the rule, a line of `file` and, where there is one, the offset.
inline void expect_message(const std::string& message, const char* pipe, const char* text,
                           bool has_offset, const char* file) {
  const auto names = [&](const std::string& part) {
    return message.find(part) != std::string::npos;
  };
  const bool right = names(pipe) && names(text) && names(std::string(file) + ":") &&
                     (!has_offset || names("at offset"));
  EXPECT(right);
  if (!right) std::cerr << "  planted " << text << ", got: " << message << "\n";
}

template <class Fault>
struct Expected {
  Fault fault;
  const char* pipe;
  const char* text;
  bool has_offset;
};

// Plants every fault of `expected` by `caught(fault)`, which returns the message; they must be all
// between Fault::kNone, of which nothing may be said, and Fault::kLast.
template <class Fault, std::size_t kCount, class Caught>
void expect_all(const Expected<Fault> (&expected)[kCount], const Caught& caught, const char* file) {
  for (const Expected<Fault>& one : expected) {
    expect_message(caught(one.fault), one.pipe, one.text, one.has_offset, file);
  }
  EXPECT(kCount + 1 == static_cast<std::size_t>(Fault::kLast));
  EXPECT(caught(Fault::kNone).empty());
}

}  // namespace planted
