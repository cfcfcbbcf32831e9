"""Helpers of the tests whose answers are written out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

import deepselect
from conftest import Engine
from deepselect.testing import bits_type

INF, NAN = math.inf, math.nan
BF16, FP16, FP32, INT32 = torch.bfloat16, torch.float16, torch.float32, torch.int32
MIN_INT32, MAX_INT32 = -(2**31), 2**31 - 1
MIN_INT64, MAX_INT64 = -(2**63), 2**63 - 1

QUIET_NAN = {BF16: 0x7FC0, FP16: 0x7E00, FP32: 0x7FC00000}


def rows(engine: Engine, data: Sequence[Any], dtype: torch.dtype) -> Tensor:
    """A tensor of this nested list, rows aligned for every backend."""
    source = torch.tensor(data, dtype=dtype)
    x = deepselect.empty_rows(source.shape, dtype, engine.device)
    return x.copy_(source)


def bit_rows(engine: Engine, patterns: Sequence[Sequence[int]], dtype: torch.dtype) -> Tensor:
    """A tensor of these bit patterns, written as unsigned numbers."""
    width = 8 * dtype.itemsize
    signed = [[p - (1 << width) * (p >> (width - 1)) for p in row] for row in patterns]
    x = rows(engine, signed, bits_type(dtype))
    return x.view(dtype)


def vector(engine: Engine, data: Sequence[int], dtype: torch.dtype = INT32) -> Tensor:
    return torch.tensor(data, dtype=dtype, device=engine.device)


def patterns(x: Tensor) -> list[Any]:
    """Bits as unsigned numbers."""
    mask = (1 << (8 * x.dtype.itemsize)) - 1
    return (x.cpu().view(bits_type(x.dtype)).long() & mask).tolist()


def indices_of(engine: Engine, x: Tensor, k: int, **arguments: Any) -> list[Any]:
    arguments.setdefault("order", "value")
    return engine.topk(x, k, **arguments)[1].tolist()


def values_of(engine: Engine, x: Tensor, k: int, **arguments: Any) -> list[Any]:
    arguments.setdefault("order", "value")
    values = engine.topk(x, k, **arguments)[0]
    assert values is not None
    return values.tolist()
