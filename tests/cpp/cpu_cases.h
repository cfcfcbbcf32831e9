// Instruction set levels, thread pools and hostile rows for the tests of the CPU backend.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "cpu/isa.h"
#include "cpu/topk_cpu.h"
#include "deepselect/order_key.h"

namespace deepselect::cpu_test {

struct Level {
  const char* name;
  const cpu::IsaPrimitives* primitives;
};

inline std::vector<Level> levels() {
  const Level all[] = {{"portable", cpu::primitives_of(cpu::Isa::kPortable)},
                       {"avx2", cpu::primitives_of(cpu::Isa::kAvx2)},
                       {"avx512", cpu::primitives_of(cpu::Isa::kAvx512)}};
  std::vector<Level> available;
  for (const Level& level : all) {
    if (level.primitives != nullptr) available.push_back(level);
  }
  return available;
}

// A pool of one, and one that gives every item to a thread of its own.
inline void run_here(std::int64_t begin, std::int64_t end, std::int64_t, cpu::ThreadPool::Body body,
                     void* context) {
  body(begin, end, context);
}

inline void run_apart(std::int64_t begin, std::int64_t end, std::int64_t,
                      cpu::ThreadPool::Body body, void* context) {
  std::vector<std::thread> threads;
  for (std::int64_t i = begin; i < end; ++i) threads.emplace_back(body, i, i + 1, context);
  for (std::thread& thread : threads) thread.join();
}

// Rows that are hard for one part of the scan or another; `n` values as bits.
template <ValueType kType>
class Rows {
 public:
  using Bits = BitsOf<kType>;

  struct Maker {
    const char* name;
    std::function<Bits(std::mt19937&, std::int64_t i, std::int64_t n)> value;
  };

  static Bits from_float(float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    if constexpr (kType == ValueType::kFloat32) {
      return bits;
    } else if constexpr (kType == ValueType::kBFloat16) {
      return static_cast<Bits>(bits >> 16);
    } else if constexpr (kType == ValueType::kFloat16) {
      // Normal range only, truncated: enough to make test values.
      const std::uint32_t magnitude = bits & 0x7FFFFFFF;
      const std::uint32_t sign = (bits >> 16) & 0x8000;
      if (magnitude < 0x38800000) return static_cast<Bits>(sign);
      if (magnitude >= 0x477FE000) return static_cast<Bits>(sign | 0x7BFF);
      return static_cast<Bits>(sign | ((magnitude - 0x38000000) >> 13));
    } else {
      return static_cast<Bits>(static_cast<std::int32_t>(value * 1e6f));
    }
  }

  static std::vector<Maker> makers() {
    std::vector<Maker> makers{
        {"normal",
         [](std::mt19937& random, std::int64_t, std::int64_t) {
           return from_float(std::normal_distribution<float>()(random));
         }},
        {"relu",
         [](std::mt19937& random, std::int64_t, std::int64_t) {
           return from_float(std::max(0.0f, std::normal_distribution<float>()(random) - 1.5f));
         }},
        {"equal", [](std::mt19937&, std::int64_t, std::int64_t) { return from_float(1.0f); }},
        {"two values", [](std::mt19937& random, std::int64_t,
                          std::int64_t) { return from_float(random() % 2 ? 0.5f : 0.25f); }},
        {"ascending", [](std::mt19937&, std::int64_t i,
                         std::int64_t) { return from_float(static_cast<float>(i) / 64); }},
        {"descending", [](std::mt19937&, std::int64_t i,
                          std::int64_t n) { return from_float(static_cast<float>(n - i) / 64); }},
        {"sawtooth", [](std::mt19937&, std::int64_t i,
                        std::int64_t) { return from_float(static_cast<float>(i % 257) - 100); }},
        {"late rise",
         [](std::mt19937&, std::int64_t i, std::int64_t n) {
           return from_float(i > n - n / 7 ? static_cast<float>(i) / 512 : -1.0f);
         }},
        {"any bits", [](std::mt19937& random, std::int64_t,
                        std::int64_t) { return static_cast<Bits>(random()); }},
        {"signed zeros and subnormals",
         [](std::mt19937& random, std::int64_t, std::int64_t) {
           const Bits sign = static_cast<Bits>((random() % 2) << (8 * sizeof(Bits) - 1));
           return static_cast<Bits>(sign | (random() % 3));
         }},
    };
    if constexpr (is_floating(kType)) {
      makers.push_back({"rare nan", [](std::mt19937& random, std::int64_t, std::int64_t) {
                          const Bits nan =
                              static_cast<Bits>(ValueTraits<kType>::kQuietNan | random() % 4 |
                                                (random() % 2) << (8 * sizeof(Bits) - 1));
                          const float value = std::normal_distribution<float>()(random);
                          return random() % 97 == 0 ? nan : from_float(value);
                        }});
      makers.push_back({"mostly nan", [](std::mt19937& random, std::int64_t, std::int64_t) {
                          return random() % 5 == 0 ? from_float(2.0f)
                                                   : ValueTraits<kType>::kQuietNan;
                        }});
      makers.push_back({"infinities", [](std::mt19937& random, std::int64_t, std::int64_t) {
                          const Bits sign =
                              static_cast<Bits>((random() % 2) << (8 * sizeof(Bits) - 1));
                          return random() % 3 == 0
                                     ? static_cast<Bits>(ValueTraits<kType>::kInfinity | sign)
                                     : from_float(3.0f);
                        }});
    }
    return makers;
  }

  // On the heap and exactly as long as asked: reading past the end is seen by the address
  // sanitizer.
  static std::vector<Bits> make(const Maker& maker, std::int64_t n, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<Bits> row(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
      row[static_cast<std::size_t>(i)] = maker.value(random, i, n);
    }
    row.shrink_to_fit();
    return row;
  }
};

// Runs Suite<kType>::run(level) for every value type.
template <template <ValueType> class Suite>
void run_types(const Level& level) {
  Suite<ValueType::kBFloat16>::run(level);
  Suite<ValueType::kFloat16>::run(level);
  Suite<ValueType::kFloat32>::run(level);
  Suite<ValueType::kInt32>::run(level);
}

}  // namespace deepselect::cpu_test
