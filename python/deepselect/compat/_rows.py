"""What the adapters share: windows from lengths, and the layouts that kernels of others assume."""

from __future__ import annotations

import torch
from torch import Tensor

import deepselect


def window_end(begin: Tensor | None, lengths: Tensor) -> Tensor:
    """The end of windows of ``lengths`` that start at ``begin``, or at 0."""
    return lengths if begin is None else begin + lengths


def decode_ends(seq_lens: Tensor, next_n: int) -> Tensor:
    """The end of each row of a decode step that scores ``next_n`` tokens per sequence.

    Args:
        seq_lens: ``(sequences,)``, the length with all ``next_n`` tokens: the row of token ``j``
            ends at ``length - next_n + j + 1``; or ``(sequences, next_n)``, the end of each row.
        next_n: rows per sequence.

    Returns:
        ``(sequences * next_n,)``, of seq_lens' dtype. May be negative: an empty row.
    """
    if seq_lens.dim() == 2 or next_n == 1:
        return seq_lens.reshape(-1)
    offsets = torch.arange(1 - next_n, 1, dtype=seq_lens.dtype, device=seq_lens.device)
    return (seq_lens[:, None] + offsets).reshape(-1)


def packed_rows(out: Tensor, num_rows: int, k: int, name: str) -> Tensor:
    """``(num_rows, k)`` over the first items of ``out``, which the originals write without gaps.

    Raises:
        ValueError: ``out`` is not contiguous, or too small.
    """
    if not out.is_contiguous() or out.numel() < num_rows * k:
        raise ValueError(
            f"deepselect.compat: {name} must be contiguous and hold at least {num_rows} x {k} "
            f"items, got shape {tuple(out.shape)} with strides {out.stride()}"
        )
    return out.view(-1)[: num_rows * k].view(num_rows, k)


def select_into(
    indices: Tensor,
    scores: Tensor,
    *,
    begin: Tensor | None = None,
    end: Tensor | None = None,
) -> None:
    """Writes each row's best positions, relative to ``begin``, -1 beyond the window's length.

    Args:
        indices: ``(rows, k)``, int32.
        scores: ``(rows, cols)``; copied where its last stride is not 1.
        begin, end: ``(rows,)`` int32 or int64.
    """
    if scores.stride(-1) != 1:
        scores = scores.contiguous()
    deepselect.topk(scores.detach(), indices.shape[-1], begin=begin, end=end, out=(None, indices))
