"""Inputs: from the distributions that the tests use, at any size, made on the device."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import Generator, Tensor

from harness.shapes import MI, Shape

# tests/ is no package: its modules import each other by plain names.
sys.path.append(str(Path(__file__).resolve().parents[3] / "tests"))
from distributions import DISTRIBUTIONS

# As in the peers file's method: up to 8 inputs, 256 MiB in all where the shape allows.
MAX_BUFFERS = 8
ROTATED_BYTES = 256 * MI

# A distribution needs up to some 40 bytes for an element while it works: 5 GiB at this many.
_CHUNK_ITEMS = 2**27


def num_buffers(input_bytes: int) -> int:
    """How many inputs of this size timed calls rotate over."""
    return max(1, min(MAX_BUFFERS, ROTATED_BYTES // max(input_bytes, 1)))


def make_input(shape: Shape, device: torch.device, seed: int) -> Tensor:
    """A contiguous ``(rows, cols)`` input of the shape's distribution, in groups of rows."""
    generator = Generator(device).manual_seed(seed)
    make = DISTRIBUTIONS[shape.distribution]
    x = torch.empty(shape.rows, shape.cols, dtype=shape.torch_dtype, device=device)
    rows_at_once = max(1, _CHUNK_ITEMS // max(shape.cols, 1))
    for first in range(0, shape.rows, rows_at_once):
        rows = x[first : first + rows_at_once]
        rows.copy_(make(rows.shape[0], shape.cols, shape.torch_dtype, generator))
    return x


def make_inputs(shape: Shape, device: torch.device, seed: int = 0) -> list[Tensor]:
    """The inputs that calls on this shape rotate over; fresh for every seed."""
    count = num_buffers(shape.input_bytes)
    return [make_input(shape, device, seed * MAX_BUFFERS + i) for i in range(count)]
