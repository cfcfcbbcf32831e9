"""FlashInfer's ``top_k``, ``top_k_page_table_transform`` and ``top_k_ragged_transform``.

Signatures: FlashInfer 0.7.4. To those of 0.6 it adds, at the end, ``dsa_graph_safe``,
``row_starts``, ``page_table_row_starts``, ``page_size``, ``out`` and ``out_raw_indices``.

``deterministic`` is granted always: the selection is unique and, where the caller asks for it, the
order too. ``tie_break`` may be NONE or SMALL, which are the same here.
"""

from __future__ import annotations

from enum import IntEnum

import torch
from torch import Tensor

import deepselect
from deepselect.compat._rows import window_end


class TopKTieBreak(IntEnum):
    """Which of equal values is selected: any, the lower or the higher index."""

    NONE = 0
    SMALL = 1
    LARGE = 2


def top_k(
    input: Tensor,
    k: int,
    sorted: bool = False,
    deterministic: bool = False,
    tie_break: int = TopKTieBreak.NONE,
    dsa_graph_safe: bool = False,
) -> tuple[Tensor, Tensor]:
    """The ``k`` greatest of every row.

    Args:
        input: ``(rows, cols)``; bfloat16, float16, float32 (int32 too).
        k: may exceed ``cols`` here: -inf and -1 fill the rest.
        sorted: best first; equal values by index.
        deterministic: orders unsorted results by index; otherwise their order is unstated.
        tie_break: NONE or SMALL.
        dsa_graph_safe: not used: every call can be captured.

    Returns:
        ``values`` of input's dtype and int64 ``indices``, both ``(rows, k)``. ``values`` is
        differentiable.

    Raises:
        TypeError: a wrong dtype.
        ValueError: a wrong shape or stride, or ``tie_break=LARGE``.
    """
    del dsa_graph_safe
    _check_tie_break(tie_break)
    values, indices = deepselect.topk(
        input,
        k,
        order="value" if sorted else "index" if deterministic or tie_break else "any",
        index_dtype=torch.int64,
    )
    assert values is not None  # return_values is on
    return values, indices


topk = top_k


def top_k_page_table_transform(
    input: Tensor,
    src_page_table: Tensor,
    lengths: Tensor,
    k: int,
    row_to_batch: Tensor | None = None,
    deterministic: bool = False,
    tie_break: int = TopKTieBreak.NONE,
    dsa_graph_safe: bool = False,
    row_starts: Tensor | None = None,
    page_table_row_starts: Tensor | None = None,
    *,
    page_size: int = 1,
    out: Tensor | None = None,
    out_raw_indices: Tensor | None = None,
) -> Tensor:
    """The best positions of every row, mapped through a page table.

    Position ``i``, relative to the row's start, of row ``r`` becomes
    ``table[batch, first + i // page_size] * page_size + i % page_size`` with
    ``batch = row_to_batch[r]`` (default ``r``) and ``first = page_table_row_starts[r]``.

    Args:
        input: ``(rows, cols)``; bfloat16, float16, float32 (int32 too).
        src_page_table: ``(batch, pages)`` int32; windows end where it does.
        lengths: ``(rows,)`` int32 or int64.
        k: number of positions.
        row_to_batch: ``(rows,)`` int32.
        deterministic: orders results by position; otherwise their order is unstated.
        tie_break: NONE or SMALL.
        dsa_graph_safe: not used: every call can be captured.
        row_starts: ``(rows,)`` int32: the start of each row's window. Default: 0.
        page_table_row_starts: ``(rows,)`` int32, in table entries. Default: ``row_starts``, which
            needs ``page_size=1``.
        page_size: positions per table entry, a power of two up to 2^30.
        out: ``(rows, k)`` int32 to write.
        out_raw_indices: ``(rows, k)`` int32: receives the positions relative to the row's start,
            in the same places, -1 in pads.

    Returns:
        ``(rows, k)`` int32, -1 beyond the row's length; ``out`` where given.

    Raises:
        TypeError: a wrong dtype.
        ValueError: a wrong shape, stride or page size, ``tie_break=LARGE``, or ``row_starts``
            with pages of more than one position and no ``page_table_row_starts``.
    """
    del dsa_graph_safe
    _check_tie_break(tie_break)
    if page_table_row_starts is None:
        if row_starts is not None and page_size != 1:
            raise ValueError(
                "deepselect.compat: page_table_row_starts must be given with row_starts and a "
                f"page_size above 1, got None and page_size {page_size}"
            )
        page_table_row_starts = row_starts
    if out is None:
        out = input.new_empty((input.shape[0], k), dtype=torch.int32)
    deepselect.topk(
        input.detach(),
        k,
        begin=row_starts,
        end=window_end(row_starts, lengths),
        page_table=src_page_table,
        page_table_row=row_to_batch,
        page_table_begin=page_table_row_starts,
        page_size=page_size,
        order="index" if deterministic or tie_break else "any",
        out=(None, out),
        raw_indices=out_raw_indices,
    )
    return out


def top_k_ragged_transform(
    input: Tensor,
    offsets: Tensor,
    lengths: Tensor,
    k: int,
    deterministic: bool = False,
    tie_break: int = TopKTieBreak.NONE,
    dsa_graph_safe: bool = False,
    row_starts: Tensor | None = None,
) -> Tensor:
    """The best positions of every row, plus the row's offset.

    Args:
        input: ``(rows, cols)``; bfloat16, float16, float32 (int32 too).
        offsets, lengths: ``(rows,)`` int32 or int64.
        k: number of positions.
        deterministic: orders results by position; otherwise their order is unstated.
        tie_break: NONE or SMALL.
        dsa_graph_safe: not used: every call can be captured.
        row_starts: ``(rows,)`` int32 or int64: the start of each row's window, to which positions
            are relative. Default: 0.

    Returns:
        ``(rows, k)`` int32, -1 beyond the row's length.

    Raises:
        TypeError: a wrong dtype.
        ValueError: a wrong shape or stride, or ``tie_break=LARGE``.
    """
    del dsa_graph_safe
    _check_tie_break(tie_break)
    return deepselect.topk(
        input.detach(),
        k,
        begin=row_starts,
        end=window_end(row_starts, lengths),
        index_offset=offsets,
        order="index" if deterministic or tie_break else "any",
        return_values=False,
    ).indices


def _check_tie_break(tie_break: int) -> None:
    if tie_break not in (TopKTieBreak.NONE, TopKTieBreak.SMALL):
        raise ValueError(
            "deepselect.compat: tie_break must be NONE (0) or SMALL (1), ties go to the lower "
            f"index, got {tie_break}"
        )
