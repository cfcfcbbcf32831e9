// Runs a small kernel with one fault planted and judges what the twin says of it.
#pragma once

#include <cctype>
#include <cstdint>
#include <fstream>
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

template <class Fault>
struct Expected {
  Fault fault;
  const char* pipe;
  const char* rule;
  bool has_offset;
  const char* call;  // what the line named in the message says
};

// A line of a file of this folder, counted from 1; empty where it is not there.
inline std::string source_line(const std::string& file, int number) {
  std::ifstream source(std::string(DEEPSELECT_TEST_FOLDER "/") + file);
  std::string line;
  for (int i = 0; i < number; ++i) {
    if (!std::getline(source, line)) return "";
  }
  return line;
}

// The number after `label`; -1: there is none.
inline int number_after(const std::string& message, const std::string& label) {
  const std::size_t place = message.rfind(label);
  if (place == std::string::npos) return -1;
  const std::size_t first = place + label.size();
  return first < message.size() && std::isdigit(static_cast<unsigned char>(message[first])) != 0
             ? std::stoi(message.substr(first))
             : -1;
}

// The message must name the pipe, the rule, the line of `file` that breaks it and, where there is
// one, the offset.
template <class Fault>
void expect_message(const std::string& message, const Expected<Fault>& expected, const char* file) {
  const auto names = [&](const std::string& part) {
    return message.find(part) != std::string::npos;
  };
  const std::string line = source_line(file, number_after(message, std::string(file) + ":"));
  const bool right = names(expected.pipe) && names(expected.rule) &&
                     line.find(expected.call) != std::string::npos &&
                     (number_after(message, "at offset ") >= 0) == expected.has_offset;
  EXPECT(right);
  if (!right) {
    std::cerr << "  planted " << expected.rule << " at " << expected.call << ", got: " << message
              << "\n    " << line << "\n";
  }
}

// Plants every fault of `expected` by `caught(fault)`, which returns the message; they must be all
// between Fault::kNone, of which nothing may be said, and Fault::kLast.
template <class Fault, std::size_t kCount, class Caught>
void expect_all(const Expected<Fault> (&expected)[kCount], const Caught& caught, const char* file) {
  for (const Expected<Fault>& one : expected) {
    expect_message(caught(one.fault), one, file);
  }
  EXPECT(kCount + 1 == static_cast<std::size_t>(Fault::kLast));
  EXPECT(caught(Fault::kNone).empty());
}

}  // namespace planted
