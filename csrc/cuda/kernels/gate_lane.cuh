// gate where rows are a lane's: a router's call (is_router_call()) with up to kItems experts and
// kMaxWinners winners.
//
//   1. load     each lane takes its row to registers; of longer rows a warp copies 32 to shared
//               memory, neighbouring lanes neighbouring bytes (gate_lane_rows.cuh)
//   2. sort     each lane sorts runs of kMaxWinners elements by a network and merges each with the
//               best so far
//   3. output   it weighs the winners and stores them
//
// Only such copies are the warp's; from then on each instruction serves 32 rows and none waits for
// another. Lanes without a row work at another's, or at whatever lies in shared memory, and store
// nothing.
#pragma once

#include <cstdint>
#include <type_traits>

#include "cuda/common/key_map.cuh"
#include "cuda/common/lanes.cuh"
#include "cuda/common/score.cuh"
#include "cuda/kernels/gate.cuh"
#include "cuda/kernels/gate_lane_rows.cuh"
#include "cuda/smem/gate.h"
#include "cuda/tuning/gate.h"
#include "deepselect/weights.h"

namespace deepselect::cuda {

namespace detail {

// Sum in the order of LaneGroup<kCount>::sum().
template <int kCount>
__device__ __forceinline__ float sum_of(const float (&terms)[kCount]) {
  float sums[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) sums[i] = terms[i];
#pragma unroll
  for (int distance = kCount / 2; distance > 0; distance /= 2) {
#pragma unroll
    for (int i = 0; i < distance; ++i) sums[i] += sums[i + distance];
  }
  return sums[0];
}

// Maximum and sum over a row. As many sums as a run has items, which are added up last: the error
// of one over 128 terms would come near the contract's.
template <class Row>
__device__ __forceinline__ WindowSoftmax lane_softmax(const Row& row) {
  using Run = typename Row::Run;
  constexpr int kRunItems = Row::kRunItems;
  float max = kMinusInfinity;
  row.template visit_runs<0>([&](const Run& run, std::uint32_t) {
#pragma unroll
    for (int i = 0; i < kRunItems; ++i) max = fmaxf(max, run.score(i));
  });
  float sums[kRunItems] = {};
  row.template visit_runs<0>([&](const Run& run, std::uint32_t) {
#pragma unroll
    for (int i = 0; i < kRunItems; ++i) sums[i] += exp_in_sum(run.score(i) - max);
  });
  return {max, sum_of(sums)};
}

// term / sum for a sum from 1/2 to 512, or NaN, whose reciprocal is `reciprocal`, rounded: as
// rounded::divide() has it, but without its branches, and in the last bit where the quotient is
// below 2^-100.
__device__ __forceinline__ float share_of(float term, float sum, float reciprocal) {
  const float quotient = __fmul_rn(term, reciprocal);
  const float rest = __fmaf_rn(-quotient, sum, term);
  return __fmaf_rn(rest, reciprocal, quotient);
}

// `term` of each of the first `count` scores, in place, and 0 behind them. Up to four at once: so
// lanes do not wait for one, and a few winners cost less than all.
template <int kWinners, class Term>
__device__ __forceinline__ void make_terms(std::uint32_t count, float (&scores)[kWinners],
                                           const Term& term) {
  constexpr int kAtOnce = kWinners < 4 ? kWinners : 4;
#pragma unroll
  for (int first = 0; first < kWinners; first += kAtOnce) {
    const bool has_any = first == 0 || static_cast<std::uint32_t>(first) < count;
#pragma unroll
    for (int i = first; i < first + kAtOnce; ++i) scores[i] = has_any ? scores[i] : 0.0f;
    if (!has_any) continue;
#pragma unroll
    for (int i = first; i < first + kAtOnce; ++i) {
      const float result = term(scores[i]);
      scores[i] = static_cast<std::uint32_t>(i) < count ? result : 0.0f;
    }
  }
}

// The weights of the first `count` scores, in place. `total` is of the window, where that is what
// weights are shares of.
template <int kWinners>
__device__ __forceinline__ void weigh_lane(Weights kind, WindowSoftmax total, std::uint32_t count,
                                           float (&scores)[kWinners]) {
  const bool is_of_selection = is_share_of_selection(kind);
  if (is_of_selection) {
    total.max = kMinusInfinity;
#pragma unroll
    for (int i = 0; i < kWinners; ++i) {
      if (static_cast<std::uint32_t>(i) < count) total.max = fmaxf(total.max, scores[i]);
    }
  }
  if (kind == Weights::kSigmoid) {
    make_terms(count, scores, [](float score) { return sigmoid(score); });
  } else if (kind == Weights::kSigmoidSelected) {
    make_terms(count, scores, [&](float score) { return sigmoid_term(score, total.max); });
  } else {
    make_terms(count, scores, [&](float score) { return softmax_term(score, total.max); });
  }
  if (is_of_selection) total.sum = sum_of(scores);
  const float reciprocal = rounded::divide(1.0f, total.sum);
#pragma unroll
  for (int i = 0; i < kWinners; ++i) {
    if (kind != Weights::kSigmoid) scores[i] = share_of(scores[i], total.sum, reciprocal);
    scores[i] = canonical_weight(scores[i]);
  }
}

// Stores `words[0, count)`, by the widest vectors that `target` and `count` allow.
template <int kWords>
__device__ __forceinline__ void store_words(std::uint32_t* target, std::uint32_t count,
                                            const std::uint32_t (&words)[kWords]) {
  static_assert(kWords == 2 || kWords % 4 == 0, "whole vectors");
  const std::uint32_t unit =
      count |
      static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(target) / sizeof(*target));
  if constexpr (kWords % 4 == 0) {
    if (unit % 4 == 0) {
#pragma unroll
      for (std::uint32_t i = 0; i < kWords; i += 4) {
        if (i < count) {
          *reinterpret_cast<uint4*>(target + i) = {words[i], words[i + 1], words[i + 2],
                                                   words[i + 3]};
        }
      }
      return;
    }
  }
  if (unit % 2 == 0) {
#pragma unroll
    for (std::uint32_t i = 0; i < kWords; i += 2) {
      if (i < count) *reinterpret_cast<uint2*>(target + i) = {words[i], words[i + 1]};
    }
  } else {
#pragma unroll
    for (std::uint32_t i = 0; i < kWords; ++i) {
      if (i < count) target[i] = words[i];
    }
  }
}

// One output of a warp: a row of 32-bit words per lane.
struct LaneOutput {
  std::uint32_t* first;  // of the warp's first row
  std::int64_t stride_words;
  std::uint32_t num_rows;
  std::uint32_t count;  // words of a row

  // All lanes of the warp call it.
  template <int kWords>
  __device__ __forceinline__ void store(const std::uint32_t (&words)[kWords]) const {
    const std::uint32_t lane = threadIdx.x % kWarpThreads;
    if constexpr (kWords == 8) {
      const auto address = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(first));
      const bool is_whole =
          count == 8 && address % 16 == 0 && static_cast<std::uint32_t>(stride_words) % 4 == 0;
      if (is_whole) return store_pairs(lane, words);
    }
    if (lane < num_rows) store_words(first + lane * stride_words, count, words);
  }

 private:
  // Two neighbouring lanes store the even one's row together, then the odd one's: whole sectors of
  // 32 bytes, half as many of them as of the halves that one lane's vectors are.
  __device__ __forceinline__ void store_pairs(std::uint32_t lane,
                                              const std::uint32_t (&words)[8]) const {
    const bool is_odd = lane % 2 != 0;
    std::uint32_t of_even[4];
    std::uint32_t of_odd[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t given = is_odd ? words[i] : words[i + 4];
      const std::uint32_t taken = __shfl_xor_sync(kAllLanes, given, 1);
      of_even[i] = is_odd ? taken : words[i];
      of_odd[i] = is_odd ? words[i + 4] : taken;
    }
    const std::uint32_t even_row = lane & ~1u;
    std::uint32_t* target = first + even_row * stride_words + (is_odd ? 4 : 0);
    if (even_row < num_rows) {
      *reinterpret_cast<uint4*>(target) = {of_even[0], of_even[1], of_even[2], of_even[3]};
    }
    if (even_row + 1 < num_rows) {
      *reinterpret_cast<uint4*>(target + stride_words) = {of_odd[0], of_odd[1], of_odd[2],
                                                          of_odd[3]};
    }
  }
};

// Phase 2: the best kWinners of a row. With few, no comparison is made but for them.
template <ValueType kType, bool kIsBiased, class Row, class Keys, int kWinners>
__device__ __forceinline__ void sort_row(
    const TopkParams& params, const Row& row, const Keys& key_map,
    typename GateItem<kIsBiased ? ValueType::kFloat32 : kType>::Type (&best)[kWinners]) {
  using ItemOf = GateItem<kIsBiased ? ValueType::kFloat32 : kType>;
  using Item = typename ItemOf::Type;
  using Run = typename Row::Run;
  // Positions of a run are constants while it is sorted.
  const auto sort_run = [&](const Run& run, std::uint32_t first, Item(&winners)[kWinners]) {
    GateBias<Row::kRunItems> bias;
    if constexpr (kIsBiased) bias.follow(params, run, first);
    Item items[Row::kRunItems];
    make_items<kType, ItemOf, kIsBiased>(key_map, params.weights, run, bias, 0, items);
    sort_descending(items);
#pragma unroll
    for (int i = 0; i < kWinners; ++i) winners[i] = ItemOf::moved(items[i], first);
  };
  sort_run(row.first_run(), 0, best);
  row.template visit_runs<1>([&](const Run& run, std::uint32_t first) {
    Item winners[kWinners];
    sort_run(run, first, winners);
    keep_best(best, winners);
  });
}

// The winners' elements, without reading them again: of zeros and of NaNs it is one of each, but
// all have the same weight.
template <ValueType kType, class Item, int kWinners>
__device__ __forceinline__ void elements_of(const KeyMap<kType>& key_map,
                                            const Item (&best)[kWinners],
                                            BitsOf<kType> (&bits)[kWinners]) {
  using ItemOf = GateItem<kType>;
  constexpr int kPerWord = KeyMap<kType>::kItemsPerWord;
#pragma unroll
  for (int i = 0; i < kWinners; i += kPerWord) {
    std::uint32_t keys = ItemOf::key(best[i]);
    if constexpr (kPerWord == 2) keys |= ItemOf::key(best[i + 1]) << 16;
    const std::uint32_t word = key_map.word_of_keys(keys);
#pragma unroll
    for (int j = 0; j < kPerWord; ++j) bits[i + j] = item_bits<kType>(&word, j);
  }
}

// Phase 3 for the `count` best. With a `count` that the compiler knows nothing asks which of
// kWinners there are.
template <ValueType kType, bool kIsBiased, class Row, class Keys, class Item, int kWinners>
__device__ __forceinline__ void write_winners(const TopkParams& params, std::int64_t warp_row,
                                              std::uint32_t num_rows, std::uint32_t count,
                                              const Row& row, const Keys& key_map,
                                              const Item (&best)[kWinners]) {
  using Bits = BitsOf<kType>;
  using ItemOf = GateItem<kIsBiased ? ValueType::kFloat32 : kType>;
  const bool has_weights = params.weights != Weights::kNone;
  std::uint32_t words[kWinners];
#pragma unroll
  for (int i = 0; i < kWinners; ++i) words[i] = ItemOf::position(best[i]);
  Bits bits[kWinners];
  if (Row::kIsCheapToRead || kIsBiased || !has_weights) {
#pragma unroll
    for (std::uint32_t i = 0; i < kWinners; ++i) {
      const bool is_wanted = Row::kIsCheapToRead || (i < count && params.values != nullptr);
      bits[i] = is_wanted ? row.bits_at(words[i]) : Bits{0};
    }
  } else if constexpr (!kIsBiased) {
    elements_of(key_map, best, bits);
  }
  auto* indices = static_cast<std::uint32_t*>(params.indices);
  LaneOutput{indices + warp_row * params.indices_row_stride_items, params.indices_row_stride_items,
             num_rows, count}
      .store(words);
  if (params.values == nullptr) return;

  const std::int64_t first_value = warp_row * params.values_row_stride_items;
  if constexpr (sizeof(Bits) == 2) {
    if (!has_weights) {
      const std::uint32_t lane = threadIdx.x % kWarpThreads;
      if (lane >= num_rows) return;
      Bits* target =
          static_cast<Bits*>(params.values) + first_value + lane * params.values_row_stride_items;
#pragma unroll
      for (std::uint32_t i = 0; i < kWinners; ++i) {
        if (i < count) target[i] = bits[i];
      }
      return;
    }
  }
#pragma unroll
  for (int i = 0; i < kWinners; ++i) words[i] = bits[i];
  if (has_weights) {
    WindowSoftmax window{0, 0};
    if (params.weights == Weights::kSoftmax) window = lane_softmax(row);
    float weights[kWinners];
#pragma unroll
    for (int i = 0; i < kWinners; ++i) weights[i] = score_of<kType>(bits[i]);
    weigh_lane(params.weights, window, count, weights);
#pragma unroll
    for (int i = 0; i < kWinners; ++i) words[i] = __float_as_uint(weights[i]);
  }
  auto* values = static_cast<std::uint32_t*>(params.values);
  LaneOutput{values + first_value, params.values_row_stride_items, num_rows, count}.store(words);
}

}  // namespace detail

template <ValueType kType, bool kIsBiased, class Policy>
__global__ void __launch_bounds__(Policy::kCtaThreads, Policy::kCtasPerSm)
    gate_lane_kernel(const __grid_constant__ TopkParams params) {
  constexpr ValueType kKeyType = kIsBiased ? ValueType::kFloat32 : kType;
  using Row = std::conditional_t<Policy::kIsStaged, detail::StagedRow<kType, Policy>,
                                 detail::HeldRow<kType, Policy>>;
  using Item = typename GateItem<kKeyType>::Type;

  const std::uint32_t cta_row = threadIdx.x / kWarpThreads * kWarpThreads;
  const std::int64_t warp_row = std::int64_t{blockIdx.x} * Policy::kCtaThreads + cta_row;
  if (warp_row >= params.num_rows) return;
  const auto num_rows =
      static_cast<std::uint32_t>(min(params.num_rows - warp_row, std::int64_t{kWarpThreads}));
  const auto num_cols = static_cast<std::uint32_t>(params.num_cols);

  constexpr auto kItemBytes = static_cast<std::uint32_t>(sizeof(BitsOf<kType>));
  const std::int64_t stride_bytes = params.input_row_stride_items * kItemBytes;
  const auto* input = static_cast<const unsigned char*>(params.input) + warp_row * stride_bytes;
  const Row row({input, stride_bytes, num_cols * kItemBytes, num_rows}, num_cols);

  const KeyMap<kKeyType> key_map(params);
  const auto count = static_cast<std::uint32_t>(params.k);
  constexpr int kRunItems = Policy::kMaxWinners;
  if (count <= Policy::kFewWinners) {
    Item best[Policy::kFewWinners];
    detail::sort_row<kType, kIsBiased>(params, row, key_map, best);
    detail::write_winners<kType, kIsBiased>(params, warp_row, num_rows, count, row, key_map, best);
    return;
  }
  Item best[kRunItems];
  detail::sort_row<kType, kIsBiased>(params, row, key_map, best);
  if (count == kRunItems) {
    detail::write_winners<kType, kIsBiased>(params, warp_row, num_rows, kRunItems, row, key_map,
                                            best);
  } else {
    detail::write_winners<kType, kIsBiased>(params, warp_row, num_rows, count, row, key_map, best);
  }
}

}  // namespace deepselect::cuda
