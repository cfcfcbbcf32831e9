"""vLLM's selections of a sparse indexer: ``torch.ops._C.persistent_topk``,
``torch.ops._C.cooperative_topk`` and, from ``vllm._custom_ops``, ``top_k_per_row_decode`` and
``top_k_per_row_prefill``.

All write int32 indices relative to the row's start, -1 beyond its length, in unstated order.
Signatures: vLLM's ``csrc/libtorch_stable/torch_bindings.cpp`` and ``vllm/_custom_ops.py`` of 2026.
"""

from __future__ import annotations

from torch import Tensor

from deepselect.compat._rows import decode_ends, packed_rows, select_into


def persistent_topk(
    logits: Tensor, lengths: Tensor, output: Tensor, workspace: Tensor, k: int, max_seq_len: int
) -> None:
    """Writes the ``k`` best positions of every row within its length.

    Args:
        logits: ``(rows, cols)``; the original takes float32 only.
        lengths: ``(rows,)``, or any shape of ``rows`` items; int32 or int64; clamped to
            ``[0, cols]``.
        output: ``(rows, k)`` int32, written.
        workspace: not used.
        k: any; the original takes 512, 1024 or 2048.
        max_seq_len: not used; lengths beyond it are served too.

    Raises:
        TypeError: a wrong dtype.
        ValueError: a wrong shape, stride or device.
    """
    del workspace, max_seq_len
    if output.shape[-1] != k:
        raise ValueError(
            f"deepselect.compat: output must have k = {k} columns, got {tuple(output.shape)}"
        )
    select_into(output, logits, end=lengths.reshape(-1))


def cooperative_topk(
    logits: Tensor, lengths: Tensor, output: Tensor, workspace: Tensor, k: int, max_seq_len: int
) -> None:
    """As :func:`persistent_topk`; the original serves up to 32 rows and aligned strides only."""
    persistent_topk(logits, lengths, output, workspace, k, max_seq_len)


def top_k_per_row_decode(
    logits: Tensor,
    next_n: int,
    seq_lens: Tensor,
    raw_topk_indices: Tensor,
    num_rows: int,
    stride0: int,
    stride1: int,
    topk_tokens: int,
) -> None:
    """Writes the best positions of a decode step with ``next_n`` rows per sequence.

    Args:
        logits: ``(>= num_rows, cols)``; the original takes float32 only.
        next_n: rows per sequence; row ``b * next_n + j`` is token ``j`` of sequence ``b``.
        seq_lens: int32 or int64, ``(sequences,)``: row ``j`` of a sequence ends at
            ``length - next_n + j + 1``; or ``(sequences, next_n)``: the end of each row. Clamped
            to ``[0, cols]``.
        raw_topk_indices: int32, contiguous, at least ``num_rows * topk_tokens`` items: row ``r``
            is written at item ``r * topk_tokens``.
        num_rows: rows to select from.
        stride0, stride1: the strides of ``logits`` in items.
        topk_tokens: k.

    Raises:
        TypeError: a wrong dtype.
        ValueError: a wrong shape, stride or device.
    """
    select_into(
        packed_rows(raw_topk_indices, num_rows, topk_tokens, "raw_topk_indices"),
        logits.as_strided((num_rows, logits.shape[-1]), (stride0, stride1)),
        end=decode_ends(seq_lens, next_n)[:num_rows],
    )


def top_k_per_row_prefill(
    logits: Tensor,
    cu_seqlen_ks: Tensor,
    cu_seqlen_ke: Tensor,
    raw_topk_indices: Tensor,
    num_rows: int,
    stride0: int,
    stride1: int,
    topk_tokens: int,
) -> None:
    """Writes the best positions of rows with a window each.

    Args:
        logits: ``(>= num_rows, cols)``; the original takes float32 only.
        cu_seqlen_ks, cu_seqlen_ke: ``(>= num_rows,)`` int32 or int64: the window
            ``[start, end)`` of each row, clamped to the row; indices are relative to the start.
        raw_topk_indices: int32, contiguous, at least ``num_rows * topk_tokens`` items: row ``r``
            is written at item ``r * topk_tokens``.
        num_rows: rows to select from.
        stride0, stride1: the strides of ``logits`` in items.
        topk_tokens: k.

    Raises:
        TypeError: a wrong dtype.
        ValueError: a wrong shape, stride or device.
    """
    select_into(
        packed_rows(raw_topk_indices, num_rows, topk_tokens, "raw_topk_indices"),
        logits.as_strided((num_rows, logits.shape[-1]), (stride0, stride1)),
        begin=cu_seqlen_ks[:num_rows],
        end=cu_seqlen_ke[:num_rows],
    )
