// The twin's vector and mask registers. Each byte of a vector register carries a flag that says
// whether its value depends on bytes that were never written; each byte of a mask register holds
// its bit and whether that bit may be relied on: in a mask of 16-bit lanes only every second bit
// may, in one of 32-bit lanes every fourth.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "ascend/twin/machine.h"

namespace deepselect::twin {

constexpr int kVectorBytes = 256;

template <class T>
constexpr int kLanesOf = kVectorBytes / static_cast<int>(sizeof(T));

template <class T>
using Word = std::make_unsigned_t<T>;

template <class T>
struct alignas(16) Vector {
  T lane[kLanesOf<T>];
  std::uint8_t undefined[kVectorBytes];
  bool any_undefined;

  // A register holds what an earlier kernel left in it.
  Vector() : any_undefined(true) {
    std::memset(lane, 0xA5, kVectorBytes);
    std::memset(undefined, 1, kVectorBytes);
  }
  void set_defined() { any_undefined = false; }
  bool is_undefined(int index) const {
    if (!any_undefined) return false;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      if (undefined[index * sizeof(T) + i] != 0) return true;
    }
    return false;
  }
  void set_undefined(int index, bool value) {
    std::memset(undefined + index * sizeof(T), value ? 1 : 0, sizeof(T));
  }
};

struct alignas(16) Mask {
  static constexpr std::uint8_t kBit = 1;
  static constexpr std::uint8_t kUndefined = 2;
  std::uint8_t bit[kVectorBytes];

  Mask() { std::memset(bit, kUndefined | kBit, kVectorBytes); }

  template <class T>
  bool lane(int index) const {
    return (bit[index * sizeof(T)] & kBit) != 0;
  }
  // The bits between those of the lanes get a value that changes and must not matter.
  template <class T>
  void set_lane(int index, bool value, bool undefined = false) {
    std::uint8_t* first = bit + index * sizeof(T);
    std::memset(first, kUndefined | (index & kBit), sizeof(T));
    first[0] = static_cast<std::uint8_t>((value ? kBit : 0) | (undefined ? kUndefined : 0));
  }
};

// Throws unless every bit that lanes of T read may be relied on.
template <class T>
void require_mask(const Mask& mask) {
  std::uint8_t any = 0;
  for (int i = 0; i < kLanesOf<T>; ++i) any |= mask.bit[i * sizeof(T)];
  if ((any & Mask::kUndefined) != 0) {
    machine().fault(kVector, "a mask that is undefined or of another lane width");
  }
}

// Bytes of an unaligned stream that wait for their 32-byte block to fill.
struct StoreUnalign {
  std::uint8_t bytes[kBlockBytes];
  std::uint8_t undefined[kBlockBytes];
  int num_bytes = 0;
  const void* base = nullptr;
};

}  // namespace deepselect::twin
