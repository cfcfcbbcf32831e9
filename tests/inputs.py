"""Small inputs for tests that are not about what is selected."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def make_x(
    rows: int = 4,
    cols: int = 50,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> Tensor:
    generator = torch.Generator().manual_seed(rows * cols)
    return torch.randint(0, 40, (rows, cols), generator=generator).to(device, dtype)


def windows(rows: int = 4) -> dict[str, Tensor]:
    return {
        "begin": torch.arange(rows, dtype=torch.int32) * 3 - 2,
        "end": torch.arange(rows) * 9 + 5,
    }


def moved(call: dict[str, Any], device: torch.device | str) -> dict[str, Any]:
    """The same arguments, tensors on `device`."""
    return {n: a.to(device) if isinstance(a, Tensor) else a for n, a in call.items()}
