// The scan's vector functions: mark the elements of a batch that pass their page's bound, then
// append the marked ones to the candidates.
#pragma once

#include "ascend/simd/simd.h"

namespace deepselect::ascend {

// Writes to `hits` the offsets, within the batch, of the elements that pass, ascending, and their
// size in bytes to `hit_bytes`. The batch is `num_pages` whole pages, then `tail_items` items. Page
// i's bound (FilterBound) is at bounds[i], bounds[i + kBoundStride], bounds[i + 2 * kBoundStride].
// Without kAdds all their constants to add are 0, which is so for positive thresholds of
// largest=True.
template <class Lane, int kPageItems, int kBoundStride, bool kAdds>
__simd_vf__ inline void filter_batch(__ubuf__ Lane* hits, __ubuf__ std::uint32_t* hit_bytes,
                                     __ubuf__ Lane* items, __ubuf__ Lane* bounds,
                                     std::uint16_t num_pages, std::uint32_t tail_items) {
  using namespace simd;
  using Signed = std::make_signed_t<Lane>;
  constexpr std::uint16_t kVectorsPerPage = kPageItems / kLanes<Lane>;
  const std::uint16_t tail_vectors = vectors_for<Lane>(tail_items);
  const Mask all = all_lanes<Lane>();
  Register<Lane> add_bits, signed_above, unsigned_above, item, offset;
  Mask above, passes;
  Stream stream;
  count_up<Lane>(offset, 0);
  stream_begin();
  for (std::uint16_t page = 0; page < num_pages; ++page) {
    if constexpr (kAdds) load_broadcast(add_bits, bounds + page);
    load_broadcast(signed_above, bounds + page + kBoundStride);
    load_broadcast(unsigned_above, bounds + page + 2 * kBoundStride);
    for (std::uint16_t i = 0; i < kVectorsPerPage; ++i) {
      load(item, items + page * kPageItems + i * kLanes<Lane>);
      if constexpr (kAdds) add(item, item, add_bits, all);
      greater(above, view_as<Signed>(item), view_as<Signed>(signed_above), all);
      greater(passes, item, unsigned_above, all);
      mask_or(passes, passes, above, all);
      stream_append(hits, stream, offset, passes);
      add_scalar(offset, offset, static_cast<Lane>(kLanes<Lane>), all);
    }
  }
  load_broadcast(add_bits, bounds + num_pages);
  load_broadcast(signed_above, bounds + num_pages + kBoundStride);
  load_broadcast(unsigned_above, bounds + num_pages + 2 * kBoundStride);
  for (std::uint16_t i = 0; i < tail_vectors; ++i) {
    const Mask active = take_lanes<Lane>(tail_items);
    load(item, items + num_pages * kPageItems + i * kLanes<Lane>);
    add(item, item, add_bits, active);
    greater(above, view_as<Signed>(item), view_as<Signed>(signed_above), active);
    greater(passes, item, unsigned_above, active);
    mask_or(passes, passes, above, active);
    stream_append(hits, stream, offset, passes);
    add_scalar(offset, offset, static_cast<Lane>(kLanes<Lane>), all);
  }
  stream_end(hits, stream);
  store_stream_bytes(hit_bytes);
}

// Appends the marked elements' values.
template <class Lane>
__simd_callee__ inline void append_values(__ubuf__ Lane* values, __ubuf__ Lane* hits,
                                          __ubuf__ Lane* items, std::uint32_t num_hits) {
  using namespace simd;
  const std::uint16_t num_vectors = vectors_for<Lane>(num_hits);
  Register<Lane> offset, value;
  Stream stream;
  stream_begin();
  for (std::uint16_t i = 0; i < num_vectors; ++i) {
    const Mask active = take_lanes<Lane>(num_hits);
    load(offset, hits + i * kLanes<Lane>);
    gather(value, items, offset, active);
    stream_append(values, stream, value, active);
  }
  stream_end(values, stream);
}

// Appends one word of the marked elements' inverted positions: base_of_page ^ (offset & in_page).
// For the high halves of positions `in_page` is 0.
template <class Lane, int kLog2PageItems>
__simd_callee__ inline void append_positions(__ubuf__ Lane* positions, __ubuf__ Lane* hits,
                                             __ubuf__ Lane* base_of_page, Lane in_page,
                                             std::uint32_t num_hits) {
  using namespace simd;
  const std::uint16_t num_vectors = vectors_for<Lane>(num_hits);
  Register<Lane> offset, page, word, in_page_mask;
  Stream stream;
  fill(in_page_mask, in_page);
  stream_begin();
  for (std::uint16_t i = 0; i < num_vectors; ++i) {
    const Mask active = take_lanes<Lane>(num_hits);
    load(offset, hits + i * kLanes<Lane>);
    shift_right(page, offset, kLog2PageItems, active);
    gather(word, base_of_page, page, active);
    bit_and(offset, offset, in_page_mask, active);
    bit_xor(word, word, offset, active);
    stream_append(positions, stream, word, active);
  }
  stream_end(positions, stream);
}

// Appends the marked elements, positions in halves: `page_bases_low` and `page_bases_high` hold
// those of the inverted positions of the batch's pages.
template <int kLog2PageItems>
__simd_vf__ inline void append_hits_16(__ubuf__ std::uint16_t* values,
                                       __ubuf__ std::uint16_t* positions_high,
                                       __ubuf__ std::uint16_t* positions_low,
                                       __ubuf__ std::uint16_t* hits, __ubuf__ std::uint16_t* items,
                                       __ubuf__ std::uint16_t* page_bases_high,
                                       __ubuf__ std::uint16_t* page_bases_low,
                                       std::uint32_t num_hits) {
  constexpr std::uint16_t kInPage = (1 << kLog2PageItems) - 1;
  append_values<std::uint16_t>(values, hits, items, num_hits);
  append_positions<std::uint16_t, kLog2PageItems>(positions_high, hits, page_bases_high, 0,
                                                  num_hits);
  append_positions<std::uint16_t, kLog2PageItems>(positions_low, hits, page_bases_low, kInPage,
                                                  num_hits);
}

template <int kLog2PageItems>
__simd_vf__ inline void append_hits_32(__ubuf__ std::uint32_t* values,
                                       __ubuf__ std::uint32_t* positions,
                                       __ubuf__ std::uint32_t* hits, __ubuf__ std::uint32_t* items,
                                       __ubuf__ std::uint32_t* page_bases, std::uint32_t num_hits) {
  constexpr std::uint32_t kInPage = (1 << kLog2PageItems) - 1;
  append_values<std::uint32_t>(values, hits, items, num_hits);
  append_positions<std::uint32_t, kLog2PageItems>(positions, hits, page_bases, kInPage, num_hits);
}

}  // namespace deepselect::ascend
