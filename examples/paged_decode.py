"""One decode step of a sparse-attention layer over a paged KV cache.

Each sequence has one new query. A light scorer rates every cached position, the best k are
selected and mapped to slots of the cache in the same call, and attention reads those slots only.

    python examples/paged_decode.py
"""

from __future__ import annotations

import torch
from torch import Tensor

import deepselect

SEQUENCES, PAGES_PER_SEQUENCE, PAGE_SIZE = 4, 64, 64
HEADS, HEAD_DIM, SCORER_DIM, TOP_K = 8, 64, 56, 512


def attend(query: Tensor, keys: Tensor, values: Tensor, is_there: Tensor) -> Tensor:
    """Attention of ``(sequences, heads, dim)`` to ``(sequences, items, dim)``, over some items."""
    logits = torch.einsum("shd,sid->shi", query, keys) / keys.shape[-1] ** 0.5
    logits = logits.masked_fill(~is_there[:, None], float("-inf"))
    return torch.einsum("shi,sid->shd", logits.softmax(dim=-1), values)


def decode_step(
    query: Tensor,
    scorer_query: Tensor,
    scorer_keys: Tensor,
    keys: Tensor,
    values: Tensor,
    page_table: Tensor,
    lengths: Tensor,
) -> Tensor:
    """Sparse attention of one new token of every sequence.

    Args:
        query: ``(sequences, heads, dim)``.
        scorer_query: ``(sequences, scorer_dim)``.
        scorer_keys: ``(sequences, positions, scorer_dim)``, by position.
        keys, values: ``(slots, dim)``: the cache, by slot.
        page_table: ``(sequences, pages)`` int32: the page of the cache that holds each
            ``PAGE_SIZE`` positions of a sequence.
        lengths: ``(sequences,)`` int32.

    Returns:
        ``(sequences, heads, dim)``.
    """
    scores = torch.einsum("sd,spd->sp", scorer_query, scorer_keys).bfloat16()
    slots = deepselect.topk(
        scores,
        TOP_K,
        end=lengths,
        page_table=page_table,
        page_size=PAGE_SIZE,
        return_values=False,
    ).indices
    is_there = slots >= 0  # a sequence shorter than TOP_K has pads
    slots = slots.clamp(min=0)
    return attend(query, keys[slots], values[slots], is_there)


def main() -> None:
    """Compares the step with attention to every position."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator)

    positions = PAGES_PER_SEQUENCE * PAGE_SIZE
    num_pages = SEQUENCES * PAGES_PER_SEQUENCE
    page_table = torch.randperm(num_pages, generator=generator).int().view(SEQUENCES, -1)
    lengths = torch.tensor([positions, 3000, 700, 500], dtype=torch.int32)
    keys, values = normal(num_pages * PAGE_SIZE, HEAD_DIM), normal(num_pages * PAGE_SIZE, HEAD_DIM)
    # Scores that know something: the scorer sees a part of what attention sees.
    slot_of_position = (page_table[:, :, None] * PAGE_SIZE + torch.arange(PAGE_SIZE)).flatten(1)
    scorer_keys = keys[slot_of_position][..., :SCORER_DIM]
    query = 3 * normal(SEQUENCES, 1, HEAD_DIM).expand(-1, HEADS, -1)
    scorer_query = query[:, 0, :SCORER_DIM]

    sparse = decode_step(query, scorer_query, scorer_keys, keys, values, page_table, lengths)
    is_there = torch.arange(positions) < lengths[:, None]
    dense = attend(query, keys[slot_of_position], values[slot_of_position], is_there)
    for sequence, length in enumerate(lengths.tolist()):
        error = (sparse - dense)[sequence].norm() / dense[sequence].norm()
        print(f"length {length}: {min(length, TOP_K)} positions read, relative error {error:.3f}")
    # Shorter than TOP_K: everything is selected, in another order of summation.
    assert torch.allclose(sparse[3], dense[3], atol=1e-4)


if __name__ == "__main__":
    main()
