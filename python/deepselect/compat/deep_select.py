"""DeepSelect's ``topk`` and ``get_stride_requirement``.

Signature: ``deep_select/interface.py`` of 2026; ``do_check_nan``, which earlier versions have last,
is not taken.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

import deepselect
from deepselect import contract

# What DeepSelect writes as index where it found a NaN.
_NAN_FOUND = 0x3F3F3F3F


def get_stride_requirement() -> tuple[int, int]:
    """What row strides of inputs and outputs should be multiples of, in bytes.

    Returns:
        The strictest requirement of any backend, twice. A caller that pads to it is served
        everywhere; on CPU and CUDA any stride is.

    Raises:
        ImportError: ``deepselect._contract`` was built for another Python.
    """
    multiple = contract.row_alignment_bytes()
    return multiple, multiple


def topk(
    input: Tensor,
    topk: int,
    sorted: bool = False,
    begin: Tensor | None = None,
    end: Tensor | None = None,
    indices_type: torch.dtype = torch.int64,
    sorted_index: bool = False,
    hint: Tensor | None = None,
    output_idx: Tensor | None = None,
    output_idx_offset: Tensor | None = None,
    idx_oob_fill_value: int = 2147483647,
    value_oob_fill_value: float = float("-inf"),
    return_value: bool = True,
    abort_when_nan_found: bool = True,
) -> tuple[Tensor | None, Tensor]:
    """The ``topk`` greatest of every row.

    Args:
        input: ``(rows, cols)``; bfloat16 or float32 (here float16 and int32 too).
        topk: k.
        sorted: greatest first, equal values by index; needs ``return_value``, excludes
            ``sorted_index``.
        begin: ``(rows,)`` int32 or int64: the start of each row's window, to which indices are
            relative. The original refuses it.
        end: ``(rows,)`` int32 or int64: the end of each row's window, clamped to the row.
        indices_type: int32 or int64.
        sorted_index: ascending indices.
        hint: must be None, as in the original.
        output_idx: ``(rows, topk)`` of ``indices_type`` to write; values are then not
            differentiable.
        output_idx_offset: ``(rows,)`` int32 or int64, added to indices, not to fills.
        idx_oob_fill_value, value_oob_fill_value: what fills places beyond the window's length.
        return_value: False gives None as values.
        abort_when_nan_found: a row whose window holds a NaN gets NaN as every value and, as every
            index, ``idx_oob_fill_value`` (True; nothing is aborted) or 0x3F3F3F3F (False, as on
            Ascend; on CUDA the original writes only the first index, and skips rows of at most
            ``topk``).

    Returns:
        ``values`` of input's dtype, or None, and ``indices``, both ``(rows, topk)``.

    Raises:
        TypeError: a wrong dtype.
        ValueError: a wrong shape, stride or combination.
    """
    if hint is not None:
        raise ValueError("deepselect.compat: hint must be None, as in the original")
    if sorted and (sorted_index or not return_value):
        raise ValueError("deepselect.compat: sorted needs return_value and excludes sorted_index")
    if output_idx is not None and output_idx.dtype != indices_type:
        raise TypeError(
            f"deepselect.compat: output_idx must be of indices_type, {indices_type}, "
            f"got {output_idx.dtype}"
        )
    marks_nan = not abort_when_nan_found and topk > 0
    out: tuple[Tensor | None, Tensor] | None = None
    if output_idx is not None:
        input = input.detach()
        wants_values = return_value or marks_nan
        out = (input.new_empty(output_idx.shape) if wants_values else None, output_idx)
    values, indices = deepselect.topk(
        input,
        topk,
        begin=begin,
        end=end,
        index_offset=output_idx_offset,
        order="value" if sorted else "index" if sorted_index else "any",
        nan="poison",
        return_values=return_value or marks_nan,
        index_dtype=indices_type,
        pad_index=idx_oob_fill_value,
        pad_value=None if value_oob_fill_value == -math.inf else value_oob_fill_value,
        out=out,
    )
    if marks_nan and values is not None:
        poisoned = values[:, 0].isnan()
        if math.isnan(value_oob_fill_value):  # an empty row starts with a fill
            first = 0 if begin is None else begin.clamp(min=0)
            last = input.shape[-1] if end is None else end.clamp(max=input.shape[-1])
            poisoned = poisoned & (last > first)
        marked = indices.masked_fill(poisoned[:, None], _NAN_FOUND)
        indices = marked if output_idx is None else output_idx.copy_(marked)
    return values if return_value else None, indices
