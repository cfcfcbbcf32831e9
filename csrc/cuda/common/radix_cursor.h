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
      : high_(best_composite(key_bits)),
        low_(0),
        open_high_(0),
        num_above_(0),
        shift_(kPositionBits + key_bits - kBinBits),
        first_position_shift_(excess_bits(num_items - 1)) {}

  // Over the composites in [low, high].
  DEEPSELECT_HOST_DEVICE static RadixCursor over(std::uint64_t low, std::uint64_t high) {
    RadixCursor cursor;
    cursor.high_ = high;
    cursor.low_ = low;
    cursor.open_high_ = 0;
    cursor.num_above_ = 0;
    cursor.shift_ = excess_bits(high - low);
    cursor.first_position_shift_ = -1;
    return cursor;
  }

  // Over all composites from `low` up, in bins that suit those up to `high`: bin 0 also takes what
  // is better, up to the key `max_key`. Bins are of whole keys unless both ends have one key.
  DEEPSELECT_HOST_DEVICE static RadixCursor above(std::uint64_t low, std::uint64_t high,
                                                  std::uint32_t max_key, std::uint32_t num_items) {
    RadixCursor cursor;
    cursor.high_ = high;
    cursor.low_ = low;
    cursor.open_high_ = best_of_key(max_key);
    cursor.num_above_ = 0;
    cursor.first_position_shift_ = excess_bits(num_items - 1);
    if ((low >> kPositionBits) == (high >> kPositionBits)) {
      // Not below the row's last position.
      const std::uint64_t last = (high | ~std::uint32_t{0}) - (num_items - 1);
      cursor.shift_ = excess_bits(high - (low > last ? low : last));
    } else {
      cursor.shift_ = excess_bits(high - low);
      if (cursor.shift_ < kPositionBits) cursor.shift_ = kPositionBits;
    }
    return cursor;
  }

  // The best composite with a key.
  DEEPSELECT_HOST_DEVICE static std::uint64_t best_of_key(std::uint32_t key) {
    return (std::uint64_t{key} << kPositionBits) | ~std::uint32_t{0};
  }

  // The bin of a composite; kNumBins or more where it lies outside.
  DEEPSELECT_HOST_DEVICE std::uint64_t bin(std::uint64_t composite) const {
    if (composite > high_) return open_high_ != 0 ? 0 : std::uint64_t{kNumBins};
    return (high_ - composite) >> shift_;
  }

  // The same of any composite with a key, where !divides_keys().
  DEEPSELECT_HOST_DEVICE std::uint32_t bin_of_key(std::uint32_t key) const {
    const auto high_key = static_cast<std::uint32_t>(high_ >> kPositionBits);
    if (key > high_key) return open_high_ != 0 ? 0 : kNumBins;
    return (high_key - key) >> (shift_ - kPositionBits);
  }

  // Whether the bins are smaller than a key: if not, bin() is the same for all positions.
  DEEPSELECT_HOST_DEVICE bool divides_keys() const { return shift_ < kPositionBits; }

  // Enters `bin`, which lies below `num_above_in_bins` counted composites of better bins.
  DEEPSELECT_HOST_DEVICE void descend(std::uint32_t bin, std::uint32_t num_above_in_bins) {
    high_ -= static_cast<std::uint64_t>(bin) << shift_;
    num_above_ += num_above_in_bins;
    const std::uint64_t span = (std::uint64_t{1} << shift_) - 1;
    low_ = high_ > span ? high_ - span : 0;  // the last bin may reach below zero
    if (open_high_ != 0 && bin == 0) {
      high_ = open_high_;
      shift_ = excess_bits(high_ - low_);
    } else if (shift_ > kPositionBits) {
      shift_ = shift_ - kBinBits > kPositionBits ? shift_ - kBinBits : kPositionBits;
    } else if (shift_ == kPositionBits && first_position_shift_ >= 0) {
      shift_ = first_position_shift_;
    } else {
      shift_ = shift_ > kBinBits ? shift_ - kBinBits : 0;
    }
    open_high_ = 0;
  }

  // The best and the worst composite of the bin entered last.
  DEEPSELECT_HOST_DEVICE std::uint64_t high() const { return high_; }
  DEEPSELECT_HOST_DEVICE std::uint64_t low() const { return low_; }
  // How many composites of the row are better than high().
  DEEPSELECT_HOST_DEVICE std::uint32_t num_above() const { return num_above_; }

 private:
  DEEPSELECT_HOST_DEVICE static std::uint64_t best_composite(int key_bits) {
    return ((std::uint64_t{1} << (key_bits - 1)) << (kPositionBits + 1)) - 1;
  }

  // The shift that brings `span` below kNumBins.
  DEEPSELECT_HOST_DEVICE static int excess_bits(std::uint64_t span) {
#if defined(__CUDA_ARCH__)
    const int bits = 64 - kBinBits - __clzll(static_cast<long long>(span));
    return bits > 0 ? bits : 0;
#else
    int bits = 0;
    while ((span >> bits) >= kNumBins) ++bits;
    return bits;
#endif
  }

  std::uint64_t high_;
  std::uint64_t low_;
  std::uint64_t
      open_high_;  // the best composite there can be, where bin 0 has no upper end; else 0
  std::uint32_t num_above_;
  std::int32_t shift_;
  std::int32_t first_position_shift_;  // once the key is resolved; negative: no such step
};

}  // namespace deepselect::cuda
