"""The CUDA backend's variants, for tests of what only a device can show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import Tensor

import deepselect
from deepselect import _load, testing
from inputs import moved


def why_no_device() -> str | None:
    """Why nothing here can run, None where it can."""
    if "cuda" in _load.absent:
        return _load.absent["cuda"]
    return None if torch.cuda.is_available() else "no CUDA device"


needs_cuda = pytest.mark.skipif(why_no_device() is not None, reason=why_no_device() or "")


@dataclass(frozen=True)
class Variant:
    """A forced variant, or the backend's choice."""

    name: str
    _topk: Callable[..., deepselect.TopK] = field(repr=False)

    def topk(self, x: Tensor, k: int, **arguments: Any) -> deepselect.TopK | None:
        """None where the variant is not made for the call."""
        try:
            return self._topk(x, k, **arguments)
        except RuntimeError as error:
            if self.name != "chosen" and "cannot serve this call" in str(error):
                return None
            raise


VARIANTS = tuple(
    Variant(name or "chosen", testing.topk_of_variant("cuda", name))
    for name in testing.variants("cuda")
)

each_variant = pytest.mark.parametrize("forced", VARIANTS, ids=[v.name for v in VARIANTS])


@dataclass(frozen=True)
class Shape:
    rows: int
    cols: int
    k: int


# Every variant is made for at least one of them.
SHAPES = (
    Shape(300, 256, 8),
    Shape(64, 2000, 100),
    Shape(8, 70_000, 512),
    Shape(4, 20_000, 5000),
)


def served(forced: Variant, shapes: Sequence[Shape] = SHAPES) -> Iterator[Shape]:
    """The shapes that the variant is made for, its kernels loaded.

    Raises:
        AssertionError: there is none, so that the test would show nothing.
    """
    num_served = 0
    for shape in shapes:
        x = torch.zeros(shape.rows, shape.cols, device="cuda")
        if forced.topk(x, shape.k) is None:
            continue
        num_served += 1
        yield shape
    assert num_served > 0, f"{forced.name} serves none of {shapes}"


def on_cpu(x: Tensor, k: int, **arguments: Any) -> deepselect.TopK:
    """The CPU backend's answer, which the other tests hold to the reference."""
    return deepselect.topk(x.cpu(), k, **moved(arguments, "cpu"))


def assert_same(
    actual: deepselect.TopK | None, expected: deepselect.TopK, about: object = ""
) -> None:
    """Every bit of values and indices, which must be in a stated order."""
    assert actual is not None
    assert actual.values is not None
    assert expected.values is not None
    testing.assert_same_bits(actual.indices, expected.indices, f"indices {about}")
    testing.assert_same_bits(actual.values, expected.values, f"values {about}")
