"""A proof that a selection is right, in one pass over the input on its own device.

Let t be the worst rank selected, and p the last position selected at that rank. Every selected
element is at or before (t, p) in the order of selection. So if the selected positions are distinct
and exactly as many elements of the row as were selected are at or before (t, p), then these are the
selected ones, and they are the best. No second top-k is needed, and sizes where a reference would
take minutes take milliseconds.
"""

from __future__ import annotations

import torch
from torch import Tensor

from deepselect.reference import order_rank

# The pass needs about 50 bytes for an element while it works.
_CHUNK_ITEMS = 2**26


def find_fault(
    input: Tensor,
    indices: Tensor,
    values: Tensor | None = None,
    *,
    order: str = "any",
    end: Tensor | None = None,
    lowest_ties: bool = True,
) -> str | None:
    """What is wrong with the output of ``topk(input, k, end=end, order=order)``, None if nothing.

    Args:
        input: ``(rows, cols)``.
        indices: ``(rows, k)``, pads -1.
        values: ``(rows, k)``, or None where they were not asked for.
        order: what was asked for.
        end: ``(rows,)``, where rows have lengths.
        lowest_ties: whether the lowest positions must win ties; other kernels do not promise it.
    """
    rows, cols = input.shape
    k = indices.shape[-1]
    device = input.device
    full = torch.full((rows,), cols, device=device)
    lengths = full if end is None else end.long().clamp(0, cols)
    num_valid = lengths.clamp(max=k)
    is_valid = torch.arange(k, device=device) < num_valid[:, None]

    position = indices.long()
    is_inside = (position >= 0) & (position < lengths[:, None])
    if not torch.where(is_valid, is_inside, position == -1).all():
        return "an index outside the window, or no pad where there must be one"
    position = torch.where(is_valid, position, 0)
    distinct = torch.where(is_valid, position, cols + torch.arange(k, device=device))
    distinct = distinct.sort(-1).values
    if (distinct[:, 1:] == distinct[:, :-1]).any():
        return "an index twice"

    # As integers: moving a signalling NaN as a float may quieten it.
    as_bits = {2: torch.int16, 4: torch.int32}[input.element_size()]
    selected = input.view(as_bits).gather(-1, position)
    rank = order_rank(selected.view(input.dtype))
    highest = torch.iinfo(torch.int64).max
    worst = torch.where(is_valid, rank, highest).amin(-1, keepdim=True)
    is_worst = is_valid & (rank == worst)
    if lowest_ties:
        last = torch.where(is_worst, position, -1).amax(-1, keepdim=True)
        if not torch.equal(_count_reaching(input, worst, last, lengths), num_valid):
            return "not the best elements, or not the lowest positions among equal ones"
    else:
        none = torch.full_like(worst, -1)
        num_better = num_valid - is_worst.sum(-1)
        if not torch.equal(_count_reaching(input, worst, none, lengths), num_better):
            return "not the best elements"

    if order != "any":
        # What must not fall from entry to entry, as one integer.
        key = position if order == "index" else position - rank * 2**31
        if (is_valid[:, 1:] & (key[:, 1:] <= key[:, :-1])).any():
            return f'not in order "{order}"'
    if values is not None:
        same = values.view(as_bits) == selected
        if not torch.where(is_valid, same, True).all():
            return "a value that is not the element at its index"
    return None


def _count_reaching(input: Tensor, worst: Tensor, last: Tensor, lengths: Tensor) -> Tensor:
    """How many elements of every row's window are at or before (worst, last)."""
    rows, cols = input.shape
    counts = torch.zeros(rows, dtype=torch.int64, device=input.device)
    cols_at_once = min(max(cols, 1), _CHUNK_ITEMS)
    rows_at_once = max(1, _CHUNK_ITEMS // cols_at_once)
    for first in range(0, rows, rows_at_once):
        group = slice(first, first + rows_at_once)
        for begin in range(0, cols, cols_at_once):
            chunk = input[group, begin : begin + cols_at_once]
            rank = order_rank(chunk)
            position = torch.arange(begin, begin + chunk.shape[-1], device=input.device)
            reaches = (rank > worst[group]) | ((rank == worst[group]) & (position <= last[group]))
            reaches &= position < lengths[group, None]
            counts[group] += reaches.sum(-1)
    return counts
