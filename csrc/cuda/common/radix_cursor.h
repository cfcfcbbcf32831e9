// Radix search over composites, from the top: the state between two histograms.
//
// A histogram counts the composites in [low(), high()] by their distance from the top, in bins of
// 2^shift composites; bin 0 is the best. descend() goes into the bin that holds the element wanted.
// Composites are distinct, so bins of one composite end the search after a bounded number of
// histograms: two for 16-bit keys and three for 32-bit keys of a row without large groups of equal
// values, and at most three more for the positions within one value.
#pragma once

#include <cstdint>

#include "deepselect/macros.h"

namespace deepselect::cuda {

class RadixCursor {
 public:
  static constexpr int kBinBits = 11;
  static constexpr std::uint32_t kNumBins = 1u << kBinBits;
  static constexpr int kPositionBits = 32;

  RadixCursor() = default;

  // Over all composites of `key_bits`-bit keys. The window has `num_items` positions.
  DEEPSELECT_HOST_DEVICE RadixCursor(int key_bits, std::uint32_t num_items)
      : high_(((std::uint64_t{1} << (key_bits - 1)) << (kPositionBits + 1)) - 1),
        num_above_(0),
        shift_(kPositionBits + key_bits - kBinBits),
        first_position_shift_(excess_bits(num_items - 1)) {}

  // Over the composites in [low, high].
  DEEPSELECT_HOST_DEVICE static RadixCursor over(std::uint64_t low, std::uint64_t high) {
    RadixCursor cursor;
    cursor.high_ = high;
    cursor.num_above_ = 0;
    cursor.shift_ = excess_bits(high - low);
    cursor.first_position_shift_ = -1;
    return cursor;
  }

  // The bin of a composite; kNumBins or more where it lies outside.
  DEEPSELECT_HOST_DEVICE std::uint64_t bin(std::uint64_t composite) const {
    return composite > high_ ? std::uint64_t{kNumBins} : (high_ - composite) >> shift_;
  }

  // Enters `bin`, which lies below `num_above_in_bins` counted composites of better bins.
  DEEPSELECT_HOST_DEVICE void descend(std::uint32_t bin, std::uint32_t num_above_in_bins) {
    high_ -= static_cast<std::uint64_t>(bin) << shift_;
    num_above_ += num_above_in_bins;
    entered_shift_ = shift_;
    if (shift_ > kPositionBits) {
      shift_ = shift_ - kBinBits > kPositionBits ? shift_ - kBinBits : kPositionBits;
    } else if (shift_ == kPositionBits && first_position_shift_ >= 0) {
      shift_ = first_position_shift_;
    } else {
      shift_ = shift_ > kBinBits ? shift_ - kBinBits : 0;
    }
  }

  // The best and the worst composite of the bin entered last.
  DEEPSELECT_HOST_DEVICE std::uint64_t high() const { return high_; }
  DEEPSELECT_HOST_DEVICE std::uint64_t low() const {
    const std::uint64_t span = (std::uint64_t{1} << entered_shift_) - 1;
    return high_ > span ? high_ - span : 0;  // the last bin may reach below zero
  }
  // How many composites of the row are better than high().
  DEEPSELECT_HOST_DEVICE std::uint32_t num_above() const { return num_above_; }

 private:
  // The shift that brings `span` below kNumBins.
  DEEPSELECT_HOST_DEVICE static int excess_bits(std::uint64_t span) {
    int bits = 0;
    while ((span >> bits) >= kNumBins) ++bits;
    return bits;
  }

  std::uint64_t high_;
  std::uint32_t num_above_;
  std::int32_t shift_;
  std::int32_t first_position_shift_;  // once the key is resolved; negative: no such step
  std::int32_t entered_shift_;
};

}  // namespace deepselect::cuda
