// Two checks and a verdict: all that the C++ tests need of a framework.
#pragma once

#include <iostream>

namespace expect {

inline int num_failures = 0;

inline void report(bool ok, const char* file, int line, const char* text) {
  if (ok) return;
  ++num_failures;
  if (num_failures <= 20) std::cerr << file << ":" << line << ": expected " << text << "\n";
}

// The exit status of a test program.
inline int verdict() {
  if (num_failures != 0) std::cerr << num_failures << " failed\n";
  return num_failures == 0 ? 0 : 1;
}

}  // namespace expect

#define EXPECT(condition) expect::report((condition), __FILE__, __LINE__, #condition)
