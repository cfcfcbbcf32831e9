"""The reference against answers that do not come from it: torch.topk and torch.sort where their
semantics coincide with the contract, plain Python loops where they do not.
"""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import pytest
import torch

from cases import Case, pairwise_cases
from deepselect import reference
from distributions import DISTRIBUTIONS, bits_type, make_values

DTYPES = (torch.bfloat16, torch.float16, torch.float32, torch.int32)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("distribution", sorted(DISTRIBUTIONS))
def test_agrees_with_torch_sort(distribution: str, dtype: torch.dtype, largest: bool) -> None:
    """A stable sort keeps equal values by position, and ranks NaN above +inf."""
    x = make_values(distribution, 5, 700, dtype, seed=3)
    order = x.sort(dim=-1, descending=largest, stable=True).indices
    for k in (1, 33, 700):
        values, indices = reference.topk(x, k, order="value", largest=largest)
        assert values is not None
        assert torch.equal(indices.long(), order[:, :k])
        as_bits = bits_type(dtype)
        assert torch.equal(values.view(as_bits), x.view(as_bits).gather(1, order[:, :k]))


@pytest.mark.parametrize("largest", [True, False])
def test_agrees_with_torch_topk_on_distinct_values(largest: bool) -> None:
    x = torch.stack([torch.randperm(3000, generator=torch.manual_seed(7)) for _ in range(4)])
    for dtype in (torch.float32, torch.int32):
        for k in (1, 100, 3000):
            expected = x.topk(k, largest=largest)
            values, indices = reference.topk(
                x.to(dtype), k, order="value", largest=largest, index_dtype=torch.int64
            )
            assert torch.equal(indices, expected.indices)
            assert values is not None
            assert torch.equal(values, expected.values.to(dtype))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("nan", ["largest", "smallest"])
def test_rank_of_every_16_bit_pattern(dtype: torch.dtype, nan: str) -> None:
    """Against Python's own comparison of the same numbers as 64-bit floats."""
    patterns = torch.arange(2**16).to(torch.int16)
    x = patterns.view(dtype)
    exact = x.double().tolist()
    ranks = reference.order_rank(x, nan=nan).tolist()
    of_nan = math.inf if nan == "largest" else -math.inf

    def key(i: int) -> tuple[float, float]:
        return (of_nan, of_nan) if math.isnan(exact[i]) else (exact[i], 0.0)

    by_value = sorted(range(2**16), key=key)
    for a, b in itertools.pairwise(by_value):
        assert (ranks[a] < ranks[b]) == (key(a) < key(b))
        assert (ranks[a] == ranks[b]) == (key(a) == key(b))


def test_rank_of_float32() -> None:
    generator = torch.manual_seed(11)
    bits = torch.randint(-(2**31), 2**31, (20_000,), generator=generator).int()
    subnormal = torch.randint(-(2**23), 2**23, (2000,), generator=generator).int()
    edges = torch.tensor([0, -(2**31), 0x7F800000, -0x800000, 0x7FFFFFFF, -1], dtype=torch.int32)
    x = torch.cat([bits, subnormal, subnormal ^ -(2**31), edges]).view(torch.float32)
    exact = x.double()  # subnormals are normal there
    exact[exact.isnan()] = math.inf
    ranks = reference.order_rank(x)
    is_nan = x.isnan()
    by_value = exact.sort(stable=True)
    sorted_ranks = ranks[by_value.indices]
    rises = by_value.values[1:] > by_value.values[:-1]
    falls_to_nan = is_nan[by_value.indices]
    numbers = ~falls_to_nan[1:] & ~falls_to_nan[:-1]
    assert torch.equal((sorted_ranks[1:] > sorted_ranks[:-1])[numbers], rises[numbers])
    assert (ranks[is_nan] == ranks[is_nan][0]).all()
    assert ranks[is_nan][0] > ranks[~is_nan].max()
    assert torch.equal(reference.order_rank(x, largest=False), -ranks - 1)


def _slow_topk(x: list[float], k: int, arguments: dict[str, Any], row: int) -> list[int]:
    """One row by sorting a Python list; numbers only, no NaN."""
    cols = len(x)

    def given(name: str, default: int) -> int:
        return default if arguments.get(name) is None else int(arguments[name][row])

    begin = min(max(given("begin", 0), 0), cols)
    end = min(max(given("end", cols), begin), cols)
    table = arguments.get("page_table")
    page_size = arguments.get("page_size", 1)
    page = given("page_table_begin", 0)
    entries: list[int] = []
    if table is not None:
        table_row = given("page_table_row", row)
        if 0 <= table_row < table.shape[0] and 0 <= page <= table.shape[1]:
            entries = table[table_row].tolist()
            end = min(end, begin + (len(entries) - page) * page_size)
        else:
            end = begin
    sign = -1 if arguments["largest"] else 1
    best = sorted(range(begin, end), key=lambda p: (sign * x[p], p))[:k]
    if arguments["order"] == "index":
        best.sort()
    bits = 64 if arguments.get("index_dtype") is torch.int64 else 32
    result = []
    for position in best:
        relative = position - begin
        if table is None:
            index = relative + given("index_offset", 0)
        else:
            index = entries[page + relative // page_size] * page_size + relative % page_size
        for width in (64, bits):
            index = (index + 2 ** (width - 1)) % 2**width - 2 ** (width - 1)
        result.append(index)
    return result + [arguments.get("pad_index", -1)] * (k - len(result))


def test_agrees_with_a_plain_loop_on_the_case_table() -> None:
    small = [
        case
        for case in pairwise_cases()
        if case.rows * max(case.cols, case.k) <= 5000
        and case.distribution not in ("some_nans", "all_nan", "uniform_bits")
        and case.outside == "data"
        and case.order != "any"
    ]
    assert len(small) > 300
    for case in random.Random(0).sample(small, 300):
        _check_against_loop(case)


def _check_against_loop(case: Case) -> None:
    call = case.build()
    got = reference.select(call.input, call.k, **call.arguments)
    rows = call.input.reshape(case.rows, case.cols).double().tolist()
    indices = got.indices.reshape(case.rows, case.k).tolist()
    for row, values in enumerate(rows):
        expected = _slow_topk(values, case.k, call.arguments, row)
        assert indices[row] == expected, case.name
    if got.values is not None:
        taken = got.raw_indices.reshape(case.rows, case.k)
        valid = torch.arange(case.k) < got.num_valid.reshape(-1, 1)
        assert (taken[valid] >= 0).all()
        assert got.values.dtype == call.input.dtype
