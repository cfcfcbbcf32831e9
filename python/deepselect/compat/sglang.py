"""SGLang's selections of a sparse indexer: ``fast_topk_v2``, ``fast_topk_transform_fused`` and
``fast_topk_transform_ragged_fused`` of ``sgl_kernel``; ``topk_transform_paged_v2``, earlier
``topk_transform_512_v2``, its ``plan_topk_v2``, and ``topk_transform_ragged_v2`` of
``sglang.kernels.ops.attention.dsv4``, earlier ``sglang.jit_kernel.dsv4``.

All give int32, -1 beyond a row's length, in unstated order. Any ``k`` is served; the originals
take 2048 (``fast_topk_*``) or up to 2048, and float32 only. Signatures: SGLang 0.5.23.
"""

from __future__ import annotations

import torch
from torch import Tensor

import deepselect
from deepselect.compat._rows import select_into, window_end


def fast_topk_v2(
    score: Tensor, lengths: Tensor, topk: int, row_starts: Tensor | None = None
) -> Tensor:
    """The best positions of every row.

    Args:
        score: ``(rows, cols)``.
        lengths: ``(rows,)`` int32 or int64.
        topk: k.
        row_starts: ``(rows,)`` int32 or int64: row ``i`` selects from
            ``[row_starts[i], row_starts[i] + lengths[i])``, clamped to the row. Default: 0.

    Returns:
        ``(rows, topk)`` int32, relative to the row's start.

    Raises:
        TypeError: a wrong dtype.
        ValueError: a wrong shape, stride or device.
    """
    indices = score.new_empty((score.shape[0], topk), dtype=torch.int32)
    select_into(indices, score, begin=row_starts, end=window_end(row_starts, lengths))
    return indices


def fast_topk_transform_fused(
    score: Tensor,
    lengths: Tensor,
    page_table_size_1: Tensor,
    cu_seqlens_q: Tensor,
    topk: int,
    row_starts: Tensor | None = None,
) -> Tensor:
    """The best positions of every row, looked up in a page table with one item per page.

    Args:
        score: ``(rows, cols)``.
        lengths: ``(rows,)`` int32 or int64.
        page_table_size_1: ``(sequences, positions)`` int32; windows end where it does.
        cu_seqlens_q: ``(sequences + 1,)`` int32 or int64: row ``i`` reads the table of the
            sequence ``s`` with ``cu_seqlens_q[s] <= i < cu_seqlens_q[s + 1]``. Not read where
            there are as many sequences as rows and no ``row_starts``: row ``i`` is sequence ``i``.
        topk: k.
        row_starts: ``(rows,)`` int32 or int64: the start of each row's window. Positions are
            looked up relative to it. Default: 0.

    Returns:
        ``(rows, topk)`` int32: table entries.

    Raises:
        TypeError: a wrong dtype.
        ValueError: a wrong shape, stride or device.
    """
    num_rows, num_sequences = score.shape[0], cu_seqlens_q.shape[0] - 1
    sequence: Tensor | None = None
    if row_starts is not None or num_sequences != num_rows:
        row = torch.arange(num_rows, dtype=cu_seqlens_q.dtype, device=cu_seqlens_q.device)
        # A row of no sequence falls to -1 or num_sequences, which is no row of the table: padded.
        sequence = torch.searchsorted(cu_seqlens_q, row, right=True, out_int32=True) - 1
    return deepselect.topk(
        score.detach(),
        topk,
        begin=row_starts,
        end=window_end(row_starts, lengths),
        page_table=page_table_size_1,
        page_table_row=sequence,
        return_values=False,
    ).indices


def fast_topk_transform_ragged_fused(
    score: Tensor,
    lengths: Tensor,
    topk_indices_offset: Tensor,
    topk: int,
    row_starts: Tensor | None = None,
) -> Tensor:
    """The best positions of every row, plus the row's offset.

    Args:
        score: ``(rows, cols)``.
        lengths: ``(rows,)`` int32 or int64.
        topk_indices_offset: ``(rows,)`` int32 or int64.
        topk: k.
        row_starts: ``(rows,)`` int32 or int64: the start of each row's window, to which positions
            are relative. Default: 0.

    Returns:
        ``(rows, topk)`` int32.

    Raises:
        TypeError: a wrong dtype.
        ValueError: a wrong shape, stride or device.
    """
    return deepselect.topk(
        score.detach(),
        topk,
        begin=row_starts,
        end=window_end(row_starts, lengths),
        index_offset=topk_indices_offset,
        return_values=False,
    ).indices


def plan_topk_v2(
    seq_lens: Tensor, static_threshold: int = -1, *, out: Tensor | None = None
) -> Tensor:
    """What callers pass on to :func:`topk_transform_paged_v2`; holds nothing.

    Args:
        seq_lens: ``(batch,)`` int32.
        static_threshold: not used.
        out: returned as it is, where given.

    Returns:
        ``(batch + 1, 2)`` of seq_lens' dtype, as the original's plan.
    """
    del static_threshold
    return seq_lens.new_zeros((seq_lens.shape[0] + 1, 2)) if out is None else out


def topk_transform_paged_v2(
    scores: Tensor,
    seq_lens: Tensor,
    page_tables: Tensor | None,
    out_page_indices: Tensor,
    page_size: int,
    metadata: Tensor,
    out_raw_indices: Tensor | None = None,
) -> None:
    """Writes the best positions of every row, mapped through its page table.

    Args:
        scores: ``(batch, cols)``.
        seq_lens: ``(batch,)`` int32 or int64; a negative length, which the original must not be
            given, is 0.
        page_tables: ``(batch, pages)`` int32: position ``i`` becomes
            ``page_tables[row, i // page_size] * page_size + i % page_size``; windows end where the
            table does. None writes positions.
        out_page_indices: ``(batch, k)`` int32, written; its width is k.
        page_size: a power of two.
        metadata: not used.
        out_raw_indices: ``(batch, k)`` int32: receives the positions, in the same places.

    Raises:
        TypeError: a wrong dtype.
        ValueError: a wrong shape, stride or device.
    """
    del metadata
    deepselect.topk(
        scores.detach(),
        out_page_indices.shape[-1],
        end=seq_lens,
        page_table=page_tables,
        page_size=1 if page_tables is None else page_size,
        out=(None, out_page_indices),
        raw_indices=out_raw_indices,
    )


topk_transform_512_v2 = topk_transform_paged_v2


def topk_transform_ragged_v2(
    scores: Tensor,
    seq_lens: Tensor,
    *,
    out_offsets: Tensor,
    out_indices: Tensor,
    row_starts: Tensor | None = None,
) -> None:
    """Writes the best positions of every row, plus the row's offset.

    Args:
        scores: ``(rows, cols)``; not written to, as the original may.
        seq_lens: ``(rows,)`` int32 or int64.
        out_offsets: ``(rows,)`` int32 or int64.
        out_indices: ``(rows, k)`` int32, written; its width is k.
        row_starts: ``(rows,)`` int32 or int64: the start of each row's window, to which positions
            are relative. Default: 0.

    Raises:
        TypeError: a wrong dtype.
        ValueError: a wrong shape, stride or device.
    """
    deepselect.topk(
        scores.detach(),
        out_indices.shape[-1],
        begin=row_starts,
        end=window_end(row_starts, seq_lens),
        index_offset=out_offsets,
        out=(None, out_indices),
    )
