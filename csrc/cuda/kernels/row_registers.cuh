// row_registers: a team of threads per row, the row in registers, read once. For short rows. A team
// is a CTA, or a warp of a CTA that has several.
//
//   1. load       each thread takes neighbouring 16-byte slots, as keys
//   2. distances  from the row's best key: what is wanted lies near zero, whatever the values are
//   3. rounds     a histogram of the distances over a range of kBins << shift, then the bin of the
//                 k-th best. The first range begins at zero and spans kFirstOctaves octaves; the
//                 next is the bin found, or what lies beyond where it was none. Ends when a bin is
//                 one distance or wanted whole. Mostly one round for bfloat16, two for wider types
//   4. winners    a prefix sum over the threads gives each winner its place in order of position,
//   so
//                 that of the last distance the lowest positions win
//   5. output     from positions in shared memory; for order "value" from sorted composites
//
// Histograms of hot bins are fine: same-address additions of a warp are merged by the hardware
// (count_shared). That also makes a bin for all that is out of range cheaper than leaving it out.
//
// Limits: the window fits into the policy's registers; order "value" needs a team that is a CTA.
#pragma once

#include <cstdint>

#include "cuda/common/block.cuh"
#include "cuda/common/composite.h"
#include "cuda/common/finish.cuh"
#include "cuda/common/key_map.cuh"
#include "cuda/common/row_output.cuh"
#include "cuda/common/row_slots.cuh"
#include "cuda/ptx/compare.cuh"
#include "cuda/smem/row_registers.h"
#include "cuda/tuning/row_registers.h"
#include "deepselect/row_view.h"

namespace deepselect::cuda {

// The distances that are selected: all below `first`; of those in [first, last] the
// `num_of_group` of lowest position.
struct DistanceSelection {
  std::uint32_t first;
  std::uint32_t last;
  std::uint32_t num_of_group;
};

// The threads of one row.
template <class Policy>
struct RowTeam {
  static constexpr int kThreads = Policy::kThreads;
  static constexpr int kWarps = kThreads / kWarpThreads;
  static_assert(Policy::kTeams == 1 || kWarps == 1, "teams of a CTA have no barrier but a warp's");

  __device__ static std::uint32_t rank() {
    return Policy::kTeams == 1 ? threadIdx.x : threadIdx.x % kThreads;
  }
  __device__ __forceinline__ static void sync() {
    if constexpr (kWarps == 1) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }
};

// A row in the registers of a team, as distances from its best key.
template <ValueType kType, class Policy>
class RegisterRow {
 public:
  using Team = RowTeam<Policy>;
  using Smem = RowRegistersSmem<Policy::kBins>;
  static constexpr int kVectors = Policy::kVectors;
  static constexpr int kWords = 4 * kVectors;
  static constexpr int kItems = KeyMap<kType>::kItemsPerVector;
  static constexpr int kItemsPerWord = KeyMap<kType>::kItemsPerWord;
  static constexpr std::uint32_t kBins = Policy::kBins;

  // Ends with a barrier where the team is more than a warp.
  __device__ __forceinline__ RegisterRow(const RowSlots<kType>& slots, const KeyMap<kType>& key_map,
                                         Smem& smem) {
    const std::uint32_t first_slot = Team::rank() * kVectors;
    first_position_ = slots.first_position(first_slot);
    uint4 bits[kVectors];
    valid_ = kAllItems;
    if (first_slot >= slots.first_whole() && first_slot + kVectors <= slots.end_whole()) {
      const uint4* source = slots.whole_slots() + first_slot;
#pragma unroll
      for (int v = 0; v < kVectors; ++v) bits[v] = source[v];
    } else {
      load_edge(slots, first_slot, bits);
    }
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      words_[4 * v] = key_map.word_keys(bits[v].x);
      words_[4 * v + 1] = key_map.word_keys(bits[v].y);
      words_[4 * v + 2] = key_map.word_keys(bits[v].z);
      words_[4 * v + 3] = key_map.word_keys(bits[v].w);
    }
    if (valid_ != kAllItems) drop_outside();

    std::uint32_t best = words_[0];
#pragma unroll
    for (int w = 1; w < kWords; ++w) best = max_of_words<kType>(best, words_[w]);
    best_key_ = team_max(greatest_key<kType>(best), smem);
    // Each key is at most the best: no borrow between the items of a word.
    const std::uint32_t best_word = kItemsPerWord == 2 ? best_key_ * 0x00010001u : best_key_;
#pragma unroll
    for (int w = 0; w < kWords; ++w) words_[w] = best_word - words_[w];
  }

  __device__ std::uint32_t best_key() const { return best_key_; }

  // The distances of the `num_wanted` best, 1 <= num_wanted < elements of the row. The bins are
  // empty, a barrier before. Items outside the row count as elements of the worst key: that only
  // costs the early end.
  __device__ __forceinline__ DistanceSelection select(std::uint32_t num_wanted,
                                                      std::uint32_t num_items, Smem& smem) const {
    const bool is_near = num_wanted < num_items - num_items / 2 - num_items / 8;
    std::uint32_t first = 0;  // the range's first distance
    int shift = is_near ? kFirstShift : shift_for(best_key_);
    std::uint32_t num_left = num_wanted;
    count_first(shift, smem);
    for (;;) {
      Team::sync();
      const PivotBin pivot = find_bin(num_left - 1, smem);
      num_left -= pivot.above;
      first += pivot.bin << shift;
      if (pivot.bin == kBins) {
        shift = shift_for(best_key_ - first);
      } else if (shift == 0 || num_left == pivot.count) {
        const std::uint32_t span = (1u << shift) - 1;
        constexpr std::uint32_t kMaxDistance = KeyMap<kType>::kMaxKey;
        return {first, kMaxDistance - first < span ? kMaxDistance : first + span, num_left};
      } else {
        shift = max(shift - Policy::kLog2Bins, 0);
      }
      if constexpr (Team::kWarps == 1) Team::sync();  // find_bin() has read the bins
      clear(smem);
      Team::sync();
      count(first, shift, smem);
    }
  }

  // Hands the positions of the selected elements to `emit(place, position)`, places in their order.
  // Changes the distances.
  template <class Emit>
  __device__ __forceinline__ void emit_selected(const DistanceSelection& selection, Smem& smem,
                                                Emit&& emit) {
    const auto [above, group_and_above] = masks(selection);
    std::uint32_t group = group_and_above & ~above;

    // Elements above the group in the low half, those of it in the high half: at most 2^15 each.
    const std::uint32_t counts = __popc(above) | __popc(group) << 16;
    const std::uint32_t before = prefix(counts, smem);
    const std::uint32_t group_before = min(before >> 16, selection.num_of_group);
    std::uint32_t spare =
        max(static_cast<std::int32_t>(group_before + (counts >> 16) - selection.num_of_group), 0);
    for (; spare != 0; --spare) group &= ~(0x80000000u >> __clz(static_cast<int>(group)));

    std::uint32_t place = (before & 0xFFFF) + group_before;
#pragma unroll 1
    for (std::uint32_t left = above | group; left != 0; left &= left - 1) {
      emit(place++, first_position_ + __ffs(static_cast<int>(left)) - 1);
    }
  }

  __device__ static void clear(Smem& smem) {
    constexpr std::uint32_t kQuads = kBins / 4;
    auto* quads = reinterpret_cast<uint4*>(smem.bins) + Team::rank();
#pragma unroll
    for (std::uint32_t i = 0; i < kQuads; i += Team::kThreads) {
      if (kQuads % Team::kThreads == 0 || i + Team::rank() < kQuads) quads[i] = {0, 0, 0, 0};
    }
  }

 private:
  static_assert(kWords * kItemsPerWord <= 32, "a mask of one word");
  static_assert(Policy::kMaxSlots * kItems <= 1 << 15, "counts of half a word");
  static constexpr std::uint32_t kAllItems =
      kVectors * kItems == 32 ? ~0u : (1u << (kVectors * kItems % 32)) - 1;
  static constexpr std::uint32_t kFirstItem = kItemsPerWord == 2 ? 0x0000FFFFu : ~0u;
  static constexpr int kMantissaBits = kType == ValueType::kBFloat16  ? 7
                                       : kType == ValueType::kFloat16 ? 10
                                                                      : 23;
  static constexpr int kFirstShift = kMantissaBits + Policy::kLog2FirstOctaves - Policy::kLog2Bins;
  static_assert(kFirstShift >= 0, "bins of less than a key");

  struct PivotBin {
    std::uint32_t bin;    // kBins: beyond them
    std::uint32_t above;  // in better bins
    std::uint32_t count;  // in the bin
  };

  // The slots of a thread that is not wholly inside the row.
  __device__ __forceinline__ void load_edge(const RowSlots<kType>& slots, std::uint32_t first_slot,
                                            uint4 (&bits)[kVectors]) {
    valid_ = 0;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const bool inside = first_slot + v < slots.num_slots();
      bits[v] = inside ? slots.load(first_slot + v) : uint4{0, 0, 0, 0};
      if (inside) valid_ |= slots.valid_items(first_slot + v) << (v * kItems);
    }
  }

  // Gives the items outside the row the worst key.
  __device__ __forceinline__ void drop_outside() {
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const std::uint32_t valid = valid_ >> (w * kItemsPerWord);
      std::uint32_t mask = (valid & 1) != 0 ? kFirstItem : 0u;
      if (kItemsPerWord == 2 && (valid & 2) != 0) mask |= ~kFirstItem;
      words_[w] &= mask;
    }
  }

  __device__ __forceinline__ static std::uint32_t team_max(std::uint32_t value, Smem& smem) {
    const std::uint32_t warp_max = __reduce_max_sync(kAllLanes, value);
    if constexpr (Team::kWarps == 1) return warp_max;
    const std::uint32_t lane = threadIdx.x % kWarpThreads;
    if (lane == 0) smem.warp_best[threadIdx.x / kWarpThreads] = warp_max;
    __syncthreads();
    return __reduce_max_sync(kAllLanes, lane < Team::kWarps ? smem.warp_best[lane] : 0u);
  }

  __device__ __forceinline__ static std::uint32_t prefix(std::uint32_t value, Smem& smem) {
    if constexpr (Team::kWarps == 1) return warp_prefix(value).before;
    return block_prefix<Team::kThreads>(value, smem.warp_totals).before;
  }

  // The shift that brings `distance` into the bins.
  __device__ static int shift_for(std::uint32_t distance) {
    return max(32 - Policy::kLog2Bins - __clz(static_cast<int>(distance)), 0);
  }

  // The first round, from distance zero: out of range is one bin more.
  __device__ __forceinline__ void count_first(int shift, Smem& smem) const {
    if (valid_ == 0) return;
    const std::uint32_t limit = shift + Policy::kLog2Bins < 8 * sizeof(BitsOf<kType>)
                                    ? kBins << shift
                                    : KeyMap<kType>::kMaxKey;
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      if constexpr (kItemsPerWord == 2) {
        const std::uint32_t word = __vminu2(words_[w], limit * 0x00010001u);
        count_shared(&smem.bins[(word & 0xFFFFu) >> shift]);
        count_shared(&smem.bins[word >> 16 >> shift]);
      } else {
        count_shared(&smem.bins[min(words_[w], limit) >> shift]);
      }
    }
  }

  // A later round: the range begins at `first`.
  __device__ __forceinline__ void count(std::uint32_t first, int shift, Smem& smem) const {
    if (valid_ == 0) return;
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
#pragma unroll
      for (int i = 0; i < kItemsPerWord; ++i) {
        const std::uint32_t distance =
            kItemsPerWord == 1 ? words_[w] : (i == 0 ? words_[w] & 0xFFFFu : words_[w] >> 16);
        const std::uint32_t bin = (distance - first) >> shift;
        if (distance >= first && bin < kBins) count_shared(&smem.bins[bin]);
      }
    }
  }

  // The bin of the element of rank `rank` (0 is the best) in complete bins. One warp searches; ends
  // with a barrier where there are more.
  __device__ __forceinline__ static PivotBin find_bin(std::uint32_t rank, Smem& smem) {
    if constexpr (Team::kWarps == 1) return search_bins(rank, smem.bins);
    if (threadIdx.x < kWarpThreads) {
      const PivotBin pivot = search_bins(rank, smem.bins);
      if (threadIdx.x == 0) {
        smem.pivot_bin = pivot.bin;
        smem.pivot_above = pivot.above;
        smem.pivot_count = pivot.count;
      }
    }
    __syncthreads();
    return {smem.pivot_bin, smem.pivot_above, smem.pivot_count};
  }

  __device__ __forceinline__ static PivotBin search_bins(std::uint32_t rank,
                                                         const std::uint32_t* bins) {
    constexpr int kBinsPerLane = 8;
    const std::uint32_t lane = threadIdx.x % kWarpThreads;
    std::uint32_t chunk_above = 0;
#pragma unroll 1
    for (std::uint32_t chunk = 0; chunk < kBins; chunk += kBinsPerLane * kWarpThreads) {
      const std::uint32_t first = chunk + kBinsPerLane * lane;
      const uint4 low = *reinterpret_cast<const uint4*>(bins + first);
      const uint4 high = *reinterpret_cast<const uint4*>(bins + first + 4);
      const std::uint32_t counts[kBinsPerLane] = {low.x,  low.y,  low.z,  low.w,
                                                  high.x, high.y, high.z, high.w};
      const std::uint32_t sum =
          (low.x + low.y + low.z) + (low.w + high.x + high.y) + (high.z + high.w);
      const Prefix in_warp = warp_prefix(sum);
      if (rank - chunk_above >= in_warp.total) {
        chunk_above += in_warp.total;
        continue;
      }
      std::uint32_t above = chunk_above + in_warp.before;
      const bool is_mine = rank - above < sum;  // modulo 2^32: not where above > rank
      std::uint32_t bin = first;
      std::uint32_t count = counts[0];
#pragma unroll
      for (int i = 1; i < kBinsPerLane; ++i) {
        if (rank - above >= count) {
          above += count;
          bin = first + i;
          count = counts[i];
        }
      }
      const int owner = __ffs(static_cast<int>(__ballot_sync(kAllLanes, is_mine))) - 1;
      return {__shfl_sync(kAllLanes, bin, owner), __shfl_sync(kAllLanes, above, owner),
              __shfl_sync(kAllLanes, count, owner)};
    }
    return {kBins, chunk_above, 0};
  }

  struct Masks {
    std::uint32_t above;  // bit i: item i of this thread, in order of position, is selected
    std::uint32_t group_and_above;  // ... or of the group
  };

  __device__ __forceinline__ Masks masks(const DistanceSelection& selection) {
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
      // As positive float16 numbers, integers below that of infinity compare as what they are.
      constexpr std::uint32_t kMaxOrdered = 0x7BFF;
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
    return {above & valid_, reaching & valid_};
  }

  __device__ __forceinline__ static std::uint32_t join(const std::uint32_t (&halves)[2]) {
    const std::uint32_t low = halves[0] | halves[0] >> 16;
    const std::uint32_t high = halves[1] | halves[1] >> 16;
    return (low & 0xFFFFu) | high << 16;
  }

  std::uint32_t words_[kWords];  // keys, then distances
  std::uint32_t valid_;          // bit per item
  std::uint32_t first_position_;
  std::uint32_t best_key_;
};

template <ValueType kType, class Policy>
__global__ void __launch_bounds__(Policy::kThreads* Policy::kTeams, Policy::kCtasPerSm)
    row_registers_kernel(const __grid_constant__ TopkParams params, std::uint32_t team_smem_bytes) {
  using Row = RegisterRow<kType, Policy>;
  using Team = typename Row::Team;
  constexpr int kThreads = Policy::kThreads;
  constexpr std::uint32_t kMaxKey = KeyMap<kType>::kMaxKey;
  extern __shared__ __align__(16) unsigned char dynamic_smem[];
  const std::uint32_t team = Policy::kTeams == 1 ? 0 : threadIdx.x / kThreads;
  unsigned char* team_smem = dynamic_smem + team * team_smem_bytes;
  auto& smem = *reinterpret_cast<typename Row::Smem*>(team_smem);
  unsigned char* winners = team_smem + sizeof(typename Row::Smem);

  const std::int64_t row = std::int64_t{blockIdx.x} * Policy::kTeams + team;
  if (Policy::kTeams > 1 && row >= params.num_rows) return;
  const RowView view = row_view(params, row);
  const KeyMap<kType> key_map(params);
  const RowSlots<kType> slots(params, view, row);
  const RowOutput<kType> output(params, view, row);
  const std::uint32_t num_items = slots.num_items();
  const auto num_wanted =
      static_cast<std::uint32_t>(params.k < num_items ? params.k : std::int64_t{num_items});
  if (num_wanted == 0) {
    output.template write_pads<kThreads>(0, Team::rank());
    return;
  }
  Row::clear(smem);
  Row register_row(slots, key_map, smem);
  if (is_poison<kType>(params, register_row.best_key())) {
    output.template write_poison<kThreads>(Team::rank());
    return;
  }
  DistanceSelection selection{0, kMaxKey, num_items};
  if (num_wanted < num_items) {
    if constexpr (Team::kWarps == 1) Team::sync();
    selection = register_row.select(num_wanted, num_items, smem);
  }
  if (Policy::kTeams == 1 && params.order == Order::kValue) {
    auto* composites = reinterpret_cast<Composite*>(winners);
    register_row.emit_selected(selection, smem, [&](std::uint32_t place, std::uint32_t position) {
      // Read again rather than looked up: registers cannot be indexed.
      composites[place] = composite_key(key_map.key(slots.item(position)), position);
    });
    __syncthreads();
    sort_winners<kThreads>(params.order, composites, num_wanted);
    write_winners<kThreads>(params, key_map, slots, output, composites, num_wanted);
    return;
  }
  auto* positions = reinterpret_cast<std::uint16_t*>(winners);
  register_row.emit_selected(selection, smem, [&](std::uint32_t place, std::uint32_t position) {
    positions[place] = static_cast<std::uint16_t>(position);
  });
  Team::sync();
  output.template write_positions<kThreads>(positions, num_wanted, slots, Team::rank());
  output.template write_pads<kThreads>(num_wanted, Team::rank());
}

}  // namespace deepselect::cuda
