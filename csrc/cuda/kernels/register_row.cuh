// The row of row_registers: a team's threads hold it, find the distances of the wanted elements
// from its best key, and hand out their positions. kernels/row_registers.cuh says how.
#pragma once

#include <cstdint>

#include "cuda/common/block.cuh"
#include "cuda/common/key_map.cuh"
#include "cuda/common/pivot_bin.cuh"
#include "cuda/common/row_slots.cuh"
#include "cuda/common/row_team.cuh"
#include "cuda/kernels/register_slots.cuh"
#include "cuda/ptx/compare.cuh"
#include "cuda/ptx/shared_memory.cuh"
#include "cuda/smem/row_registers.h"

namespace deepselect::cuda {

// The distances that are selected: all below `first`, and `num_of_group` of those in [first, last]:
// those of lowest position, or, where there are different distances among few elements, the best.
struct DistanceSelection {
  std::uint32_t first;
  std::uint32_t last;
  std::uint32_t num_of_group;
  bool is_by_rank;
};

// Distances without the values near zero, as which all in [nearer, nearer + gap] count: half of all
// keys are those of numbers below one, but few elements of a row have them.
struct DistanceFold {
  std::uint32_t nearer = ~0u;
  std::uint32_t gap = 0;

  __device__ std::uint32_t first_of(std::uint32_t folded) const {
    return folded <= nearer ? folded : folded + gap;
  }
  __device__ std::uint32_t last_of(std::uint32_t folded) const {
    return folded < nearer ? folded : folded + gap;
  }
};

// A row in the registers of a team, as distances from its best key.
template <ValueType kType, class Policy, RowLoad kLoad>
class RegisterRow : private RegisterSlots<kType, Policy, kLoad> {
  using Slots = RegisterSlots<kType, Policy, kLoad>;
  using Slots::first_position_;
  using Slots::in_order;
  using Slots::kAllItems;
  using Slots::kThreadItems;
  using Slots::may_have_items;
  using Slots::valid_;

 public:
  using Team = RowTeam<Policy::kThreads, Policy::kTeams>;
  using Smem = RowRegistersSmemOf<Policy>;
  static constexpr int kVectors = Policy::kVectors;
  static constexpr int kWords = 4 * kVectors;
  static constexpr int kItemsPerWord = KeyMap<kType>::kItemsPerWord;
  static constexpr std::uint32_t kBins = Policy::kBins;
  // Elements of a bin that are ranked by comparing each with each, instead of by another round.
  static constexpr std::uint32_t kMaxRanked = 64;
  // One step of that, where the registers beside the row's are few.
  static constexpr int kRankedAtOnce = Policy::kRegisters - kWords < 40 ? 1 : 4;

  // Ends with a barrier where the team is more than a warp.
  __device__ __forceinline__ RegisterRow(const RowSlots<kType>& slots, const KeyMap<kType>& key_map,
                                         Smem& smem, uint4* stage) {
    uint4 bits[kVectors];
    this->load(slots, smem, stage, bits);

    // Skipped, as much below, by whole warps beyond a window's end.
    const bool is_reversed = key_map.is_reversed();
    std::uint32_t own_best = 0;
    if (may_have_items()) {
#pragma unroll
      for (int v = 0; v < kVectors; ++v) {
        words_[4 * v] = key_map.word_raised(bits[v].x);
        words_[4 * v + 1] = key_map.word_raised(bits[v].y);
        words_[4 * v + 2] = key_map.word_raised(bits[v].z);
        words_[4 * v + 3] = key_map.word_raised(bits[v].w);
      }
      if (valid_ != kAllItems) drop_outside(is_reversed ? ~0u : 0u);

      std::uint32_t best = words_[0];
      if (is_reversed) {
#pragma unroll
        for (int w = 1; w < kWords; ++w) best = min_of_words<kType>(best, words_[w]);
      } else {
#pragma unroll
        for (int w = 1; w < kWords; ++w) best = max_of_words<kType>(best, words_[w]);
      }
      own_best = greatest_key<kType>(key_map.keys_of_raised(best));
    }
    best_key_ = Team::max_of(own_best, smem.warp_maxima[0]);
    if (may_have_items()) {
      // The distance of a key, best - key, is that of its raised form turned round where the order
      // is. No item is beyond the best: no borrow between those of a word.
      const std::uint32_t best_raised = key_map.keys_of_raised(best_key_ * kEveryItem);
      const std::uint32_t sign = is_reversed ? 1u : ~0u;
      const std::uint32_t base = is_reversed ? 0u - best_raised : best_raised;
#pragma unroll
      for (int w = 0; w < kWords; ++w) words_[w] = words_[w] * sign + base;
    }
  }

  __device__ std::uint32_t best_key() const { return best_key_; }

  // The distances of the `num_wanted` best, fewer than the row has and at least one. The bins are
  // empty, a barrier before. Items outside the row that are counted count as worst.
  __device__ __forceinline__ DistanceSelection select(std::uint32_t num_wanted,
                                                      std::uint32_t num_items, Smem& smem) const {
    std::uint32_t first = 0;  // the range's first distance
    int shift = kFirstShift;
    bool is_folded = !Policy::expects_near(num_wanted, num_items);
    const std::uint32_t num_bins = is_folded ? kBins : Policy::near_bins(num_wanted, num_items);
    if (__builtin_expect(!is_folded, 1)) {
      count_near(num_bins, smem);
    } else {
      shift = kDeepShift;
      count_folded(fold_round_zero(), smem);
    }
    std::uint32_t num_left = num_wanted;
    for (bool is_first = true;; is_first = false) {
      Team::sync();
      const PivotBin pivot = team_pivot_bin<Team, kBins, Policy::kBinsPerLane, Policy::kPadsBins>(
          smem.bins, num_left - 1, &smem.pivot);
      num_left -= pivot.above;
      first += pivot.bin << shift;
      const std::uint32_t span = (1u << shift) - 1;
      // Made again: kept, it would take registers.
      const DistanceFold fold = is_folded ? fold_round_zero() : DistanceFold{};
      is_folded = false;
      const std::uint32_t farthest = kMaxDistance - fold.gap;
      std::uint32_t last = fold.last_of(farthest - first < span ? farthest : first + span);
      first = fold.first_of(first);
      const bool is_beyond = pivot.bin == (is_first ? num_bins : kBins);
      const bool is_whole = first == last || num_left == pivot.count;
      // What was folded may be too much for masks().
      const bool is_narrow = last - first <= kMaxSpan;
      if (!is_beyond && is_narrow && (is_whole || pivot.count <= kMaxRanked)) {
        return {first, last, num_left, !is_whole};
      }
      // From the first distance that occurs on: many equal elements then are a bin of one distance.
      if constexpr (Team::kWarps == 1) Team::sync();  // the bins have been read
      clear(smem);
      first = nearest_from(first, smem);
      if (!is_beyond) {
        last = farthest_to(last, smem);
        if (first == last) return {first, last, num_left, false};
        shift = shift_for(last - first);
      } else {
        shift = shift_for(best_key_ - first);
        if (is_first) shift = min(shift, kSecondShift);
      }
      if constexpr (Team::kWarps == 1) Team::sync();
      count_range(first, shift, smem.bins);
    }
  }

  // Hands the positions of the selected elements to `emit(place, position)`, places in their order.
  // Where they are `many` of the row, a thread looks at each of its items. Changes the distances.
  template <class Emit>
  __device__ __forceinline__ void emit_selected(const DistanceSelection& selection, bool many,
                                                const RowSlots<kType>& slots,
                                                const KeyMap<kType>& key_map, Smem& smem,
                                                Emit&& emit) {
    auto [above, group_and_above] = masks(selection);
    std::uint32_t group = group_and_above & ~above;
    std::uint32_t num_wanted_of_group = selection.num_of_group;
    if (selection.is_by_rank) {
      rank_group(above, group, num_wanted_of_group, slots, key_map, smem);
    }

    // Elements above the group in the low half, those of it in the high half: at most 2^15 each.
    const std::uint32_t num_above = __popc(above);
    const std::uint32_t num_of_group = __popc(group);
    const std::uint32_t before = Team::sum_before(num_above | num_of_group << 16, smem.warp_totals);
    const std::uint32_t group_before = min(before >> 16, num_wanted_of_group);
    const std::uint32_t group_left = min(num_wanted_of_group - group_before, num_of_group);
    if (group_left == 0) group = 0;
    if (group_left < num_of_group && group != 0) {  // the one thread where the group is cut
#pragma unroll 1
      for (std::uint32_t spare = num_of_group - group_left; spare != 0; --spare) {
        group ^= 1u << highest_bit(group);
      }
    }

    const std::uint32_t selected = above | group;
    std::uint32_t place = (before & 0xFFFF) + group_before;
    if (kThreadItems <= 8 || (kCanHaveMany && many)) {
      // No chain from one item to the next but the place's.
#pragma unroll
      for (int item = 0; item < kThreadItems; ++item) {
        if ((selected >> item & 1) != 0) emit(place++, first_position_ + item);
      }
    } else {
      // From the last on: the highest bit is found by one instruction, the lowest by two.
      place += num_above + group_left;
      for_each_bit(selected, [&](std::uint32_t item) { emit(--place, first_position_ + item); });
    }
  }

  // No barrier.
  __device__ __forceinline__ static void clear(Smem& smem) {
    constexpr std::uint32_t kQuads = place_of_bin<Policy::kPadsBins>(kBins) / 4;
    auto* quads = reinterpret_cast<uint4*>(smem.bins) + Team::rank();
#pragma unroll
    for (std::uint32_t i = 0; i < kQuads; i += Team::kThreads) {
      if (i + Team::kThreads <= kQuads || i + Team::rank() < kQuads) quads[i] = {0, 0, 0, 0};
    }
    if (Team::rank() == 0) smem.num_ranked = 0;
  }

 private:
  static_assert(kWords * kItemsPerWord <= 32, "a mask of one word");
  static_assert(Policy::kMaxSlots * KeyMap<kType>::kItemsPerVector <= 1 << 15,
                "counts of half a word");
  static constexpr std::uint32_t kMaxDistance = KeyMap<kType>::kMaxKey;
  // As positive float16 numbers, integers below that of infinity compare as what they are.
  static constexpr std::uint32_t kMaxOrdered = 0x7BFF;
  // Between the first and the last distance of a group.
  static constexpr std::uint32_t kMaxSpan = kItemsPerWord == 2 ? kMaxOrdered - 2 : ~0u;
  // Where more threads have as much each, the code for many winners costs all others registers.
  static constexpr bool kCanHaveMany = Policy::kThreads <= 128;
  static constexpr std::uint32_t kEveryItem = kItemsPerWord == 2 ? 0x00010001u : 1u;
  static constexpr std::uint32_t kFirstItem = kItemsPerWord == 2 ? 0x0000FFFFu : ~0u;
  static constexpr int kMantissaBits = kType == ValueType::kBFloat16  ? 7
                                       : kType == ValueType::kFloat16 ? 10
                                                                      : 23;
  static constexpr int kFirstShift = kMantissaBits + Policy::kLog2FirstOctaves - Policy::kLog2Bins;
  static constexpr int kSecondShift =
      kMantissaBits + Policy::kLog2SecondOctaves - Policy::kLog2Bins;
  // Of 16-bit items, one bin more than there are must be within an item.
  static constexpr int kDeepShift =
      (kMantissaBits + Policy::kLog2DeepOctaves < KeyMap<kType>::kKeyBits
           ? kMantissaBits + Policy::kLog2DeepOctaves
           : KeyMap<kType>::kKeyBits - 1) -
      Policy::kLog2Bins;
  static_assert(kFirstShift >= 0 && kSecondShift >= 0 && kDeepShift >= 0,
                "bins of less than a key");

  __device__ static std::uint32_t highest_bit(std::uint32_t mask) {
    return 31 - __clz(static_cast<int>(mask));
  }

  template <class Body>
  __device__ __forceinline__ static void for_each_bit(std::uint32_t mask, Body&& body) {
#pragma unroll 1
    while (mask != 0) {
      const std::uint32_t bit = highest_bit(mask);
      mask ^= 1u << bit;
      body(bit);
    }
  }

  // Gives the items outside the row the worst key.
  __device__ __forceinline__ void drop_outside(std::uint32_t worst) {
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const std::uint32_t valid = valid_ >> (w * kItemsPerWord);
      if constexpr (kItemsPerWord == 1) {
        if ((valid & 1) == 0) words_[w] = worst;
      } else {
        if ((valid & 1) == 0) words_[w] = __byte_perm(words_[w], worst, 0x3254);
        if ((valid & 2) == 0) words_[w] = __byte_perm(words_[w], worst, 0x5410);
      }
    }
  }

  // The shift that brings `distance` into the bins.
  __device__ static int shift_for(std::uint32_t distance) {
    return max(32 - Policy::kLog2Bins - __clz(static_cast<int>(distance)), 0);
  }

  // Counts a word's distances, at most kBins << kShift each. The addresses of both items at once:
  // bins begin in the first 64 KB, at a multiple of kBinsAlignment.
  template <int kShift>
  __device__ __forceinline__ static void count_word(std::uint32_t word, std::uint32_t bins) {
    static_assert(kShift != 1 && place_of_bin<true>(kBins) - kBins < kBinsAlignment / 4);
    std::uint32_t offsets;
    if constexpr (kShift == 0) {
      offsets = word * 4;
    } else {
      constexpr std::uint32_t kInItem = (KeyMap<kType>::kMaxKey >> (kShift - 2)) & ~3u;
      offsets = word >> (kShift - 2) & kInItem * kEveryItem;
    }
    // Four bytes for 32 bins before.
    constexpr std::uint32_t kPadding = (kBinsAlignment - 4) * kEveryItem;
    const std::uint32_t padded = Policy::kPadsBins ? (offsets >> 5 & kPadding) | bins : bins;
    const std::uint32_t addresses = offsets + padded;
    if constexpr (kItemsPerWord == 2) {
      ptx::count_at(addresses & 0xFFFFu);
      ptx::count_at(addresses >> 16);
    } else {
      ptx::count_at(addresses);
    }
  }

  __device__ static std::uint32_t addresses_of(const std::uint32_t* bins) {
    return ptx::shared_address(bins) * kEveryItem;
  }

  // The first round from distance zero where the pivot is expected near: all that is out of range
  // is one bin more.
  __device__ __forceinline__ void count_near(std::uint32_t num_bins, const Smem& smem) const {
    if (valid_ == 0) return;
    const std::uint32_t limits = (num_bins << kFirstShift) * kEveryItem;
    const std::uint32_t addresses = addresses_of(smem.bins);
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      count_word<kFirstShift>(min_of_words<kType>(words_[w], limits), addresses);
    }
  }

  // Values of less than the best by kDeepOctaves count as zero. Keys of integers are even already.
  __device__ __forceinline__ DistanceFold fold_round_zero() const {
    constexpr std::uint32_t kZeroKey = kMaxDistance / 2 + 1;
    if (kType == ValueType::kInt32 || best_key_ < kZeroKey) return {kMaxDistance, 0};
    const std::uint32_t of_zero = best_key_ - kZeroKey;
    const std::uint32_t nearer = min(of_zero, Policy::kDeepOctaves << kMantissaBits);
    return {nearer, 2 * (of_zero - nearer) + 1};
  }

  // The first round from distance zero over the folded distances: both signs at the same step.
  __device__ __forceinline__ void count_folded(const DistanceFold& fold, const Smem& smem) const {
    if (valid_ == 0) return;
    constexpr std::uint32_t kLimit = kBins << kDeepShift;
    const std::uint32_t addresses = addresses_of(smem.bins);
    const std::uint32_t nearer = fold.nearer * kEveryItem;
    const std::uint32_t farther = (fold.nearer + fold.gap) * kEveryItem;
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      // No borrow between items in the end: the greater is at least `farther`.
      const std::uint32_t folded = min_of_words<kType>(words_[w], nearer) +
                                   (max_of_words<kType>(words_[w], farther) - farther);
      count_word<kDeepShift>(min_of_words<kType>(folded, kLimit * kEveryItem), addresses);
    }
  }

  // A later round: the range begins at `first`.
  __device__ __forceinline__ void count_range(std::uint32_t first, int shift,
                                              std::uint32_t* bins) const {
    if (valid_ == 0) return;
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
#pragma unroll
      for (int i = 0; i < kItemsPerWord; ++i) {
        const std::uint32_t distance =
            kItemsPerWord == 1 ? words_[w] : (i == 0 ? words_[w] & 0xFFFFu : words_[w] >> 16);
        const std::uint32_t bin = (distance - first) >> shift;
        if (distance >= first && bin < kBins)
          count_shared(&bins[place_of_bin<Policy::kPadsBins>(bin)]);
      }
    }
  }

  // The smallest distance from `first` on, and the greatest up to `last`; there is one. Each ends
  // with a barrier where the team is more than a warp. Those on the other side are far away modulo
  // 2^32.
  __device__ __forceinline__ std::uint32_t nearest_from(std::uint32_t first, Smem& smem) const {
    return first +
           least([=](std::uint32_t distance) { return distance - first; }, smem.warp_maxima[0]);
  }
  __device__ __forceinline__ std::uint32_t farthest_to(std::uint32_t last, Smem& smem) const {
    return last -
           least([=](std::uint32_t distance) { return last - distance; }, smem.warp_maxima[1]);
  }

  template <class Map>
  __device__ __forceinline__ std::uint32_t least(Map&& map, std::uint32_t* warp_maxima) const {
    std::uint32_t value = ~0u;
    if (valid_ != 0) {
#pragma unroll
      for (int w = 0; w < kWords; ++w) {
        if constexpr (kItemsPerWord == 2) {
          value = min(value, min(map(words_[w] & 0xFFFFu), map(words_[w] >> 16)));
        } else {
          value = min(value, map(words_[w]));
        }
      }
    }
    return ~Team::max_of(~value, warp_maxima);
  }

  // The distance of item `item`, perhaps less what masks() took off all of them.
  __device__ __forceinline__ std::uint32_t distance(std::uint32_t item,
                                                    const RowSlots<kType>& slots,
                                                    const KeyMap<kType>& key_map) const {
    if constexpr (kVectors == 1) {
      std::uint32_t word = words_[0];
#pragma unroll
      for (std::uint32_t w = 1; w < kWords; ++w) {
        if (item / kItemsPerWord == w) word = words_[w];
      }
      return kItemsPerWord == 1 ? word : (item % 2 == 0 ? word & 0xFFFFu : word >> 16);
    } else {  // read again rather than looked up: registers cannot be indexed
      return best_key_ - key_map.key(slots.item(first_position_ + item));
    }
  }

  // Of the elements whose bits are set in the threads' `group`, at most kMaxRanked over the team,
  // the `num_wanted` best are selected. Adds those of them that are nearer than the last to `above`
  // and leaves those at its distance in the group, with how many of them are wanted. The bins make
  // room for the distances.
  __device__ __forceinline__ void rank_group(std::uint32_t& above, std::uint32_t& group,
                                             std::uint32_t& num_wanted,
                                             const RowSlots<kType>& slots,
                                             const KeyMap<kType>& key_map, Smem& smem) const {
    std::uint32_t* list = smem.bins;
    if constexpr (Team::kWarps == 1) Team::sync();  // the bins have been read
    for_each_bit(group, [&](std::uint32_t item) {
      list[ptx::take_at(ptx::shared_address(&smem.num_ranked))] = distance(item, slots, key_map);
    });
    Team::sync();
    const std::uint32_t size = smem.num_ranked;
    for (std::uint32_t i = Team::rank(); i < size; i += Team::kThreads) {
      const std::uint32_t own = list[i];
      // Nearer ones in the low half, in the high half those before it in the list as near.
      std::uint32_t counts = 0;
#pragma unroll kRankedAtOnce
      for (std::uint32_t j = 0; j < size; ++j) {
        const std::uint32_t other = list[j];
        if (other < own) ++counts;
        if (other == own && j < i) counts += 1u << 16;
      }
      const std::uint32_t num_nearer = counts & 0xFFFFu;
      if (num_nearer + (counts >> 16) == num_wanted - 1) smem.last_ranked = {own, num_nearer};
    }
    Team::sync();
    const std::uint32_t last = smem.last_ranked.distance;
    num_wanted -= smem.last_ranked.num_nearer;
    std::uint32_t at_last = 0;
    for_each_bit(group, [&](std::uint32_t item) {
      const std::uint32_t own = distance(item, slots, key_map);
      above |= own < last ? 1u << item : 0u;
      at_last |= own == last ? 1u << item : 0u;
    });
    group = at_last;
  }

  struct Masks {
    std::uint32_t above;  // bit i: item i of this thread, in order of position, is selected
    std::uint32_t group_and_above;  // ... or of the group
  };

  __device__ __forceinline__ Masks masks(const DistanceSelection& selection) {
    if (valid_ == 0) return {0, 0};
    if (selection.first == 0 && selection.last == KeyMap<kType>::kMaxKey) return {0, valid_};
    std::uint32_t first = selection.first;
    std::uint32_t last = selection.last;
    std::uint32_t above = 0;
    std::uint32_t reaching = 0;
    if constexpr (kItemsPerWord == 1) {
#pragma unroll
      for (int w = 0; w < kWords; ++w) {
        above |= words_[w] < first ? 1u << w : 0u;
        reaching |= words_[w] <= last ? 1u << w : 0u;
      }
    } else {
      if (last >= kMaxOrdered) {
        const std::uint32_t base = first == 0 ? 0 : first - 1;
        const std::uint32_t bases = base * 0x00010001u;
#pragma unroll
        for (int w = 0; w < kWords; ++w) words_[w] = __vmaxu2(words_[w], bases) - bases;
        first -= base;
        last -= base;
      }
      // Below zero in the first place: -1 as a float16.
      const std::uint32_t below_first = (first == 0 ? 0xBC00u : first - 1) * 0x00010001u;
      const std::uint32_t lasts = last * 0x00010001u;
      std::uint32_t above_halves[2] = {0, 0};  // words 0 to 7, words 8 to 15
      std::uint32_t reaching_halves[2] = {0, 0};
#pragma unroll
      for (int w = 0; w < kWords; ++w) {
        const std::uint32_t word = __vminu2(words_[w], kMaxOrdered * 0x00010001u);
        // The comparison's ones are in either item's half: the lower item's bit is kept from the
        // low half, the upper one's from the high half, each at its place in the other's gaps.
        const std::uint32_t kept = 0x00020001u << 2 * (w % 8);
        above_halves[w / 8] |= ptx::mask_le_f16x2(word, below_first) & kept;
        reaching_halves[w / 8] |= ptx::mask_le_f16x2(word, lasts) & kept;
      }
      above = join(above_halves);
      reaching = join(reaching_halves);
    }
    if (kLoad == RowLoad::kStaged && valid_ == kAllItems)
      return {in_order(above), in_order(reaching)};
    return {above & valid_, reaching & valid_};
  }

  __device__ __forceinline__ static std::uint32_t join(const std::uint32_t (&halves)[2]) {
    const std::uint32_t low = halves[0] | halves[0] >> 16;
    const std::uint32_t high = halves[1] | halves[1] >> 16;
    return (low & 0xFFFFu) | high << 16;
  }

  std::uint32_t words_[kWords];  // keys, then distances
  std::uint32_t best_key_;
};

}  // namespace deepselect::cuda
