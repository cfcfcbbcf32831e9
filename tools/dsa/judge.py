"""How good a selection is: the share of full attention's mass that it holds."""

from __future__ import annotations

import torch
from torch import Tensor

from dsa.attention import captured_mass, full_attention, query_chunks
from dsa.timing import Stopwatch

INDEXER = "lightning indexer"
BEST = "best possible"
WINDOW = "sliding window"
RANDOM = "random"


def judge(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    end: Tensor,
    indices: Tensor,
    *,
    seed: int,
    watch: Stopwatch,
) -> tuple[dict[str, Tensor], Tensor]:
    """Runs full attention and weighs the indexer's selection against others of the same size.

    Args:
        queries: Shape (T, H, D).
        keys, values: Shape (S, D).
        end: Causal lengths, ascending, shape (T,).
        indices: The indexer's selection, shape (T, k).
        seed: Seed of the random selection.
        watch: Records "full attention".

    Returns:
        Recall of each selection, shape (T,) each, and the outputs of full attention (T, H, D).
    """
    k = indices.shape[1]
    selections = {
        INDEXER: indices,
        WINDOW: sliding_window(end, k),
        RANDOM: random_positions(end, k, seed=seed),
    }
    recalls = {name: torch.empty(len(end), device=end.device) for name in (BEST, *selections)}
    outputs = torch.empty_like(queries)
    for rows in query_chunks(len(queries), "full attention"):
        longest = int(end[rows][-1])
        with watch.stage("full attention"):
            outputs[rows], mass = full_attention(
                queries[rows], keys[:longest], values[:longest], end[rows]
            )
        for name, selected in selections.items():
            recalls[name][rows] = captured_mass(mass, selected[rows])
        best, _ = torch.ops.deepselect.topk(mass, k, end=end[rows], pad_value=0.0)
        recalls[BEST][rows] = best.sum(dim=1)
    return recalls, outputs


def sliding_window(end: Tensor, k: int) -> Tensor:
    """The last k positions of each row, padded with -1: int64, shape (T, k)."""
    return (end.long()[:, None] - 1 - torch.arange(k, device=end.device)).clamp_(min=-1)


def random_positions(end: Tensor, k: int, *, seed: int) -> Tensor:
    """One random position in each of k equal parts of the row, padded with -1: int64, (T, k)."""
    generator = torch.Generator().manual_seed(seed)
    parts = torch.arange(k) + torch.rand(len(end), k, generator=generator, dtype=torch.float64)
    lengths = end.long()[:, None]
    drawn = (parts.to(end.device) * (lengths / k)).long().minimum(lengths - 1)
    everything = torch.arange(k, device=end.device)
    return torch.where(lengths > k, drawn, torch.where(everything < lengths, everything, -1))
