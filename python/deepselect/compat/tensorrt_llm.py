"""TensorRT-LLM's selections of a sparse indexer: ``torch.ops.trtllm.indexer_topk_decode`` and
``torch.ops.trtllm.indexer_topk_prefill``.

Both write int32 indices relative to the row's start, -1 beyond its length, in unstated order.
Signatures: the schemas in ``cpp/tensorrt_llm/thop/IndexerTopKOp.cpp`` of NVIDIA's repository.
Branches add arguments to ``indexer_topk_decode`` that differ from one to the next
(``docs/adapters.md``); they are not taken here.
"""

from __future__ import annotations

from torch import Tensor

from deepselect.compat._rows import decode_ends, packed_rows, select_into


def indexer_topk_decode(
    logits: Tensor, seq_lens: Tensor, indices: Tensor, next_n: int, index_topk: int = 2048
) -> None:
    """Writes the best positions of a decode step with ``next_n`` rows per sequence.

    Args:
        logits: ``(sequences * next_n, cols)``; the original takes float32 only.
        seq_lens: ``(sequences,)`` int32 or int64: row ``j`` of a sequence ends at
            ``length - next_n + j + 1``, clamped to ``[0, cols]``.
        indices: int32, contiguous, at least ``rows * index_topk`` items: row ``r`` is written at
            item ``r * index_topk``.
        next_n: rows per sequence.
        index_topk: k.

    Raises:
        TypeError: a wrong dtype.
        ValueError: a wrong shape, stride or device.
    """
    select_into(
        packed_rows(indices, logits.shape[0], index_topk, "indices"),
        logits,
        end=decode_ends(seq_lens, next_n),
    )


def indexer_topk_prefill(
    logits: Tensor,
    row_starts: Tensor,
    row_ends: Tensor,
    indices: Tensor,
    index_topk: int = 2048,
) -> None:
    """Writes the best positions of rows with a window each.

    Args:
        logits: ``(rows, cols)``; the original takes float32 only.
        row_starts, row_ends: ``(rows,)`` int32 or int64: the window of each row, clamped to the
            row; indices are relative to the start.
        indices: int32, contiguous, at least ``rows * index_topk`` items: row ``r`` is written at
            item ``r * index_topk``.
        index_topk: k.

    Raises:
        TypeError: a wrong dtype.
        ValueError: a wrong shape, stride or device.
    """
    select_into(
        packed_rows(indices, logits.shape[0], index_topk, "indices"),
        logits,
        begin=row_starts,
        end=row_ends,
    )
