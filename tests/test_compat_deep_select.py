"""``deepselect.compat.deep_select`` against what DeepSelect's documentation states."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

import compat_statements as statement
from compat_statements import canonical
from deepselect.compat import deep_select
from inputs import make_x

INT32, INT64 = torch.int32, torch.int64
NAN_FOUND = 0x3F3F3F3F
FILL = 2147483647


def ends(device: torch.device) -> Tensor:
    return torch.tensor([50, 20, 3, 0], dtype=INT32, device=device)


def expected_indices(x: Tensor, end: Tensor, k: int, offset: list[int], fill: int) -> Tensor:
    """Ascending; the fills are not offset."""
    found = statement.select(x, [0] * len(x), end.tolist(), k)
    shifted = [[i + offset[row] for i in rows] for row, rows in enumerate(found)]
    return statement.padded(shifted, k, fill).long()


def expected_values(x: Tensor, indices: Tensor, offset: list[int], fill: int) -> Tensor:
    """The values at given indices, -inf at fills."""
    shift = torch.tensor(offset, device=indices.device)[:, None]
    is_fill = indices == fill
    picked = x.gather(1, (indices.long() - shift).masked_fill(is_fill, 0))
    return picked.masked_fill(is_fill, -math.inf)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("k", [1, 9, 64])
@pytest.mark.parametrize("options", [{}, {"sorted_index": True}, {"sorted": True}])
def test_defaults(
    dtype: torch.dtype, k: int, options: dict[str, Any], device: torch.device
) -> None:
    x, end = make_x(4, 50, dtype, device), ends(device)
    values, indices = deep_select.topk(x, k, end=end, **options)
    assert values is not None
    assert indices.dtype == INT64
    expected = expected_indices(x, end, k, [0] * 4, FILL)
    assert torch.equal(canonical(indices, FILL), expected)
    assert torch.equal(values, expected_values(x, indices, [0] * 4, FILL))
    if options.get("sorted_index"):
        assert torch.equal(indices.cpu(), expected)
    if options.get("sorted"):
        assert (values.diff(dim=1).nan_to_num(nan=0.0) <= 0).all()


@pytest.mark.parametrize("indices_type", [INT32, INT64])
@pytest.mark.parametrize("return_value", [True, False])
@pytest.mark.parametrize("with_output", [False, True])
@pytest.mark.parametrize("aborts", [True, False])
def test_offset_fills_and_output(
    indices_type: torch.dtype,
    return_value: bool,
    with_output: bool,
    aborts: bool,
    device: torch.device,
) -> None:
    x, end, offset = make_x(4, 50, device=device), ends(device), [100, -7, 0, 3]
    output = torch.full((4, 9), 777, dtype=indices_type, device=device) if with_output else None
    values, indices = deep_select.topk(
        x,
        9,
        end=end,
        indices_type=indices_type,
        sorted_index=True,
        output_idx=output,
        output_idx_offset=torch.tensor(offset, dtype=INT32, device=device),
        idx_oob_fill_value=-3,
        value_oob_fill_value=0.25,
        return_value=return_value,
        abort_when_nan_found=aborts,
    )
    assert indices.dtype == indices_type
    assert output is None or indices is output
    assert torch.equal(indices.long().cpu(), expected_indices(x, end, 9, offset, -3))
    if not return_value:
        assert values is None
        return
    assert values is not None
    expected = expected_values(x, indices, offset, -3)
    assert torch.equal(values, expected.masked_fill(expected == -math.inf, 0.25))


@pytest.mark.parametrize("return_value", [True, False])
@pytest.mark.parametrize("fill", [-math.inf, math.nan])
def test_rows_with_nan(return_value: bool, fill: float, device: torch.device) -> None:
    """Rows of NaN within, NaN beyond the window, none, and an empty window."""
    x, end = make_x(4, 50, device=device), torch.tensor([50, 20, 50, 0], dtype=INT32).to(device)
    x[0, 7] = x[1, 20] = x[3, 0] = math.nan
    for aborts, mark in ((True, FILL), (False, NAN_FOUND)):
        values, indices = deep_select.topk(
            x,
            9,
            end=end,
            abort_when_nan_found=aborts,
            value_oob_fill_value=fill,
            return_value=return_value,
        )
        assert (indices[0] == mark).all()
        assert (indices[3] == FILL).all()
        assert ((indices[1:3] >= 0) & (indices[1:3] < 50)).all()
        if values is not None:
            assert values[0].isnan().all()
            assert not values[1:3].isnan().any()


def test_begin_is_taken(device: torch.device) -> None:
    x = make_x(4, 50, device=device)
    begin = torch.tensor([0, 5, 49, 60], dtype=INT32, device=device)
    _, indices = deep_select.topk(x, 9, begin=begin, sorted_index=True)
    expected = statement.padded(statement.select(x, begin.tolist(), [50] * 4, 9), 9, FILL)
    assert torch.equal(indices.cpu(), expected.long())
    _, marked = deep_select.topk(
        x, 9, begin=begin, value_oob_fill_value=math.nan, abort_when_nan_found=False
    )
    assert not (marked == NAN_FOUND).any()


def test_refused_combinations() -> None:
    x = make_x()
    with pytest.raises(ValueError, match="hint must be None"):
        deep_select.topk(x, 3, hint=x)
    for options in ({"sorted_index": True}, {"return_value": False}):
        with pytest.raises(ValueError, match="sorted needs return_value"):
            deep_select.topk(x, 3, sorted=True, **options)
    with pytest.raises(TypeError, match="output_idx must be of indices_type"):
        deep_select.topk(x, 3, output_idx=torch.zeros(4, 3, dtype=INT32))


def test_stride_requirement_divides_into_items() -> None:
    """Callers compute ``requirement // itemsize`` and round columns up to it."""
    for requirement in deep_select.get_stride_requirement():
        for dtype in (torch.bfloat16, torch.float32, INT32, INT64):
            assert requirement % dtype.itemsize == 0
            assert requirement // dtype.itemsize >= 1


def test_values_are_differentiable_without_output() -> None:
    x = make_x().requires_grad_()
    values, _ = deep_select.topk(x, 3, abort_when_nan_found=False)
    assert values is not None
    values.sum().backward()
    assert x.grad is not None
    assert x.grad.sum() == 12
