"""The top-k of the demo: ``torch.ops.deepselect.topk`` raced and checked against ``torch.topk``."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from dsa.timing import Stopwatch

_ROUNDS = 5


@dataclass(frozen=True)
class Selection:
    """What was selected, and what ``torch.topk`` made of the same scores.

    Attributes:
        values, indices: Best first, padded with -inf and -1 where a row is shorter than k:
            bf16 and int64, shape (queries, k).
        values_match: Whether ``torch.topk`` gives the same values, bit for bit.
        indices_hold: Whether every index is below its row's end, unique in its row, and points at
            its value.
        rows_torch_differs: Rows in which ``torch.topk`` took other positions of equal score.
        tied: Positions of each row whose score equals the last selected one, shape (queries,).
        tied_selected: How many of them are in the selection, shape (queries,).
    """

    values: Tensor
    indices: Tensor
    values_match: bool
    indices_hold: bool
    rows_torch_differs: int
    tied: Tensor
    tied_selected: Tensor

    @property
    def threshold(self) -> Tensor:
        """Lowest selected score of each row: fp32, shape (queries,)."""
        return _lowest(self.values).float()


def select(scores: Tensor, end: Tensor, k: int, watch: Stopwatch) -> Selection:
    """Selects the k best of scores[t, :end[t]] in every row.

    ``torch.topk`` knows no row lengths, so it gets a copy with -inf from ``end`` on, as is usual.
    """
    future = torch.arange(scores.shape[1], device=end.device) >= end[:, None]
    masked = scores.masked_fill(future, -torch.inf)
    runners = {
        "deepselect.topk": lambda: torch.ops.deepselect.topk(
            scores, k, end=end, index_dtype=torch.int64
        ),
        "torch.topk": lambda: torch.topk(masked, k, sorted=False),
        "masking for torch.topk": lambda: scores.masked_fill(future, -torch.inf),
    }
    watch.race(runners, rounds=_ROUNDS)

    values, indices = torch.ops.deepselect.topk(
        scores, k, end=end, index_dtype=torch.int64, order="value"
    )
    torch_values, torch_indices = torch.topk(masked, k)
    torch_indices = torch_indices.where(torch_values > -torch.inf, -1)
    lowest = _lowest(values)[:, None]
    return Selection(
        values=values,
        indices=indices,
        values_match=torch.equal(values.view(torch.int16), torch_values.view(torch.int16)),
        indices_hold=_indices_hold(scores, end, values, indices),
        rows_torch_differs=int((_sorted(indices) != _sorted(torch_indices)).any(dim=1).sum()),
        tied=(masked == lowest).sum(dim=1),
        tied_selected=(values == lowest).sum(dim=1),
    )


def _indices_hold(scores: Tensor, end: Tensor, values: Tensor, indices: Tensor) -> bool:
    ascending = _sorted(indices)
    is_pad = ascending < 0
    num_valid = (~is_pad).sum(dim=1)
    unique = (ascending[:, 1:] > ascending[:, :-1]) | is_pad[:, :-1]
    found = scores.gather(1, indices.clamp(min=0)).masked_fill_(indices < 0, -torch.inf)
    return bool(
        unique.all()
        and (indices < end[:, None]).all()
        and torch.equal(num_valid, end.long().clamp(max=indices.shape[1]))
        and torch.equal(found.view(torch.int16), values.view(torch.int16))
    )


def _sorted(indices: Tensor) -> Tensor:
    return indices.sort(dim=1).values


def _lowest(values: Tensor) -> Tensor:
    """Last selected value of each row of values, best first with -inf as pads."""
    num_valid = (values > -torch.inf).sum(dim=1, keepdim=True)
    return values.gather(1, num_valid - 1).squeeze(1)
