// gate: kLanes lanes of a warp per row, the row in their registers, read once. For the routers of
// mixtures of experts: many short rows, few winners, weights in the same pass.
//
//   1. load     each lane takes kItems neighbouring elements
//   2. items    of each, the key that is compared and the position, as one integer; with a bias
//               the key is of the float32 sum
//   3. softmax  over the window: maximum and sum over the lanes, where weights want them
//   4. sort     each lane sorts its items by a network and leaves them in shared memory
//   5. rounds   one per winner: the greatest of the lanes' heads is the next best; its lane stores
//               it and takes its next item for a head
//   6. output   a lane per place: index, and the value or the weight of the element, read again
//
// Positions ascend with lanes and, among equal keys, within a lane's list: so where 32 bits hold
// the key alone, the lowest lane with the greatest key has the winner. Items that are outside the
// window have the worst key and positions beyond it: they come last.
//
// Everything happens within a warp: no barrier but its own.
//
// Limits: rows of kLanes * kItems elements, kMaxWinners winners.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/common/block.cuh"
#include "cuda/common/composite.h"
#include "cuda/common/key_map.cuh"
#include "cuda/common/row_output.cuh"
#include "cuda/common/row_slots.cuh"
#include "cuda/common/score.cuh"
#include "cuda/smem/gate.h"
#include "cuda/tuning/gate.h"
#include "deepselect/row_view.h"
#include "deepselect/weights.h"

namespace deepselect::cuda {

// A key of 16 bits and the complement of a position, or a Composite. The greater is better, and
// every item is above kNoItem.
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

// The lanes of a warp that share a row. All of the warp's lanes call each function.
template <int kLanes>
struct LaneGroup {
  __device__ static std::uint32_t lane() { return threadIdx.x % kLanes; }

  // Bit per lane of this group.
  __device__ static std::uint32_t mask() {
    if constexpr (kLanes == kWarpThreads) return kAllLanes;
    return ((1u << kLanes % kWarpThreads) - 1) << (threadIdx.x % kWarpThreads / kLanes * kLanes);
  }

  __device__ __forceinline__ static std::uint32_t max(std::uint32_t value) {
    if constexpr (kLanes == kWarpThreads) return __reduce_max_sync(kAllLanes, value);
#pragma unroll
    for (int distance = kLanes / 2; distance > 0; distance /= 2) {
      value = ::max(value, __shfl_xor_sync(kAllLanes, value, distance));
    }
    return value;
  }

  __device__ __forceinline__ static float max(float value) {
#pragma unroll
    for (int distance = kLanes / 2; distance > 0; distance /= 2) {
      value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, distance));
    }
    return value;
  }

  __device__ __forceinline__ static float sum(float value) {
#pragma unroll
    for (int distance = kLanes / 2; distance > 0; distance /= 2) {
      value += __shfl_xor_sync(kAllLanes, value, distance);
    }
    return value;
  }
};

// Descending, by Batcher's odd-even merge network: sorted runs of kRun items become runs of twice
// as many, by comparing items at half the distance each time.
template <int kRun = 1, int kDistance = kRun, int kCount, class Item>
__device__ __forceinline__ void sort_descending(Item (&items)[kCount]) {
#pragma unroll
  for (int i = kDistance % kRun; i + kDistance < kCount; ++i) {
    const bool is_pair = (i - kDistance % kRun) / kDistance % 2 == 0 &&
                         i / (2 * kRun) == (i + kDistance) / (2 * kRun);
    if (!is_pair) continue;
    const Item a = items[i];
    const Item b = items[i + kDistance];
    const bool in_order = a > b;
    items[i] = in_order ? a : b;
    items[i + kDistance] = in_order ? b : a;
  }
  if constexpr (kDistance > 1) {
    sort_descending<kRun, kDistance / 2>(items);
  } else if constexpr (2 * kRun < kCount) {
    sort_descending<2 * kRun>(items);
  }
}

// A lane's part of a row: the bits of its elements, zero beyond the window.
template <ValueType kType, int kItems>
class GateElements {
 public:
  static constexpr int kBytes = kItems * static_cast<int>(sizeof(BitsOf<kType>));
  static constexpr int kWords = kBytes / 4;

  __device__ __forceinline__ GateElements(const RowSlots<kType>& slots, std::uint32_t first) {
    const std::uint32_t size = slots.num_items();
    count_ = first < size ? min(size - first, std::uint32_t{kItems}) : 0;
    const BitsOf<kType>* source = slots.items() + first;
    if (count_ == kItems && reinterpret_cast<std::uintptr_t>(source) % kVectorBytes == 0) {
      const auto* vectors = reinterpret_cast<const Vector*>(source);
#pragma unroll
      for (int v = 0; v < kBytes / kVectorBytes; ++v) {
        reinterpret_cast<Vector*>(words_)[v] = vectors[v];
      }
      return;
    }
#pragma unroll
    for (int w = 0; w < kWords; ++w) words_[w] = 0;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      if (i >= count_) continue;
      const std::uint32_t bits = source[i];
      constexpr int kPerWord = KeyMap<kType>::kItemsPerWord;
      words_[i / kPerWord] |= bits << (i % kPerWord * 16);
    }
  }

  __device__ bool has(int i) const { return i < count_; }
  __device__ std::uint32_t word(int w) const { return words_[w]; }
  __device__ float score(int i) const { return score_of<kType>(item_bits<kType>(words_, i)); }

 private:
  static constexpr int kVectorBytes = kBytes < 16 ? kBytes : 16;
  using Vector = std::conditional_t<kVectorBytes == 16, uint4,
                                    std::conditional_t<kVectorBytes == 8, uint2, std::uint32_t>>;

  alignas(16) std::uint32_t words_[kWords];
  int count_;
};

// The keys of a lane's elements as items.
template <ValueType kType, bool kIsBiased, class ItemOf, class KeysOf, int kItems>
__device__ __forceinline__ void make_items(const TopkParams& params, const KeysOf& key_map,
                                           const GateElements<kType, kItems>& elements,
                                           const float* bias, std::uint32_t first,
                                           typename ItemOf::Type (&items)[kItems]) {
  std::uint32_t keys[kItems];
  if constexpr (kIsBiased) {
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      const float addend = elements.has(i) ? __ldg(bias + first + i) : 0.0f;
      keys[i] = key_map.key(bits_of_float(biased_score(params.weights, elements.score(i), addend)));
    }
  } else {
    constexpr int kPerWord = KeyMap<kType>::kItemsPerWord;
#pragma unroll
    for (int w = 0; w < kItems / kPerWord; ++w) {
      const std::uint32_t word_keys = key_map.word_keys(elements.word(w));
      keys[w * kPerWord] = kPerWord == 2 ? word_keys & 0xFFFFu : word_keys;
      if constexpr (kPerWord == 2) keys[2 * w + 1] = word_keys >> 16;
    }
  }
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    items[i] = ItemOf::make(elements.has(i) ? keys[i] : 0u, first + i);
  }
}

// Of the whole window: the maximum, and the sum of exp(score - maximum).
struct WindowSoftmax {
  float max;
  float sum;
};

template <class Group, ValueType kType, int kItems>
__device__ __forceinline__ WindowSoftmax
window_softmax(const GateElements<kType, kItems>& elements) {
  float max = kMinusInfinity;
#pragma unroll
  for (int i = 0; i < kItems; ++i) max = elements.has(i) ? fmaxf(max, elements.score(i)) : max;
  max = Group::max(max);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    sum += elements.has(i) ? exp_in_sum(elements.score(i) - max) : 0.0f;
  }
  return {max, Group::sum(sum)};
}

// Weights of the `count` scores of a row in shared memory, in place; a group's lanes call it.
template <class Group, int kLanes>
__device__ __forceinline__ void weigh(Weights kind, const WindowSoftmax& window, float* scores,
                                      std::uint32_t count) {
  float max = window.max;
  float sum = window.sum;
  if (kind == Weights::kSoftmaxSelected || kind == Weights::kSigmoidSelected) {
    max = kMinusInfinity;
#pragma unroll 1
    for (std::uint32_t i = Group::lane(); i < count; i += kLanes) max = fmaxf(max, scores[i]);
    max = Group::max(max);
  }
  float lane_sum = 0;
#pragma unroll 1
  for (std::uint32_t i = Group::lane(); i < count; i += kLanes) {
    const float score = scores[i];
    float term = 0;
    if (kind == Weights::kSigmoid) {
      term = sigmoid(score);
    } else if (kind == Weights::kSigmoidSelected) {
      term = sigmoid_term(score, max);
    } else {
      term = softmax_term(score, max);
    }
    scores[i] = term;
    lane_sum += term;
  }
  if (kind == Weights::kSoftmaxSelected || kind == Weights::kSigmoidSelected) {
    sum = Group::sum(lane_sum);
  } else if (kind == Weights::kSigmoid) {
    sum = 1.0f;
  }
#pragma unroll 1
  for (std::uint32_t i = Group::lane(); i < count; i += kLanes) {
    scores[i] = canonical_weight(rounded::divide(scores[i], sum));
  }
}

template <ValueType kType, bool kIsBiased, class Policy>
__global__ void __launch_bounds__(Policy::kCtaThreads, Policy::kCtasPerSm)
    gate_kernel(const __grid_constant__ TopkParams params) {
  constexpr ValueType kKeyType = kIsBiased ? ValueType::kFloat32 : kType;
  constexpr int kLanes = Policy::kLanes;
  constexpr int kItems = Policy::kItems;
  using ItemOf = GateItem<kKeyType>;
  using Item = typename ItemOf::Type;
  using Group = LaneGroup<kLanes>;
  constexpr Item kNoItem = 0;
  __shared__ GateSmem<Policy, Item> smem;

  const std::uint32_t cta_row = threadIdx.x / kLanes;
  std::int64_t row = std::int64_t{blockIdx.x} * Policy::kCtaRows + cta_row;
  // Lanes without a row do another's work and write nothing: the warp stays whole.
  const bool has_row = row < params.num_rows;
  row = has_row ? row : params.num_rows - 1;
  const RowView view = row_view(params, row);
  const KeyMap<kKeyType> key_map(params);
  const RowSlots<kType> slots(params, view, row);
  const std::uint32_t first = Group::lane() * kItems;

  Item items[kItems];
  WindowSoftmax window{0, 1};
  {
    const GateElements<kType, kItems> elements(slots, first);
    const float* bias = kIsBiased ? params.bias + view.begin : nullptr;
    make_items<kType, kIsBiased, ItemOf>(params, key_map, elements, bias, first, items);
    if (params.weights == Weights::kSoftmax) window = window_softmax<Group>(elements);
  }
  sort_descending(items);
#pragma unroll
  for (int i = 1; i < kItems; ++i) smem.sorted[i][threadIdx.x] = items[i];

  Item head = items[0];
  int next = 1;
  const auto num_rounds =
      static_cast<std::uint32_t>(params.k < params.num_cols ? params.k : params.num_cols);
#pragma unroll 1
  for (std::uint32_t round = 0; round < num_rounds; ++round) {
    bool is_winner;
    if constexpr (ItemOf::kIsNarrow) {
      is_winner = head == Group::max(head);
    } else {
      const std::uint32_t best = Group::max(ItemOf::key(head));
      // A lane without items has the worst key too.
      const bool is_best = ItemOf::key(head) == best && next <= kItems;
      const std::uint32_t candidates = __ballot_sync(kAllLanes, is_best) & Group::mask();
      is_winner = is_best && (candidates & ptx::lanes_below()) == 0;
    }
    if (is_winner) {
      smem.winners[cta_row][round] = head;
      head = next < kItems ? smem.sorted[next][threadIdx.x] : kNoItem;
      ++next;
    }
  }
  __syncwarp();

  const auto num_selected = min(num_rounds, slots.num_items());
  const Item* winners = smem.winners[cta_row];
  const bool poisoned = num_selected > 0 && is_poison<kKeyType>(params, ItemOf::key(winners[0]));
  const std::uint32_t num_written = poisoned ? 0 : num_selected;
  float* scores = smem.scores[cta_row];
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
  float* weights = has_weights
                       ? static_cast<float*>(params.values) + row * params.values_row_stride_items
                       : nullptr;
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
  const float pad = float_of_bits(poisoned ? 0x7FC00000u : params.pad_value_bits);
  for (std::int64_t i = num_written + Group::lane(); i < params.k; i += kLanes) weights[i] = pad;
}

}  // namespace deepselect::cuda
