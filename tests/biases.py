"""What a call adds to the scores of columns, and what it returns of them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Generator, Tensor

# bias of every column: float32 (cols,)
BIASES: dict[str, Callable[[int, Generator], Tensor | None]] = {
    "none": lambda cols, g: None,
    "normal": lambda cols, g: torch.randn(cols, generator=g),
    "steps": lambda cols, g: torch.randint(-2, 3, (cols,), generator=g) * 0.25,  # makes ties
    "huge": lambda cols, g: torch.randn(cols, generator=g) * 1e38,
    "infinite": lambda cols, g: torch.tensor([0.0, 0.5, torch.inf, -torch.inf])[
        torch.randint(0, 4, (cols,), generator=g)
    ],
    "some_nans": lambda cols, g: torch.tensor([0.0, -0.5, torch.nan])[
        (torch.rand(cols, generator=g) * 2.02).long()
    ],
}

WEIGHTS = ("none", "softmax", "softmax_selected", "sigmoid", "sigmoid_selected")
