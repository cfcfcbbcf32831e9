"""What the originals of ``deepselect.compat`` do, in plain torch, a row at a time.

Written from their documentation and signatures; ties go to the lower position, which none of them
promises and all of them allow. Indices come in ascending order of position, pads last.
"""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor


def best_positions(row: Tensor, k: int) -> list[int]:
    """The k greatest of a vector, ascending."""
    order = row.cpu().float().sort(descending=True, stable=True).indices
    return sorted(order[:k].tolist())


def window(scores: Tensor, row: int, start: int, end: int, k: int) -> list[int]:
    """The best positions of ``scores[row, start:end]``, relative to the start."""
    cols = scores.shape[1]
    start = min(max(start, 0), cols)
    return best_positions(scores[row, start : max(min(end, cols), start)], k)


def padded(rows: list[list[int]], k: int, pad: int = -1) -> Tensor:
    """``(rows, k)`` int32: each row and then pads."""
    table = [row + [pad] * (k - len(row)) for row in rows]
    return torch.tensor(table, dtype=torch.int32).view(len(rows), k)


def select(scores: Tensor, starts: list[int], ends: list[int], k: int) -> list[list[int]]:
    bounds = zip(starts, ends, strict=True)
    return [window(scores, row, start, end, k) for row, (start, end) in enumerate(bounds)]


def decode(scores: Tensor, seq_lens: Tensor, next_n: int, k: int) -> Tensor:
    """The decode of vLLM and TensorRT-LLM: token j of a sequence sees all but the last
    ``next_n - j - 1`` positions; two-dimensional lengths are the rows' own.
    """
    num_rows = scores.shape[0]
    if seq_lens.dim() == 2:
        ends = seq_lens.flatten().tolist()
    else:
        ends = [int(seq_lens[row // next_n]) - next_n + row % next_n + 1 for row in range(num_rows)]
    return padded(select(scores, [0] * num_rows, ends[:num_rows], k), k)


def prefill(scores: Tensor, starts: Tensor, ends: Tensor, k: int) -> Tensor:
    return padded(select(scores, starts.tolist(), ends.tolist(), k), k)


def raw(scores: Tensor, starts: Tensor | None, lengths: Tensor, k: int) -> list[list[int]]:
    """SGLang's and FlashInfer's windows: a start, default 0, and a length."""
    firsts = [0] * len(lengths) if starts is None else starts.tolist()
    lasts = [first + length for first, length in zip(firsts, lengths.tolist(), strict=True)]
    return select(scores, firsts, lasts, k)


def paged(
    rows: list[list[int]],
    table: Tensor,
    table_rows: list[int],
    firsts: list[int],
    page_size: int,
    k: int,
) -> Tensor:
    """Positions through a page table."""

    def slot(row: int, position: int) -> int:
        page = int(table[table_rows[row], firsts[row] + position // page_size])
        return page * page_size + position % page_size

    return padded([[slot(row, p) for p in found] for row, found in enumerate(rows)], k)


def sequence_of_rows(cu_seqlens_q: Tensor, num_rows: int) -> list[int]:
    """SGLang: the sequence whose span of query rows holds each row."""
    bounds = cu_seqlens_q.tolist()
    spans = list(pairwise(bounds))
    return [
        next(s for s, (first, last) in enumerate(spans) if first <= row < last)
        for row in range(num_rows)
    ]


def canonical(indices: Tensor, pad: int = -1) -> Tensor:
    """Valid entries ascending, pads last; asserts that pads were last."""
    indices = indices.cpu()
    is_pad = indices == pad
    assert torch.equal(is_pad, is_pad.sort(dim=-1, stable=True).values), "pads are not last"
    greatest = torch.iinfo(indices.dtype).max
    ordered = indices.masked_fill(is_pad, greatest).sort(dim=-1).values
    return ordered.masked_fill(is_pad, pad)
