"""The contract of ``deepselect::topk`` in plain torch: slow, short, and independent of the kernels.

Every backend is judged by this file, so it shares nothing with them: a value becomes an integer
rank, rank and position become one int64 that no two elements of a row share, and ``torch.topk``
over those integers does the rest. It runs on any device that has int64 ``topk``, takes about 50
bytes of memory for each element of ``input``, and expects arguments that the contract allows (it
diagnoses none).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

__all__ = ["Selection", "order_rank", "select", "sigmoid", "topk"]

_MAX_INT32 = 2**31 - 1
_MIN_INT64 = -(2**63)

# Bits of each value type as integers: type, +inf, canonical quiet NaN.
_BITS = {
    torch.bfloat16: (torch.int16, 0x7F80, 0x7FC0),
    torch.float16: (torch.int16, 0x7C00, 0x7E00),
    torch.float32: (torch.int32, 0x7F800000, 0x7FC00000),
    torch.int32: (torch.int32, _MAX_INT32, 0),  # no pattern is above "+inf": no NaN
}


def _worst_value(dtype: torch.dtype, largest: bool) -> float:
    if dtype is torch.int32:
        return -(2.0**31) if largest else float(_MAX_INT32)
    return float("-inf") if largest else float("inf")


class Selection(NamedTuple):
    """The outputs of the op, and what a test needs to judge them.

    Attributes:
        values: ``(..., k)`` of the input's dtype, or float32 weights, or None.
        indices: ``(..., k)`` int32 or int64.
        raw_indices: ``(..., k)`` int32, positions relative to the begin of the window.
        num_valid: ``(...)`` int64; entries from here on are pads.
    """

    values: Tensor | None
    indices: Tensor
    raw_indices: Tensor
    num_valid: Tensor


def order_rank(input: Tensor, *, largest: bool = True, nan: str = "largest") -> Tensor:
    """Integers that order as the contract orders values: the better value has the higher rank.

    Args:
        input: any shape; bfloat16, float16, float32 or int32.

    Returns:
        int64 of the same shape, each within int32. Equal ranks are equal values: both zeros, all
        NaNs.
    """
    bits_type, infinity, _ = _BITS[input.dtype]
    bits = input.view(bits_type).long()
    if not input.dtype.is_floating_point:
        rank = bits
    else:
        magnitude = bits & torch.iinfo(bits_type).max
        rank = torch.where(bits < 0, -magnitude, magnitude)
        rank[magnitude > infinity] = -_MAX_INT32 if nan == "smallest" else _MAX_INT32
    return rank if largest else ~rank


def sigmoid(score: Tensor) -> Tensor:
    """The sigmoid as the contract computes it: 1 / (1 + exp(-score)) by float32 operations that
    round to nearest, in one fixed order, so that every device has the same bits.

    Args:
        score: float32, any shape.

    Returns:
        float32 of the same shape.
    """
    t = score.abs()
    n = (t.clamp(max=90).nan_to_num() * 1.44269504 + 12582912.0) - 12582912.0
    r = t + n * -0.693145751953125
    r = r + n * -1.42860677e-6
    exp = torch.full_like(r, -0.008290261)
    for coefficient in (0.041898154, -0.16667639, 0.49999148, -0.9999997, 1.0):
        exp = exp * r + coefficient
    exp = exp * ((127 - n.int()) << 23).view(torch.float32)
    exp = torch.where(t > 87.33, 0.0, exp)
    return torch.where(score < 0, exp, 1.0) / (1.0 + exp)


def _weights_of(kind: str, rows: Tensor, inside: Tensor, position: Tensor, valid: Tensor) -> Tensor:
    """Weights of the selected positions as float64 has them; anything where not valid."""
    score = rows.double()
    if kind == "softmax":
        score = score.where(inside, -torch.inf).softmax(1)
    elif kind.startswith("sigmoid"):
        score = torch.nn.functional.logsigmoid(score)
    if rows.shape[1] == 0:
        return valid.double()
    chosen = score.gather(1, position.where(valid, 0))
    if kind.endswith("_selected"):
        return chosen.where(valid, -torch.inf).softmax(1)
    return chosen if kind == "softmax" else chosen.exp()


def select(
    input: Tensor,
    k: int,
    *,
    begin: Tensor | None = None,
    end: Tensor | None = None,
    index_offset: Tensor | None = None,
    page_table: Tensor | None = None,
    page_table_row: Tensor | None = None,
    page_table_begin: Tensor | None = None,
    page_size: int = 1,
    order: str = "any",
    largest: bool = True,
    nan: str = "largest",
    weights: str = "none",
    bias: Tensor | None = None,
    return_values: bool = True,
    index_dtype: torch.dtype | None = None,
    pad_index: int = -1,
    pad_value: float | None = None,
) -> Selection:
    """As :func:`topk`, with the positions and the number of valid entries of every row."""
    num_cols = input.shape[-1]
    num_rows = input.shape[:-1].numel()
    rows = input.reshape(num_rows, num_cols)
    bits_type, _, quiet_nan = _BITS[input.dtype]
    row_id = torch.arange(num_rows, device=input.device)

    # The window [first, last) of every row, as columns of shape (num_rows, 1).
    zero = torch.zeros_like(row_id)
    first = zero if begin is None else begin.long().clamp(0, num_cols)
    last = zero + num_cols if end is None else torch.maximum(end.long().clamp(max=num_cols), first)
    if page_table is not None:
        num_tables, num_pages = page_table.shape
        table = row_id if page_table_row is None else page_table_row.long()
        page = zero if page_table_begin is None else page_table_begin.long()
        mapped = (table >= 0) & (table < num_tables) & (page >= 0) & (page <= num_pages)
        covered = torch.where(mapped, (num_pages - page) * page_size, 0)
        last = torch.minimum(last, first + covered)
    first, last = first[:, None], last[:, None]

    # The best k: one integer for rank and position, unique in its row; ties to the lower position.
    position = torch.arange(num_cols, device=input.device)
    inside = (first <= position) & (position < last)
    compared = rows
    if bias is not None:
        score = sigmoid(rows.float()) if weights.startswith("sigmoid") else rows.float()
        compared = score + bias
    composite = (order_rank(compared, largest=largest, nan=nan) << 32) + (_MAX_INT32 - position)
    composite.masked_fill_(~inside, _MIN_INT64)
    best = composite.topk(min(k, num_cols)).values
    best = torch.nn.functional.pad(best, (0, k - best.shape[1]), value=_MIN_INT64)
    position = _MAX_INT32 - (best & 0xFFFFFFFF)

    num_valid = (last - first).clamp(max=k)
    if nan == "poison":
        poisoned = (compared.isnan() & inside).any(1, keepdim=True)
        num_valid = num_valid.masked_fill(poisoned, 0)
    valid = torch.arange(k, device=input.device) < num_valid
    if order == "index":
        position = position.where(valid, _MAX_INT32).sort().values

    # What is returned for a position; pads keep what `full` says.
    raw = (position - first).where(valid, 0)
    index = raw
    if index_offset is not None:
        index = raw + index_offset.long()[:, None]
    elif page_table is not None and page_table.numel() > 0:
        safe_table = table.clamp(0, num_tables - 1)[:, None]
        safe_page = (page[:, None] + raw // page_size).clamp(0, num_pages - 1)
        index = page_table.long()[safe_table, safe_page] * page_size + raw % page_size

    shape = (*input.shape[:-1], k)
    values = None
    if return_values and weights != "none":
        weight = _weights_of(weights, rows, inside, position, valid).float()
        weight = weight.masked_fill(weight.isnan(), torch.nan)  # the canonical one
        pads = weight.new_full(weight.shape, 0.0 if pad_value is None else pad_value)
        if nan == "poison":
            pads = pads.masked_fill(poisoned, torch.nan)
        values = weight.where(valid, pads).reshape(shape)
    elif return_values:
        if pad_value is None:
            pad_value = _worst_value(input.dtype, largest)
        pad = torch.full((), pad_value, dtype=input.dtype, device=input.device).view(bits_type)
        pads = pad.expand(num_rows, k)
        if nan == "poison":
            pads = pads.masked_fill(poisoned, quiet_nan)
        if num_cols > 0:
            pads = rows.view(bits_type).gather(1, position.where(valid, 0)).where(valid, pads)
        values = pads.view(input.dtype).reshape(shape)
    return Selection(
        values,
        index.where(valid, pad_index).to(index_dtype or torch.int32).reshape(shape),
        raw.where(valid, pad_index).int().reshape(shape),
        num_valid.reshape(input.shape[:-1]),
    )


def topk(
    input: Tensor,
    k: int,
    *,
    begin: Tensor | None = None,
    end: Tensor | None = None,
    index_offset: Tensor | None = None,
    page_table: Tensor | None = None,
    page_table_row: Tensor | None = None,
    page_table_begin: Tensor | None = None,
    page_size: int = 1,
    order: str = "any",
    largest: bool = True,
    nan: str = "largest",
    weights: str = "none",
    bias: Tensor | None = None,
    return_values: bool = True,
    index_dtype: torch.dtype | None = None,
    pad_index: int = -1,
    pad_value: float | None = None,
) -> tuple[Tensor | None, Tensor]:
    """What :func:`deepselect.topk` returns for the same arguments, in plain torch.

    ``order="any"`` is given as ``"value"`` here; a backend may give the same entries in another
    order. Values carry no gradient.

    Args:
        input: ``(cols,)``, ``(rows, cols)`` or ``(..., cols)``; bfloat16, float16, float32 or
            int32.
        k: number of entries of each row of the outputs; may exceed ``cols``.
        begin, end: ``(rows,)``, int32 or int64: the window of each row, clamped to the row.
        index_offset: ``(rows,)``, int32 or int64, added to every index.
        page_table: int32 ``(tables, pages)``, maps positions to indices, with ``page_size``,
            ``page_table_row`` (int32 ``(rows,)``, default: the row itself) and
            ``page_table_begin`` (int32 ``(rows,)``, default 0).
        order: ``"any"``, ``"value"`` or ``"index"``.
        largest: greatest values first, or smallest.
        nan: ``"largest"``, ``"smallest"`` or ``"poison"``.
        weights: ``"none"``, ``"softmax"``, ``"softmax_selected"``, ``"sigmoid"`` or
            ``"sigmoid_selected"``: computed in float64 here, so a backend may differ in the last
            places.
        bias: float32 ``(cols,)``, added to the scores that are compared.
        return_values: False leaves ``values`` out.
        index_dtype: torch.int32 (default) or torch.int64.
        pad_index, pad_value: what places beyond the window's length hold.

    Returns:
        ``values``, ``(..., k)`` of input's dtype or None, and ``indices``, ``(..., k)``.

    Raises:
        KeyError: a dtype that the op does not take. Nothing else is checked.
    """
    return select(
        input,
        k,
        begin=begin,
        end=end,
        index_offset=index_offset,
        page_table=page_table,
        page_table_row=page_table_row,
        page_table_begin=page_table_begin,
        page_size=page_size,
        order=order,
        largest=largest,
        nan=nan,
        weights=weights,
        bias=bias,
        return_values=return_values,
        index_dtype=index_dtype,
        pad_index=pad_index,
        pad_value=pad_value,
    )[:2]
