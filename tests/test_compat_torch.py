"""``deepselect.compat.torch.topk`` against ``torch.topk`` itself, and against a stable sort."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from deepselect import testing
from deepselect.compat import torch as compat
from inputs import make_x

DTYPES = [torch.bfloat16, torch.float16, torch.float32, torch.int32]


def distinct(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """No two equal: torch.topk's answer is unique. Exact in every dtype up to 256 items."""
    count = torch.Size(shape).numel()
    generator = torch.Generator().manual_seed(count)
    values = torch.randperm(count, generator=generator) - count // 2
    return values.view(shape).to(device, dtype)


def assert_same(actual: Any, expected: Any) -> None:
    assert type(actual) is type(expected) is torch.return_types.topk
    for name in ("values", "indices"):
        one, other = getattr(actual, name), getattr(expected, name)
        testing.assert_same_bits(one, other, name)
        assert (one.is_contiguous(), other.is_contiguous()) == (True, True), name


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dim", [-1, -2, -3, 0, 1, 2])
def test_every_dimension(dtype: torch.dtype, largest: bool, dim: int, device: torch.device) -> None:
    x = distinct((5, 6, 7), dtype, device)
    for k in (0, 1, 3, 5):
        assert_same(compat.topk(x, k, dim, largest), torch.topk(x, k, dim, largest))


@pytest.mark.parametrize("shape", [(9,), (3, 0), (0, 4), (2, 1, 3, 4)])
def test_shapes(shape: tuple[int, ...], device: torch.device) -> None:
    x = distinct(shape, torch.float32, device)
    for k in range(min(shape[-1], 3) + 1):
        assert_same(compat.topk(x, k), torch.topk(x, k))


@pytest.mark.parametrize("k", [0, 1])
def test_scalar(k: int, device: torch.device) -> None:
    x = torch.tensor(2.5, device=device)
    expected = x.cpu()  # on CUDA, torch 2.11 leaves the value unwritten for k = 0
    assert_same(compat.topk(x, k), torch.topk(expected, k))
    assert_same(compat.topk(x, k, 0, False), torch.topk(expected, k, 0, False))


VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "transposed": lambda x: x.transpose(0, 2),
    "step": lambda x: x[:, ::2, 1::2],
    "expanded": lambda x: x[:1].expand(4, 6, 7),
    "slice": lambda x: x[:, 1:4, 2:],
    "negated": lambda x: torch._neg_view(x),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dim", [-1, 0, 1])
def test_views(view: str, dim: int, device: torch.device) -> None:
    if view == "expanded" and dim == 0:
        pytest.skip("equal values: torch leaves open which it selects")
    x = VIEWS[view](distinct((5, 6, 7), torch.float32, device))
    assert_same(compat.topk(x, 2, dim), torch.topk(x, 2, dim))


@pytest.mark.parametrize("largest", [True, False])
def test_ties_go_to_the_lower_index(largest: bool, device: torch.device) -> None:
    x = make_x(4, 50, device=device)
    expected = x.sort(dim=1, descending=largest, stable=True)
    values, indices = compat.topk(x, 30, largest=largest)
    assert torch.equal(values, expected.values[:, :30])
    assert torch.equal(indices, expected.indices[:, :30])


@pytest.mark.parametrize("largest", [True, False])
def test_nan_is_the_greatest(largest: bool, device: torch.device) -> None:
    x = distinct((3, 9), torch.float32, device)
    x[:, 4] = float("nan")
    assert_same(compat.topk(x, 9, largest=largest), torch.topk(x, 9, largest=largest))


def test_unsorted_is_the_same_selection(device: torch.device) -> None:
    x = distinct((4, 50), torch.float32, device)
    values, indices = compat.topk(x, 20, sorted=False)
    expected = torch.topk(x, 20, sorted=False).indices
    assert torch.equal(values, x.gather(1, indices))
    assert torch.equal(indices.sort(dim=1).values, expected.sort(dim=1).values)


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("resized", [False, True])
def test_out(dim: int, resized: bool, device: torch.device) -> None:
    x = distinct((5, 6), torch.bfloat16, device)
    expected = torch.topk(x, 3, dim)
    shape = (0,) if resized else expected.values.shape
    out = (
        torch.empty(shape, dtype=x.dtype, device=device),
        torch.empty(shape, dtype=torch.int64, device=device),
    )
    result = compat.topk(x, 3, dim, out=out)
    assert result.values is out[0]
    assert result.indices is out[1]
    assert_same(result, expected)


def test_out_of_other_dtypes_is_refused() -> None:
    x = make_x()
    for value_dtype, index_dtype in ((torch.float64, torch.int64), (torch.float32, torch.int32)):
        out = (torch.empty(4, 3, dtype=value_dtype), torch.empty(4, 3, dtype=index_dtype))
        for topk in (torch.topk, compat.topk):
            with pytest.raises(RuntimeError, match="dtype"):
                topk(x, 3, out=out)


def test_out_has_no_gradient() -> None:
    x = make_x().requires_grad_()
    out = (torch.empty(4, 3), torch.empty(4, 3, dtype=torch.int64))
    for topk in (torch.topk, compat.topk):
        with pytest.raises(RuntimeError, match="require"):
            topk(x, 3, out=out)
        with torch.no_grad():
            topk(x, 3, out=out)


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_gradient(dim: int, device: torch.device) -> None:
    gradients = []
    for topk in (torch.topk, compat.topk):
        x = distinct((5, 6, 7), torch.float32, device).requires_grad_()
        values, _ = topk(x, 4, dim)
        weight = torch.arange(values.numel(), device=device).view(values.shape).float()
        (values * weight).sum().backward()
        gradients.append(x.grad)
    testing.assert_same_bits(*gradients)


def test_errors_are_of_the_same_class() -> None:
    x = make_x(3, 5)
    calls: list[tuple[type[Exception], Callable[[Any], Any]]] = [
        (RuntimeError, lambda topk: topk(x, 6)),
        (RuntimeError, lambda topk: topk(x, -1)),
        (RuntimeError, lambda topk: topk(x[0, 0], 2)),
        (IndexError, lambda topk: topk(x, 1, 2)),
        (IndexError, lambda topk: topk(x, 1, -3)),
        (TypeError, lambda topk: topk(x)),
    ]
    for (error, call), topk in itertools.product(calls, (torch.topk, compat.topk)):
        with pytest.raises(error):
            call(topk)


def test_other_dtypes_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match="input must have one of the dtypes"):
        compat.topk(make_x().double(), 3)


@pytest.mark.parametrize("dim", [0, 1])
def test_compiled_whole(dim: int) -> None:
    compiled = torch.compile(
        lambda x: tuple(compat.topk(x * 2, 3, dim)), fullgraph=True, backend="aot_eager"
    )
    x = distinct((5, 6), torch.float32, torch.device("cpu"))
    for one, other in zip(compiled(x), torch.topk(x * 2, 3, dim), strict=True):
        testing.assert_same_bits(one, other)
