"""The gradient of weights, against the formulas of docs/contract.md in float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import deepselect
from biases import WEIGHTS
from deepselect import reference
from inputs import moved, windows

KINDS = [kind for kind in WEIGHTS if kind != "none"]
ROWS, COLS = 4, 50


def scores(dtype: torch.dtype = torch.float32) -> Tensor:
    generator = torch.Generator().manual_seed(5)
    return (torch.randn(ROWS, COLS, generator=generator) * 2).to(dtype)


def stated(x: Tensor, k: int, kind: str, call: dict[str, Any]) -> Tensor:
    """The weights of `x`, float64, in plain torch: what is selected is taken as given."""
    call = moved(call, "cpu")
    chosen = reference.select(x.detach().float(), k, weights=kind, **call)
    begin = call.get("begin", torch.zeros(ROWS)).long().clamp(0, COLS)[:, None]
    end = call.get("end", torch.full((ROWS,), COLS)).long()[:, None]
    column = torch.arange(COLS)
    inside = (begin <= column) & (column < end)
    valid = torch.arange(k) < chosen.num_valid[:, None]
    picked = x.gather(1, (chosen.raw_indices.long() + begin).where(valid, 0))
    terms = picked.sigmoid() if kind.startswith("sigmoid") else picked.exp()
    if kind == "sigmoid":
        total = torch.ones(ROWS, 1)
    elif kind == "softmax":
        total = (x.exp() * inside).sum(1, keepdim=True)
    else:
        total = (terms * valid).sum(1, keepdim=True)
    return torch.where(valid, terms / torch.where(total == 0, 1, total), 0)


CALLS: list[dict[str, Any]] = [
    {},
    {"largest": False},
    {"bias": torch.linspace(-2, 2, COLS)},
    windows(),
    {"end": torch.tensor([0, -3, 2, 500])},
    {"index_offset": torch.tensor([5, -5, 2**31 - 3, -(2**31)]), **windows()},
    {"bias": torch.linspace(-2, 2, COLS), "nan": "poison", **windows()},
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("call", CALLS)
def test_gradient_is_that_of_the_formula(
    call: dict[str, Any], kind: str, device: torch.device
) -> None:
    call = {"order": "value", **call}
    for k in (1, 6, 50, 60):
        x = scores().to(device).requires_grad_()
        weights, _ = deepselect.topk(x, k, weights=kind, **moved(call, device))  # type: ignore[arg-type]
        assert weights is not None
        gradient = torch.linspace(-1, 2, weights.numel()).view_as(weights)
        (got,) = torch.autograd.grad(weights, x, gradient.to(device))
        exact = scores().double().requires_grad_()
        (wanted,) = torch.autograd.grad(stated(exact, k, kind, call), exact, gradient.double())
        torch.testing.assert_close(got.cpu().double(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_gradient_has_the_dtype_of_input(dtype: torch.dtype, kind: str) -> None:
    x = scores(dtype).requires_grad_()
    weights, _ = deepselect.topk(x, 6, weights=kind, order="value")  # type: ignore[arg-type]
    assert weights is not None
    gradient = torch.linspace(-1, 2, 24).view(4, 6)
    (got,) = torch.autograd.grad(weights, x, gradient)
    exact = scores(dtype).double().requires_grad_()
    wanted = stated(exact, 6, kind, {"order": "value"})
    (wanted,) = torch.autograd.grad(wanted, exact, gradient.double())
    torch.testing.assert_close(got, wanted.to(dtype), rtol=2**-7, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_gradcheck_to_second_order(kind: str) -> None:
    """The op takes no float64, so its input is cut from float64 inside: a wide step."""
    x = torch.stack([torch.randperm(8, generator=torch.Generator().manual_seed(s)) for s in (1, 2)])
    x = (x / 2).double().requires_grad_()

    def weigh(x: Tensor) -> Tensor:
        begin = torch.tensor([0, 2])
        weights, _ = deepselect.topk(x.float(), 3, begin=begin, weights=kind, order="value")  # type: ignore[arg-type]
        assert weights is not None
        return weights.double()

    assert torch.autograd.gradcheck(weigh, x, eps=2.0**-7, atol=1e-3)
    assert torch.autograd.gradgradcheck(weigh, x, eps=2.0**-7, atol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_poisoned_rows_get_no_gradient(kind: str) -> None:
    x = scores()
    x[1, 7] = float("nan")
    x[2] = float("inf")  # NaN weights under softmax, and not poisoned
    x.requires_grad_()
    weights, _ = deepselect.topk(x, 6, weights=kind, nan="poison", order="value")  # type: ignore[arg-type]
    assert weights is not None
    (got,) = torch.autograd.grad(weights, x, torch.ones_like(weights))
    assert got[1].count_nonzero() == 0
    assert not got[0].isnan().any()
    assert got[2].isnan().any() == kind.startswith("softmax")


def test_a_bias_gets_no_gradient() -> None:
    x, bias = scores().requires_grad_(), torch.zeros(COLS, requires_grad=True)
    weights, _ = deepselect.topk(x, 6, weights="sigmoid", bias=bias)
    assert weights is not None
    assert torch.autograd.grad(weights.sum(), bias, allow_unused=True) == (None,)
    values, _ = deepselect.topk(x, 6, bias=bias, order="value")
    assert values is not None
    (got,) = torch.autograd.grad(values.sum(), x)
    assert (got == 1).sum() == ROWS * 6


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("shape", "k"), [((4, 50), 0), ((4, 0), 3), ((0, 50), 3), ((4, 0), 0)])
def test_gradient_of_empty_results(shape: tuple[int, int], k: int, kind: str) -> None:
    x = torch.zeros(shape, requires_grad=True)
    weights, _ = deepselect.topk(x, k, weights=kind)  # type: ignore[arg-type]
    assert weights is not None
    (got,) = torch.autograd.grad(weights, x, torch.ones_like(weights))
    assert got.shape == x.shape
    assert got.count_nonzero() == 0
