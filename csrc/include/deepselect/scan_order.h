// A pseudo-random order over the pages of a row: a bijection on [0, num_pages)
// that is independent of the row's data, so that no input can be ascending in
// it except by chance. Selection costs that depend on the order of arrival
// (the running threshold of Floyd-Rivest style selection) then have the
// expectation of randomly ordered input.
//
// Each round multiplies by an odd number and folds the high half of the bits
// onto the low half; both are invertible modulo a power of two. Numbers at or
// above num_pages are walked on (cycle walking, as in format-preserving
// encryption: Black and Rogaway, "Ciphers with arbitrary finite domains",
// 2002), fewer than two steps in expectation.
#pragma once

#include <cstdint>

#include "deepselect/macros.h"

namespace deepselect {

class ScanOrder {
 public:
  // Requires num_pages >= 1. Any seed gives a bijection; take it from the row's
  // number and length, not from its contents.
  DEEPSELECT_HOST_DEVICE constexpr ScanOrder(std::uint32_t num_pages, std::uint32_t seed)
      : num_pages_(num_pages), mask_(0), fold_(1), seed_(mix(seed)) {
    std::uint32_t bits = 0;
    while (bits < 32 && (std::uint64_t{1} << bits) < num_pages) ++bits;
    mask_ = static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
    fold_ = bits > 1 ? (bits + 1) / 2 : 1;
  }

  // The page visited at `step`; requires step < num_pages.
  DEEPSELECT_HOST_DEVICE constexpr std::uint32_t page_at(std::uint32_t step) const {
    std::uint32_t page = step;
    do {
      page = permute(page);
    } while (page >= num_pages_);
    return page;
  }

 private:
  DEEPSELECT_HOST_DEVICE static constexpr std::uint32_t mix(std::uint32_t x) {
    x ^= x >> 16;
    x *= 0x7FEB352Du;
    x ^= x >> 15;
    x *= 0x846CA68Bu;
    return x ^ (x >> 16);
  }

  DEEPSELECT_HOST_DEVICE constexpr std::uint32_t permute(std::uint32_t x) const {
    x = (x + seed_) & mask_;
    x = (x * 0x9E3779B1u) & mask_;
    x ^= x >> fold_;
    x = (x * 0x85EBCA6Bu + (seed_ >> 7)) & mask_;
    x ^= x >> fold_;
    x = (x * 0xC2B2AE35u) & mask_;
    return x ^ (x >> fold_);
  }

  std::uint32_t num_pages_;
  std::uint32_t mask_;
  std::uint32_t fold_;
  std::uint32_t seed_;
};

}  // namespace deepselect
