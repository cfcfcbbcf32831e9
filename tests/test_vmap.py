"""``torch.vmap`` over the op, against the calls one by one."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor

import deepselect
from deepselect import testing
from inputs import make_x

OP = torch.ops.deepselect.topk
INT32, INT64 = torch.int32, torch.int64
BATCH, ROWS, COLS = 3, 4, 50

# Per-row arguments, a call's and a batch's.
ROW_ARGUMENTS = {
    "begin": torch.arange(BATCH * ROWS, dtype=INT32).view(BATCH, ROWS) * 3 - 4,
    "end": torch.arange(BATCH * ROWS).view(BATCH, ROWS) * 5 + 2,
    "index_offset": torch.arange(BATCH * ROWS).view(BATCH, ROWS) * 1000,
}


def assert_same_as_calls(
    x: Tensor, in_dim: int | None, arguments: dict[str, tuple[Tensor, int | None]], **options: Any
) -> None:
    """A batch gives what the calls give one by one, stacked."""
    options = {"order": "value", **options}
    names = list(arguments)

    def call(x: Tensor, *operands: Tensor) -> tuple[Tensor, Tensor]:
        values, indices = deepselect.topk(
            x, 7, **dict(zip(names, operands, strict=True)), **options
        )
        assert values is not None
        return values, indices

    operands = [operand for operand, _ in arguments.values()]
    dims = [in_dim, *(dim for _, dim in arguments.values())]
    actual = torch.vmap(call, in_dims=tuple(dims))(x, *operands)
    each = [
        [
            operand if dim is None else operand.select(dim, i)
            for operand, dim in zip((x, *operands), dims, strict=True)
        ]
        for i in range(BATCH)
    ]
    expected = [call(one[0].contiguous(), *one[1:]) for one in each]
    for name, got, wanted in zip(
        ("values", "indices"), actual, zip(*expected, strict=True), strict=True
    ):
        testing.assert_same_bits(got, torch.stack(wanted), name)


@pytest.mark.parametrize("in_dim", [0, 1, 2, -1])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, INT32])
def test_batch_anywhere(in_dim: int, dtype: torch.dtype, device: torch.device) -> None:
    x = make_x(BATCH * ROWS, COLS, dtype, device).view(BATCH, ROWS, COLS)
    assert_same_as_calls(x.movedim(0, in_dim).contiguous(), in_dim, {})
    assert_same_as_calls(x.movedim(0, in_dim), in_dim, {})


@pytest.mark.parametrize("shape", [(COLS,), (2, 3, COLS), (0, COLS), (ROWS, 0)])
def test_shapes(shape: tuple[int, ...], device: torch.device) -> None:
    count = BATCH * torch.Size(shape).numel()
    x = make_x(1, max(count, 1), device=device).flatten()[:count].view(BATCH, *shape)
    assert_same_as_calls(x, 0, {})


@pytest.mark.parametrize(
    "batched",
    list(itertools.product([True, False], repeat=3)),
    ids=lambda batched: "".join(map(str, map(int, batched))),
)
@pytest.mark.parametrize("in_dim", [0, None])
def test_arguments_of_rows(
    batched: tuple[bool, ...], in_dim: int | None, device: torch.device
) -> None:
    if in_dim is None and not any(batched):
        pytest.skip("nothing is batched")
    x = make_x(BATCH * ROWS, COLS, device=device).view(BATCH, ROWS, COLS)
    arguments = {
        name: (argument.t().contiguous().to(device), 1)
        if is_batched
        else (argument[1].to(device), None)
        for (name, argument), is_batched in zip(ROW_ARGUMENTS.items(), batched, strict=True)
    }
    assert_same_as_calls(x if in_dim == 0 else x[0], in_dim, arguments)


@pytest.mark.parametrize("table_is_batched", [True, False])
@pytest.mark.parametrize("row", [None, "batched", "shared"])
def test_page_tables(table_is_batched: bool, row: str | None, device: torch.device) -> None:
    x = make_x(BATCH * ROWS, COLS, device=device).view(BATCH, ROWS, COLS)
    tables = torch.randperm(BATCH * 5 * 7).int().view(BATCH, 5, 7).to(device)
    arguments: dict[str, tuple[Tensor, int | None]] = {
        "page_table": (tables.movedim(0, 2), 2) if table_is_batched else (tables[0], None)
    }
    # -1, 5 and 9 are no rows of a call's table, though 5 and 9 are of the batch's.
    rows = torch.tensor([[0, 4, -1, 2], [3, 3, 5, 1], [9, 0, 1, 4]], dtype=INT32, device=device)
    if row is not None:
        arguments["page_table_row"] = (rows, 0) if row == "batched" else (rows[0], None)
    arguments["page_table_begin"] = (torch.arange(ROWS, dtype=INT32, device=device), None)
    assert_same_as_calls(x, 0, arguments, page_size=8)


def test_too_few_tables_are_refused() -> None:
    x, tables = make_x(BATCH * ROWS, COLS).view(BATCH, ROWS, COLS), torch.zeros(3, 50, dtype=INT32)
    with pytest.raises(ValueError, match="page_table must have a row for each of input's 4 rows"):
        torch.vmap(lambda x: deepselect.topk(x, 3, page_table=tables).indices)(x)


@pytest.mark.parametrize("nan", ["largest", "smallest", "poison"])
@pytest.mark.parametrize("largest", [True, False])
def test_options(nan: str, largest: bool, device: torch.device) -> None:
    x = make_x(BATCH * ROWS, COLS, device=device).view(BATCH, ROWS, COLS)
    x[1, 2, 3] = float("nan")
    assert_same_as_calls(
        x, 0, {}, nan=nan, largest=largest, index_dtype=INT64, pad_index=5, pad_value=0.5
    )


def test_without_values(device: torch.device) -> None:
    x = make_x(BATCH * ROWS, COLS, device=device).view(BATCH, ROWS, COLS)
    indices = torch.vmap(
        lambda x: deepselect.topk(x, 7, order="value", return_values=False).indices
    )(x)
    expected = deepselect.topk(x, 7, order="value", return_values=False).indices
    assert torch.equal(indices, expected)


@pytest.mark.parametrize("weights", ["none", "softmax", "sigmoid_selected"])
def test_weights_and_a_shared_bias(weights: str, device: torch.device) -> None:
    x = make_x(BATCH * ROWS, COLS, device=device).view(BATCH, ROWS, COLS)
    bias = torch.linspace(-1, 1, COLS, device=device)
    assert_same_as_calls(x, 0, {"bias": (bias, None)}, weights=weights)
    with pytest.raises(ValueError, match="bias must not be batched by vmap"):
        assert_same_as_calls(x, 0, {"bias": (bias.expand(BATCH, -1), 0)}, weights=weights)


def test_nested(device: torch.device) -> None:
    x = make_x(BATCH * ROWS, COLS, device=device).view(BATCH, ROWS, COLS)
    end = ROW_ARGUMENTS["end"].to(device)

    def row(x: Tensor, end: Tensor) -> tuple[Tensor, Tensor]:
        values, indices = deepselect.topk(x, 7, end=end[None], order="value")
        assert values is not None
        return values, indices

    nested = torch.vmap(torch.vmap(row, in_dims=(0, 0)), in_dims=(0, 0))(x, end)
    expected = deepselect.topk(x, 7, end=end.flatten(), order="value")
    for got, wanted in zip(nested, expected, strict=True):
        assert wanted is not None
        testing.assert_same_bits(got, wanted)


def test_gradient_of_a_batch(device: torch.device) -> None:
    gradients = []
    for is_mapped in (True, False):
        x = make_x(BATCH * ROWS, COLS, device=device).view(BATCH, ROWS, COLS).requires_grad_()

        def values_of(x: Tensor) -> Tensor:
            values = deepselect.topk(x, 7, order="value").values
            assert values is not None
            return values

        values = torch.vmap(values_of)(x) if is_mapped else values_of(x)
        (values * torch.arange(values.numel(), device=device).view(values.shape)).sum().backward()
        gradients.append(x.grad)
    testing.assert_same_bits(*gradients)


def test_unbatched_inputs_pass_through() -> None:
    x = make_x(ROWS, COLS)
    result = torch.vmap(lambda y: deepselect.topk(x, 7, order="index").indices + y)(torch.zeros(3))
    assert torch.equal(result[1], deepselect.topk(x, 7, order="index").indices.float())


def test_raw_op(device: torch.device) -> None:
    x = make_x(BATCH * ROWS, COLS, device=device).view(BATCH, ROWS, COLS)
    _, indices = torch.vmap(lambda x: OP(x, 7, None, ROW_ARGUMENTS["end"][0].to(device)))(x)
    expected = [OP(one, 7, None, ROW_ARGUMENTS["end"][0].to(device))[1] for one in x]
    assert torch.equal(indices.sort().values, torch.stack(expected).sort().values)


def test_compiled_whole() -> None:
    def call(x: Tensor, end: Tensor) -> Tensor:
        return deepselect.topk(x, 7, end=end, order="value").indices

    x = make_x(BATCH * ROWS, COLS).view(BATCH, ROWS, COLS)
    mapped = torch.vmap(call)
    compiled = torch.compile(mapped, backend="aot_eager")
    assert torch.equal(compiled(x, ROW_ARGUMENTS["end"]), mapped(x, ROW_ARGUMENTS["end"]))
