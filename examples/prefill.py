"""A prefill of several sequences in one buffer: causal windows with ``begin`` and ``end``.

The queries and keys of all sequences lie one after another. Query i of a sequence may select from
that sequence's keys up to i: a window per row, no mask, no loop over sequences.

    python examples/prefill.py
"""

from __future__ import annotations

import torch
from torch import Tensor

import deepselect

LENGTHS = (700, 33, 256)
DIM, TOP_K = 64, 128


def windows(cu_seqlens: Tensor) -> tuple[Tensor, Tensor]:
    """The causal window of every query, ``[begin, end)`` in keys of the buffer."""
    num_tokens = int(cu_seqlens[-1])
    token = torch.arange(num_tokens)
    begin = cu_seqlens[torch.searchsorted(cu_seqlens, token, right=True) - 1]
    return begin, token + 1


def select(queries: Tensor, keys: Tensor, cu_seqlens: Tensor) -> Tensor:
    """The keys that each query attends to.

    Args:
        queries, keys: ``(tokens, dim)``.
        cu_seqlens: ``(sequences + 1,)`` int64, where the sequences start; the last is the end.

    Returns:
        ``(tokens, TOP_K)`` int32 rows of ``keys``, ascending; -1 where a query has fewer.
    """
    begin, end = windows(cu_seqlens)
    scores = queries @ keys.t()
    # Indices are relative to begin; the offset makes them rows of the buffer.
    return deepselect.topk(
        scores,
        TOP_K,
        begin=begin,
        end=end,
        index_offset=begin,
        order="index",
        return_values=False,
    ).indices


def main() -> None:
    """Compares every query with a selection made from its own sequence alone."""
    generator = torch.Generator().manual_seed(0)
    num_tokens = sum(LENGTHS)
    queries, keys = torch.randn(2, num_tokens, DIM, generator=generator)
    cu_seqlens = torch.tensor([0, *LENGTHS]).cumsum(0)
    selected = select(queries, keys, cu_seqlens)

    for first, last in zip(cu_seqlens.tolist(), cu_seqlens[1:].tolist(), strict=False):
        own = queries[first:last] @ keys.t()
        for query in range(last - first):
            scores = own[query, first : first + query + 1]
            count = min(TOP_K, len(scores))
            expected = (scores.topk(count).indices + first).sort().values
            row = selected[first + query]
            assert torch.equal(row[:count].long(), expected)
            assert (row[count:] == -1).all()
    num_pairs = sum(length * (length + 1) // 2 for length in LENGTHS)
    print(f"{num_tokens} queries attend to {int((selected >= 0).sum())} of {num_pairs} keys")


if __name__ == "__main__":
    main()
