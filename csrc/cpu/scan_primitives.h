// The vector loops under the row scan, as tables of functions: one table per
// value type and instruction set, filled by scan_primitives_<isa>.cpp. Each of
// those files is compiled with its own flags, so this header, which they share
// with the rest of the backend, declares data and no code: an inline function
// compiled for a wide instruction set and merged by the linker would fault on
// a machine without it.
//
// Keys here are signed and as wide as the value: the greater is selected first.
// The order is the one of order_key.h; the integers differ from it (a negative
// float is its negated magnitude, which costs one instruction and makes -0.0
// and +0.0 equal without a test).
#pragma once

#include <cstddef>
#include <cstdint>

#include "deepselect/contract.h"
#include "deepselect/order_key.h"

namespace deepselect::cpu {

enum class Isa : std::uint8_t { kPortable, kAvx2, kAvx512 };

// Marks are bit sets: bit i % 64 of word i / 64 stands for item i. Loops run over whole words.
constexpr std::int64_t kMarksPerWord = 64;

// Room behind the last item that an array of keys or positions must have where a primitive writes
// it; what it writes there means nothing. Values need none: nothing is read past their end.
constexpr std::int64_t kOverrunItems = 64;

// How values become keys in one call. `nan_key` is the key before `flip`, which is 0 or, where the
// smallest are selected, all ones.
template <typename Key>
struct KeyRule {
  Key nan_key;
  Key flip;
};

// A set of bit patterns as `num` ranges of them, each from `first` to first + span; the sum may
// wrap.
template <typename Bits>
struct BitRange {
  Bits first;
  Bits span;
};

template <typename Bits>
struct BitRanges {
  int num;
  BitRange<Bits> ranges[2];
};

template <typename Key>
struct KeyRange {
  Key min;
  Key max;
};

template <ValueType kType>
struct ScanPrimitives {
  using Bits = BitsOf<kType>;
  using Key = std::make_signed_t<Bits>;

  // keys[i] = key of values[i]. Both may be the same memory.
  void (*make_keys)(const Bits* values, std::int64_t n, KeyRule<Key> rule, Key* keys);

  // Marks the values in `accepted` (bit_ranges.h), or the keys at or above `bound`; the last word's
  // marks past n are clear.
  void (*mark_values)(const Bits* values, std::int64_t n, BitRanges<Bits> accepted,
                      std::uint64_t* marks);
  void (*mark_keys)(const Key* keys, std::int64_t n, Key bound, std::uint64_t* marks);

  // How many would be marked.
  std::int64_t (*count_values)(const Bits* values, std::int64_t n, BitRanges<Bits> accepted);
  std::int64_t (*count_keys)(const Key* keys, std::int64_t n, Key bound);

  // Requires n >= 1.
  KeyRange<Key> (*key_range)(const Key* keys, std::int64_t n);

  std::int64_t (*count_marks)(const std::uint64_t* marks, std::int64_t num_words);

  // Writes first + (number of the mark) for every mark, ascending; returns how many.
  std::int64_t (*list_marks)(const std::uint64_t* marks, std::int64_t num_words,
                             std::uint32_t first, std::uint32_t* positions);

  // Moves the marked of the positions to the front, in place and in order.
  void (*keep_marked)(const std::uint64_t* marks, std::int64_t num_words, std::uint32_t* positions);
};

struct IsaPrimitives {
  ScanPrimitives<ValueType::kBFloat16> bfloat16;
  ScanPrimitives<ValueType::kFloat16> float16;
  ScanPrimitives<ValueType::kFloat32> float32;
  ScanPrimitives<ValueType::kInt32> int32;
};

const IsaPrimitives& scan_primitives_portable();
#if defined(__x86_64__)
const IsaPrimitives& scan_primitives_avx2();
const IsaPrimitives& scan_primitives_avx512();
#endif

}  // namespace deepselect::cpu
