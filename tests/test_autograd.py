"""The gradient of values, by exact comparison with a scatter."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import deepselect
from deepselect import reference, testing
from inputs import make_x, moved, windows

OP = torch.ops.deepselect.topk
INT32, INT64 = torch.int32, torch.int64


def expected_gradient(x: Tensor, k: int, gradient: Tensor, call: dict[str, Any]) -> Tensor:
    """`gradient` put at the selected positions by a loop, on the host."""
    x, gradient, call = x.detach().cpu().contiguous(), gradient.cpu(), moved(call, "cpu")
    selected = reference.select(x, k, **call)
    begin = call.get("begin")
    result = torch.zeros_like(x)
    rows = result.view(-1, x.shape[-1])
    raw = selected.raw_indices.reshape(-1, k)
    for row in range(len(rows)):
        first = 0 if begin is None else min(max(int(begin[row]), 0), x.shape[-1])
        for place in range(int(selected.num_valid.flatten()[row])):
            rows[row, first + raw[row, place]] = gradient.view(-1, k)[row, place]
    return result


GRADIENT_CALLS: list[dict[str, Any]] = [
    {},
    {"largest": False},
    {"pad_index": 3},
    {"index_dtype": INT64},
    windows(),
    {"end": torch.tensor([0, -3, 2, 500])},
    {"begin": torch.tensor([0, -3, 49, 500]), "pad_index": 2**31 - 1},
    {"index_offset": torch.tensor([5, -5, 2**31 - 3, -(2**31)]), **windows()},
    {"index_offset": torch.tensor([2**31 - 1, -(2**31), 2**31 - 20, -7], dtype=INT32)},
    {"index_offset": torch.tensor([2**40, -(2**40), 2**63 - 2, -(2**63)]), **windows()},
    {
        "index_offset": torch.tensor([2**40, -(2**40), 2**63 - 2, -(2**63)]),
        "index_dtype": INT64,
    },
    {"begin": torch.tensor([2**62, -(2**62), 2**31, 7]), "end": torch.tensor([2**63 - 1] * 4)},
]


@pytest.mark.parametrize("order", ["any", "value", "index"])
@pytest.mark.parametrize("call", GRADIENT_CALLS)
def test_gradient_goes_to_the_selected_positions(
    call: dict[str, Any], order: str, device: torch.device
) -> None:
    call = {**call, "order": order}
    for k in (1, 6, 50, 60):
        x = make_x(device=device).requires_grad_()
        values, _ = deepselect.topk(x, k, **moved(call, device))
        assert values is not None
        gradient = torch.arange(1.0, values.numel() + 1, device=device).view_as(values)
        if order == "any":  # places within a row are unstated: one gradient for all of them
            gradient = gradient[:, :1].expand_as(values)
        (got,) = torch.autograd.grad(values, x, gradient)
        testing.assert_same_bits(got, expected_gradient(x, k, gradient, call))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_gradient_has_the_dtype_of_input(dtype: torch.dtype) -> None:
    x = make_x(dtype=dtype).requires_grad_()
    values, _ = deepselect.topk(x, 6, order="value")
    assert values is not None
    gradient = torch.arange(24).view(4, 6).to(dtype)
    (got,) = torch.autograd.grad(values, x, gradient)
    testing.assert_same_bits(got, expected_gradient(x, 6, gradient, {"order": "value"}))


@pytest.mark.parametrize("shape", [(50,), (2, 2, 50), (2, 1, 2, 50)])
def test_gradient_of_other_shapes(shape: tuple[int, ...]) -> None:
    x = make_x().flatten()[: torch.Size(shape).numel()].view(shape).requires_grad_()
    call: dict[str, Any] = {"order": "value"}
    if x.numel() == 200:
        call |= windows()
    values, _ = deepselect.topk(x, 6, **call)
    assert values is not None
    gradient = torch.arange(1.0, values.numel() + 1).view_as(values)
    (got,) = torch.autograd.grad(values, x, gradient)
    testing.assert_same_bits(got, expected_gradient(x, 6, gradient, call))


def test_gradient_of_a_strided_input() -> None:
    base = make_x(4, 64)
    x = base[:, 3:53].requires_grad_()
    values, _ = deepselect.topk(x, 6, order="value")
    assert values is not None
    gradient = torch.arange(24.0).view(4, 6)
    (got,) = torch.autograd.grad(values, x, gradient)
    testing.assert_same_bits(got, expected_gradient(x, 6, gradient, {"order": "value"}))


@pytest.mark.parametrize("order", ["value", "index"])
@pytest.mark.parametrize("pad_value", [None, float("nan"), 1.0])
def test_poisoned_rows_get_no_gradient(order: str, pad_value: float | None) -> None:
    x = make_x()
    x[1, 7] = float("nan")
    x[3, 49] = float("nan")  # beyond the window of its row
    call = {
        "order": order,
        "nan": "poison",
        "end": torch.tensor([50, 50, 0, 49]),
        "pad_value": pad_value,
    }
    x.requires_grad_()
    values, _ = deepselect.topk(x, 6, **call)  # type: ignore[arg-type]
    assert values is not None
    gradient = torch.arange(1.0, 25.0).view(4, 6)
    (got,) = torch.autograd.grad(values, x, gradient)
    testing.assert_same_bits(got, expected_gradient(x, 6, gradient, call))
    assert got[1].count_nonzero() == 0
    assert got[3].count_nonzero() == 6


@pytest.mark.parametrize("nan", ["largest", "smallest"])
def test_gradient_reaches_selected_nans(nan: str) -> None:
    x = make_x(2, 8)
    x[:, 2:5] = float("nan")
    x.requires_grad_()
    values, _ = deepselect.topk(x, 7, order="value", nan=nan)  # type: ignore[arg-type]
    assert values is not None
    gradient = torch.arange(1.0, 15.0).view(2, 7)
    (got,) = torch.autograd.grad(values, x, gradient)
    expected = expected_gradient(x, 7, gradient, {"order": "value", "nan": nan})
    testing.assert_same_bits(got, expected)


def test_gradient_at_pads_is_dropped_even_where_it_is_nan() -> None:
    x = make_x(1, 3).requires_grad_()
    values, _ = deepselect.topk(x, 5, order="value")
    assert values is not None
    gradient = torch.tensor([[1.0, 2.0, 3.0, float("nan"), float("inf")]])
    (got,) = torch.autograd.grad(values, x, gradient)
    assert sorted(got[0].tolist()) == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(("shape", "k"), [((4, 50), 0), ((4, 0), 3), ((0, 50), 3), ((4, 0), 0)])
def test_gradient_of_empty_results(shape: tuple[int, int], k: int) -> None:
    x = torch.zeros(shape, requires_grad=True)
    values, _ = deepselect.topk(x, k)
    assert values is not None
    (got,) = torch.autograd.grad(values, x, torch.ones_like(values))
    assert got.shape == x.shape
    assert got.count_nonzero() == 0


def test_second_order() -> None:
    """sum(topk(x^3)) has the Hessian diag(6 x) at the selected positions."""
    x = make_x(2, 9).requires_grad_()
    values, indices = deepselect.topk(x**3, 4, order="value", index_offset=torch.tensor([9, -9]))
    assert values is not None
    (first,) = torch.autograd.grad(values.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    positions = indices.long() - torch.tensor([[9], [-9]])
    at = torch.zeros(2, 9).scatter_(1, positions, 1.0)
    testing.assert_same_bits(first.detach(), 3 * x.detach() ** 2 * at)
    testing.assert_same_bits(second, 6 * x.detach() * at)


def test_gradcheck_to_second_order() -> None:
    """On distinct values, where the selection does not change in a small neighbourhood. The op
    takes no float64, so its input is cut from float64 inside; the step is exact in float32.
    """
    generator = torch.Generator().manual_seed(1)
    x = torch.stack([torch.randperm(12, generator=generator) for _ in range(3)]).double()
    x.requires_grad_()
    begin = torch.tensor([0, 2, 9])

    def squares(x: Tensor) -> Tensor:
        values, _ = deepselect.topk(x.float(), 5, begin=begin, pad_value=0.0, order="value")
        assert values is not None
        return values.double() ** 2

    step = 2.0**-6
    assert torch.autograd.gradcheck(squares, x, eps=step, atol=1e-3)
    assert torch.autograd.gradgradcheck(squares, x, eps=step, atol=1e-3)


def test_page_table_with_a_gradient_raises() -> None:
    x = make_x().requires_grad_()
    table = torch.zeros(4, 50, dtype=INT32)
    with pytest.raises(ValueError, match="page_table must not be given where input requires grad"):
        deepselect.topk(x, 6, page_table=table)
    with pytest.raises(RuntimeError, match="ValueError: page_table must not be given"):
        OP(x, 6, page_table=table)
    # Where no gradient is wanted there is nothing to refuse.
    with torch.no_grad():
        deepselect.topk(x, 6, page_table=table)
    deepselect.topk(x.detach(), 6, page_table=table)
    deepselect.topk(x, 6, page_table=table, return_values=False)


def test_out_with_a_gradient_raises() -> None:
    x = make_x().requires_grad_()
    out = (torch.zeros(4, 6), torch.zeros(4, 6, dtype=INT32))
    with pytest.raises(RuntimeError, match="out must not be given where input requires grad"):
        deepselect.topk(x, 6, out=out)
    assert (out[1] == 0).all()
    with torch.no_grad():
        deepselect.topk(x, 6, out=out)
    assert (out[1] != 0).any()


def test_indices_and_unwanted_values_carry_no_gradient() -> None:
    x = make_x().requires_grad_()
    values, indices = deepselect.topk(x, 6)
    assert values is not None
    assert values.requires_grad
    assert not indices.requires_grad
    values, indices = OP(x, 6, return_values=False)
    assert not values.requires_grad
    assert not indices.requires_grad
    assert deepselect.topk(x, 6, return_values=False).values is None


@pytest.mark.usefixtures("deterministic")
def test_gradient_under_deterministic_algorithms() -> None:
    x = make_x().requires_grad_()
    values, _ = deepselect.topk(x, 6)
    assert values is not None
    gradient = torch.arange(24.0).view(4, 6)
    (got,) = torch.autograd.grad(values, x, gradient)
    testing.assert_same_bits(got, expected_gradient(x, 6, gradient, {"order": "index"}))
