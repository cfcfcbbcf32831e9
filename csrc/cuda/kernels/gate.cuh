// gate: kLanes lanes of a warp per row, the row in their registers, read once. For the routers of
// mixtures of experts: many short rows, few winners, weights in the same pass.
//
//   1. load     each lane takes kItems neighbouring elements
//   2. items    of each, the key that is compared and the position, as one integer; with a bias
//               the key is of the float32 sum
//   3. softmax  over the window: maximum and sum over the lanes, where weights want them
//   4. sort     each lane sorts its items by a network and leaves them in shared memory
//      1 to 4 are done for one batch of rows after the other, the next one's load under way
//   5. rounds   one per winner: the greatest of the lanes' heads is the next best; its lane stores
//               it and takes its next item for a head. All batches take turns: a round is a chain
//               of latencies
//   6. output   kOutputLanes lanes per row, one per place: index, and the value or the weight,
//               for which the element is read again
//
// Positions ascend with lanes and, among equal keys, within a lane's list: so where 32 bits hold
// the key alone, the lowest lane with the greatest key has the winner. Items that are outside the
// window have the worst key and positions beyond it: they come last.
//
// Everything happens within a warp: no barrier but its own.
//
// Limits: rows of kLanes * kItems elements, kMaxWinners winners. A router's rows, where they are
// short or many, are one lane's each (gate_lane.cuh).
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/common/block.cuh"
#include "cuda/common/composite.h"
#include "cuda/common/key_map.cuh"
#include "cuda/common/lanes.cuh"
#include "cuda/common/router_call.h"
#include "cuda/common/row_output.cuh"
#include "cuda/common/row_slots.cuh"
#include "cuda/common/score.cuh"
#include "cuda/smem/gate.h"
#include "cuda/tuning/gate.h"
#include "deepselect/row_view.h"
#include "deepselect/weights.h"

namespace deepselect::cuda {

// A key of 16 bits and the complement of a position, or a Composite. The greater is better; zero is
// below every item and ends a list.
template <ValueType kKeyType>
struct GateItem {
  static constexpr bool kIsNarrow = KeyMap<kKeyType>::kIsPacked;
  using Type = std::conditional_t<kIsNarrow, std::uint32_t, Composite>;

  __device__ static Type make(std::uint32_t key, std::uint32_t position) {
    if constexpr (kIsNarrow) {
      return key << 16 | (0xFFFFu - position);
    } else {
      return composite_key(key, position);
    }
  }
  // The item with its key that is `distance` positions behind.
  __device__ static Type moved(Type item, std::uint32_t distance) {
    if constexpr (kIsNarrow) {
      return item - distance;
    } else {
      return composite_key(key_of(item), position_of(item) + distance);
    }
  }
  __device__ static std::uint32_t key(Type item) {
    if constexpr (kIsNarrow) {
      return item >> 16;
    } else {
      return key_of(item);
    }
  }
  __device__ static std::uint32_t position(Type item) {
    if constexpr (kIsNarrow) {
      return 0xFFFFu - (item & 0xFFFFu);
    } else {
      return position_of(item);
    }
  }
};

// A lane's part of a row: the bits of its elements, those of -inf beyond the window.
template <ValueType kType, int kItems>
class GateElements {
 public:
  static constexpr int kPerWord = KeyMap<kType>::kItemsPerWord;
  static constexpr int kWords = kItems / kPerWord;

  // Elements of the window [begin, begin + size) of a row, from the lane's `first` on.
  __device__ __forceinline__ void load(const BitsOf<kType>* row, std::int64_t begin,
                                       std::uint32_t size, std::uint32_t first) {
    count_ = first < size ? static_cast<int>(min(size - first, std::uint32_t{kItems})) : 0;
    begin_ = begin;
    const BitsOf<kType>* source = row + begin + first;
    if (count_ == kItems && reinterpret_cast<std::uintptr_t>(source) % kVectorBytes == 0) {
      load_vectors(source);
      return;
    }
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      std::uint32_t word = 0;
#pragma unroll
      for (int i = 0; i < kPerWord; ++i) {
        const bool is_inside = w * kPerWord + i < count_;
        const std::uint32_t bits = is_inside ? source[w * kPerWord + i] : kMinusInfinityBits;
        word |= bits << (i * 16);
      }
      words_[w] = word;
    }
  }

  // The same of a whole row of `size` elements in shared memory, aligned and with room for whole
  // vectors: what lies beyond the row may be anything.
  __device__ __forceinline__ void load_staged(const BitsOf<kType>* row, std::uint32_t size,
                                              std::uint32_t first) {
    count_ = static_cast<int>(min(size - first, std::uint32_t{kItems}));
    begin_ = 0;
    load_vectors(row + first);
    if (count_ == kItems) return;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (has(i)) continue;
      const int shift = i % kPerWord * 16;
      const std::uint32_t kept = kPerWord == 2 ? words_[i / kPerWord] & ~(0xFFFFu << shift) : 0;
      words_[i / kPerWord] = kept | kMinusInfinityBits << shift;
    }
  }

  __device__ bool is_whole() const { return count_ == kItems; }
  __device__ bool has(int i) const { return i < count_; }
  __device__ std::int64_t window_begin() const { return begin_; }
  __device__ std::uint32_t word(int w) const { return words_[w]; }
  __device__ float score(int i) const { return score_of<kType>(item_bits<kType>(words_, i)); }

 private:
  static constexpr std::uint32_t kMinusInfinityBits = kType == ValueType::kBFloat16  ? 0xFF80u
                                                      : kType == ValueType::kFloat16 ? 0xFC00u
                                                                                     : 0xFF800000u;
  static constexpr int kVectorBytes = kWords < 4 ? kWords * 4 : 16;
  using Vector = std::conditional_t<kVectorBytes == 16, uint4,
                                    std::conditional_t<kVectorBytes == 8, uint2, std::uint32_t>>;

  __device__ __forceinline__ void load_vectors(const BitsOf<kType>* source) {
    const auto* vectors = reinterpret_cast<const Vector*>(source);
#pragma unroll
    for (int v = 0; v < kWords * 4 / kVectorBytes; ++v) {
      reinterpret_cast<Vector*>(words_)[v] = vectors[v];
    }
  }

  alignas(16) std::uint32_t words_[kWords];
  int count_;
  std::int64_t begin_;
};

// The bias of a lane's columns, whether in the window or not, read again only where the window
// moves.
template <int kItems>
class GateBias {
 public:
  template <ValueType kType>
  __device__ __forceinline__ void follow(const TopkParams& params,
                                         const GateElements<kType, kItems>& elements,
                                         std::uint32_t first) {
    if (elements.window_begin() == begin_) return;
    begin_ = elements.window_begin();
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const std::int64_t column = begin_ + first + i;
      addends_[i] = column < params.num_cols ? __ldg(params.bias + column) : 0.0f;
    }
  }
  __device__ float operator[](int i) const { return addends_[i]; }

 private:
  std::int64_t begin_ = -1;
  float addends_[kItems];
};

// A lane's elements as items.
template <ValueType kType, class ItemOf, bool kIsBiased, class Keys, int kItems>
__device__ __forceinline__ void make_items(const Keys& key_map, Weights weights,
                                           const GateElements<kType, kItems>& elements,
                                           const GateBias<kItems>& bias, std::uint32_t first,
                                           typename ItemOf::Type (&items)[kItems]) {
  if constexpr (kIsBiased) {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const float compared = biased_score(weights, elements.score(i), bias[i]);
      items[i] = ItemOf::make(key_map.key(__float_as_uint(compared)), first + i);
    }
  } else {
    constexpr int kPerWord = GateElements<kType, kItems>::kPerWord;
#pragma unroll
    for (int w = 0; w < kItems / kPerWord; ++w) {
      const std::uint32_t keys = key_map.word_keys(elements.word(w));
      if constexpr (kPerWord == 2) {
        items[2 * w] = ItemOf::make(keys & 0xFFFFu, first + 2 * w);
        items[2 * w + 1] = ItemOf::make(keys >> 16, first + 2 * w + 1);
      } else {
        items[w] = ItemOf::make(keys, first + w);
      }
    }
  }
  if (elements.is_whole()) return;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    if (!elements.has(i)) items[i] = ItemOf::make(0u, first + i);
  }
}

template <class Group, ValueType kType, int kItems>
__device__ __forceinline__ WindowSoftmax
window_softmax(const GateElements<kType, kItems>& elements) {
  float max = elements.score(0);
#pragma unroll
  for (int i = 1; i < kItems; ++i) max = fmaxf(max, elements.score(i));
  max = Group::max(max);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kItems; ++i) sum += exp_in_sum(elements.score(i) - max);
  return {max, Group::sum(sum)};
}

// The window of a row without the map to indices.
struct GateWindow {
  std::int64_t begin;
  std::uint32_t size;

  __device__ __forceinline__ GateWindow(const TopkParams& params, std::int64_t row)
      : begin(0), size(static_cast<std::uint32_t>(params.num_cols)) {
    const bool is_whole =
        params.begin.data == nullptr && params.end.data == nullptr && params.page_table == nullptr;
    if (is_whole) return;
    const RowView view = row_view(params, row);
    begin = view.begin;
    size = static_cast<std::uint32_t>(view.size());
  }
};

// Phases 1 to 4: `num_batches` rows of each group.
template <ValueType kType, bool kIsBiased, class Policy>
class GateBatches {
  static constexpr ValueType kKeyType = kIsBiased ? ValueType::kFloat32 : kType;
  static constexpr int kLanes = Policy::kLanes;
  static constexpr int kItems = Policy::kItems;
  static constexpr int kGroups = Policy::kGroups;
  using Group = LaneGroup<kLanes>;

 public:
  using ItemOf = GateItem<kKeyType>;
  using Item = typename ItemOf::Type;
  using Smem = GateSmem<Policy, Item>;

  // `warp_row`: the warp's first; `cta_row`: the same within the CTA.
  __device__ __forceinline__ static void run(const TopkParams& params, int num_batches,
                                             std::uint32_t warp_row, std::uint32_t cta_row,
                                             Smem& smem) {
    const KeyMap<kKeyType> key_map(params);
    const std::uint32_t first = Group::lane() * kItems;
    const std::uint32_t group = threadIdx.x % kWarpThreads / kLanes;
    GateBias<kItems> bias;
    GateElements<kType, kItems> next;
    load(params, warp_row + group, first, next);
#pragma unroll 1
    for (int batch = 0; batch < num_batches; ++batch) {
      const GateElements<kType, kItems> elements = next;
      const std::uint32_t warp_offset = batch * kGroups + group;
      if (batch + 1 < num_batches) {
        load(params, warp_row + warp_offset + kGroups, first, next);
      }
      Item items[kItems];
      if constexpr (kIsBiased) bias.follow(params, elements, first);
      make_items<kType, ItemOf, kIsBiased>(key_map, params.weights, elements, bias, first, items);
      if (params.weights == Weights::kSoftmax) {
        const WindowSoftmax window = window_softmax<Group>(elements);
        if (Group::lane() == 0) smem.windows[cta_row + warp_offset] = window;
      }
      sort_descending(items);
#pragma unroll
      for (int i = 0; i < kItems; ++i) smem.sorted[batch][i][threadIdx.x] = items[i];
      smem.sorted[batch][kItems][threadIdx.x] = 0;
    }
  }

 private:
  // Groups without a row do the last one's work, so that the warp stays whole.
  __device__ __forceinline__ static void load(const TopkParams& params, std::uint32_t row,
                                              std::uint32_t first,
                                              GateElements<kType, kItems>& elements) {
    row = min(row, static_cast<std::uint32_t>(params.num_rows) - 1);
    const GateWindow window(params, row);
    elements.load(static_cast<const BitsOf<kType>*>(params.input) +
                      std::int64_t{row} * params.input_row_stride_items,
                  window.begin, window.size, first);
  }
};

// Phase 5, for all batches. Lists and winners are of the calling warp.
template <class Policy, int kBatches, class ItemOf, class Smem>
__device__ __forceinline__ void run_rounds(std::uint32_t num_rounds, std::uint32_t cta_row,
                                           Smem& smem) {
  using Group = LaneGroup<Policy::kLanes>;
  using Item = typename ItemOf::Type;
  const std::uint32_t group = threadIdx.x % kWarpThreads / Policy::kLanes;
  Item heads[kBatches];
  const Item* lists[kBatches];
#pragma unroll
  for (int batch = 0; batch < kBatches; ++batch) {
    lists[batch] = &smem.sorted[batch][0][threadIdx.x];
    heads[batch] = *lists[batch];
  }
#pragma unroll 1
  for (std::uint32_t round = 0; round < num_rounds; ++round) {
#pragma unroll
    for (int batch = 0; batch < kBatches; ++batch) {
      const Item head = heads[batch];
      bool is_winner = false;
      if constexpr (ItemOf::kIsNarrow) {
        is_winner = head == Group::max(head);
      } else {
        const std::uint32_t best = Group::max(ItemOf::key(head));
        // The end of a list has the worst key as well.
        const bool is_best = ItemOf::key(head) == best && static_cast<std::uint32_t>(head) != 0;
        const std::uint32_t candidates = __ballot_sync(kAllLanes, is_best) & Group::mask();
        is_winner = is_best && (candidates & ptx::lanes_below()) == 0;
      }
      if (is_winner) {
        smem.winners[cta_row + batch * Policy::kGroups + group][round] = head;
        lists[batch] += Policy::kCtaThreads;
        heads[batch] = *lists[batch];
      }
    }
  }
}

// Weights of the `count` scores of a row in shared memory, in place; a group's lanes call it.
template <class Group, int kLanes>
__device__ __forceinline__ void weigh(Weights kind, WindowSoftmax total, float* scores,
                                      std::uint32_t count) {
  if (is_share_of_selection(kind)) {
    total.max = kMinusInfinity;
#pragma unroll 1
    for (std::uint32_t i = Group::lane(); i < count; i += kLanes) {
      total.max = fmaxf(total.max, scores[i]);
    }
    total.max = Group::max(total.max);
  }
  float lane_sum = 0;
#pragma unroll 1
  for (std::uint32_t i = Group::lane(); i < count; i += kLanes) {
    scores[i] = weight_term(kind, scores[i], total.max);
    lane_sum += scores[i];
  }
  if (is_share_of_selection(kind)) total.sum = Group::sum(lane_sum);
#pragma unroll 1
  for (std::uint32_t i = Group::lane(); i < count; i += kLanes) {
    const float term = scores[i];
    scores[i] =
        canonical_weight(kind == Weights::kSigmoid ? term : rounded::divide(term, total.sum));
  }
}

// Phase 6 for one row of an is_router_call(); the lanes of a group call it, all groups of the warp
// at once.
template <ValueType kType, ValueType kKeyType, int kLanes>
__device__ __forceinline__ void write_simple_row(const TopkParams& params, std::int64_t row,
                                                 bool has_row,
                                                 const typename GateItem<kKeyType>::Type* winners,
                                                 WindowSoftmax total) {
  using Group = LaneGroup<kLanes>;
  const std::uint32_t place = Group::lane();
  const bool has_place = has_row && place < static_cast<std::uint32_t>(params.k);
  const std::uint32_t position = has_place ? GateItem<kKeyType>::position(winners[place]) : 0;
  const BitsOf<kType> bits = static_cast<const BitsOf<kType>*>(
      params.input)[row * params.input_row_stride_items + position];
  float weight = 0;
  if (params.weights != Weights::kNone) {
    const float score = score_of<kType>(bits);
    if (is_share_of_selection(params.weights)) {
      total.max = Group::max(has_place ? score : kMinusInfinity);
    }
    weight = weight_term(params.weights, score, total.max);
    if (is_share_of_selection(params.weights)) {
      total.sum = Group::sum(has_place ? weight : 0.0f);
    }
    if (params.weights != Weights::kSigmoid) weight = rounded::divide(weight, total.sum);
    weight = canonical_weight(weight);
  }
  if (!has_place) return;
  static_cast<std::uint32_t*>(params.indices)[row * params.indices_row_stride_items + place] =
      position;
  if (params.values == nullptr) return;
  const std::int64_t item = row * params.values_row_stride_items + place;
  if (params.weights != Weights::kNone) {
    static_cast<float*>(params.values)[item] = weight;
  } else {
    static_cast<BitsOf<kType>*>(params.values)[item] = bits;
  }
}

// Phase 6 for one row of any call; likewise.
template <ValueType kType, ValueType kKeyType, int kLanes>
__device__ __forceinline__ void write_gate_row(const TopkParams& params, std::int64_t row,
                                               bool has_row,
                                               const typename GateItem<kKeyType>::Type* winners,
                                               std::uint32_t num_rounds,
                                               const WindowSoftmax& window, float* scores) {
  using ItemOf = GateItem<kKeyType>;
  using Group = LaneGroup<kLanes>;
  const RowView view = row_view(params, row);
  const RowSlots<kType> slots(params, view, row);
  const auto num_selected = min(num_rounds, slots.num_items());
  const bool poisoned = num_selected > 0 && is_poison<kKeyType>(params, ItemOf::key(winners[0]));
  const std::uint32_t num_written = poisoned || !has_row ? 0 : num_selected;
  const bool has_weights = params.weights != Weights::kNone;
  if (has_weights) {
#pragma unroll 1
    for (std::uint32_t i = Group::lane(); i < num_written; i += kLanes) {
      scores[i] = score_of<kType>(slots.item(ItemOf::position(winners[i])));
    }
    weigh<Group, kLanes>(params.weights, window, scores, num_written);
  }
  if (!has_row) return;

  const RowOutput<kType> output(params, view, row);
  float* weights = static_cast<float*>(params.values) + row * params.values_row_stride_items;
#pragma unroll 1
  for (std::uint32_t i = Group::lane(); i < num_written; i += kLanes) {
    const std::uint32_t position = ItemOf::position(winners[i]);
    std::uint32_t place = i;
    if (params.order == Order::kIndex) {
      place = 0;
      for (std::uint32_t j = 0; j < num_written; ++j) {
        place += ItemOf::position(winners[j]) < position;
      }
    }
    output.write(place, position, output.wants_values() ? slots.item(position) : 0);
    if (has_weights) weights[place] = scores[i];
  }
  if (num_written == params.k) return;
  if (poisoned) {
    output.template write_poison<kLanes>(Group::lane());
  } else {
    output.template write_pads<kLanes>(num_written, Group::lane());
  }
  if (!has_weights) return;
  const float pad =
      float_of_bits(poisoned ? ValueTraits<ValueType::kFloat32>::kQuietNan : params.pad_value_bits);
  for (std::int64_t i = num_written + Group::lane(); i < params.k; i += kLanes) weights[i] = pad;
}

template <ValueType kType, bool kIsBiased, class Policy>
__global__ void __launch_bounds__(Policy::kCtaThreads, Policy::kCtasPerSm)
    gate_kernel(const __grid_constant__ TopkParams params, int num_batches) {
  constexpr ValueType kKeyType = kIsBiased ? ValueType::kFloat32 : kType;
  using Batches = GateBatches<kType, kIsBiased, Policy>;
  __shared__ typename Batches::Smem smem;

  const std::uint32_t warp = threadIdx.x / kWarpThreads;
  const std::uint32_t cta_row = warp * Policy::kWarpRows;
  const int num_warp_rows = Policy::kGroups * num_batches;
  const std::int64_t warp_row = (std::int64_t{blockIdx.x} * Policy::kWarps + warp) * num_warp_rows;
  if (warp_row >= params.num_rows) return;
  Batches::run(params, num_batches, static_cast<std::uint32_t>(warp_row), cta_row, smem);

  const auto num_rounds =
      static_cast<std::uint32_t>(params.k < params.num_cols ? params.k : params.num_cols);
  if (num_batches == 1) {
    run_rounds<Policy, 1, typename Batches::ItemOf>(num_rounds, cta_row, smem);
  } else {
    run_rounds<Policy, Policy::kBatches, typename Batches::ItemOf>(num_rounds, cta_row, smem);
  }
  __syncwarp();

  constexpr int kOutputLanes = Policy::kOutputLanes;
  constexpr int kOutputRows = kWarpThreads / kOutputLanes;
  const bool simple = is_router_call(params, kOutputLanes);
#pragma unroll 1
  for (int base = 0; base < num_warp_rows; base += kOutputRows) {
    const int offset = base + static_cast<int>(threadIdx.x % kWarpThreads) / kOutputLanes;
    const bool has_row = offset < num_warp_rows && warp_row + offset < params.num_rows;
    const int row_of_warp = has_row ? offset : 0;
    const std::uint32_t row_of_cta = cta_row + row_of_warp;
    const auto* winners = smem.winners[row_of_cta];
    const WindowSoftmax window = smem.windows[row_of_cta];
    if (simple) {
      write_simple_row<kType, kKeyType, kOutputLanes>(params, warp_row + row_of_warp, has_row,
                                                      winners, window);
    } else {
      write_gate_row<kType, kKeyType, kOutputLanes>(params, warp_row + row_of_warp, has_row,
                                                    winners, num_rounds, window,
                                                    smem.scores[row_of_cta]);
    }
  }
}

}  // namespace deepselect::cuda
