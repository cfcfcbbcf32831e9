"""Whole rows, how they are cut, and calls of ``deepselect.distributed.topk``; what a rank does with
them. Every rank makes the same whole rows, so it can judge its own result.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

import deepselect
from deepselect import distributed, reference, testing
from inputs import moved

FP32, BF16 = torch.float32, torch.bfloat16
COLLECTIVE_TIMEOUT_SECONDS = 60


def ties(rows: int, cols: int, dtype: torch.dtype) -> Tensor:
    generator = torch.Generator().manual_seed(rows * 1000 + cols)
    return torch.randint(-4, 5, (rows, cols), generator=generator).to(dtype)


def constant(rows: int, cols: int, dtype: torch.dtype) -> Tensor:
    return torch.ones(rows, cols, dtype=dtype)


def mostly_infinite(rows: int, cols: int, dtype: torch.dtype) -> Tensor:
    """Pads of a merge would be the worst value too, and must not win against it."""
    x = torch.full((rows, cols), float("-inf"), dtype=dtype)
    x[:, ::17] = 1
    x[1::2] *= -1
    return x


def with_nan(rows: int, cols: int, dtype: torch.dtype) -> Tensor:
    """NaN of many bit patterns in all but every third row."""
    x = ties(rows, cols, dtype)
    bits = x.view(testing.bits_type(dtype))
    quiet = {2: 0x7FC0, 4: 0x7FC00000}[dtype.itemsize]
    for row in range(rows):
        if row % 3:
            bits[row, row % cols :: 11] = quiet + row
    return x


def signed_zeros(rows: int, cols: int, dtype: torch.dtype) -> Tensor:
    x = torch.zeros(rows, cols, dtype=dtype)
    x[:, 1::3] = -0.0
    return x


def extreme_integers(rows: int, cols: int, dtype: torch.dtype) -> Tensor:
    x = torch.full((rows, cols), -(2**31), dtype=dtype)
    x[:, 3::19] = 2**31 - 1
    return x


@dataclass(frozen=True)
class Case:
    """One call.

    Attributes:
        name: names the test.
        k: of the call.
        options: keyword arguments of the call; windows are tensors of whole-row positions.
        make: makes the whole rows.
        dtype: of them.
        leading: their leading shape.
        widths: columns of each rank in turn, repeated.
    """

    name: str
    k: int = 7
    options: dict[str, Any] = field(default_factory=dict)
    make: Callable[[int, int, torch.dtype], Tensor] = ties
    dtype: torch.dtype = FP32
    leading: tuple[int, ...] = (6,)
    widths: tuple[int, ...] = (40,)

    def whole(self, num_ranks: int) -> tuple[Tensor, list[int]]:
        """The whole rows, and every rank's columns."""
        widths = [self.widths[rank % len(self.widths)] for rank in range(num_ranks)]
        rows = self.make(torch.Size(self.leading).numel(), sum(widths), self.dtype)
        return rows.view(*self.leading, sum(widths)), widths


WINDOWS = {
    "begin": torch.tensor([0, -5, 39, 41, 70, 900]),
    "end": torch.tensor([200, 3, 43, 60, 70, 1000], dtype=torch.int32),
}
EXTREME_WINDOWS = {
    "begin": torch.tensor([-(2**63), -(2**63), 2**63 - 1, 0, -1, 35]),
    "end": torch.tensor([2**63 - 1, -(2**63), 2**63 - 1, -(2**31), 2**31, 2**63 - 1]),
}
RAGGED = (30, 0, 3, 50)

CASES = [
    *(Case(f"order_{order}", options={"order": order}) for order in ("any", "value", "index")),
    *(
        Case(f"dtype_{str(dtype)[6:]}", options={"order": "value"}, dtype=dtype, widths=RAGGED)
        for dtype in (BF16, torch.float16, FP32, torch.int32)
    ),
    *(
        Case(
            f"{make.__name__}_{'largest' if largest else 'smallest'}_{order}",
            k=k,
            options={"order": order, "largest": largest},
            make=make,
            dtype=BF16,
            widths=RAGGED,
        )
        for make in (constant, mostly_infinite, signed_zeros)
        for largest in (True, False)
        for order, k in (("value", 5), ("index", 37))
    ),
    *(
        Case(
            f"nan_{nan}_{largest}_{dtype.itemsize}",
            k=20,
            options={"order": "value", "nan": nan, "largest": largest},
            make=with_nan,
            dtype=dtype,
            widths=RAGGED,
        )
        for nan in ("largest", "smallest", "poison")
        for largest in (True, False)
        for dtype in (FP32, BF16)
    ),
    Case("poison_within_windows", 9, {"nan": "poison", "order": "index", **WINDOWS}, with_nan),
    Case("extreme_integers", 30, {"order": "value"}, extreme_integers, torch.int32, widths=RAGGED),
    Case("extreme_integers_smallest", 30, {"order": "value", "largest": False}, extreme_integers,
         torch.int32, widths=RAGGED),
    *(
        Case(f"windows_{order}_{k}_{len(widths)}", k, {"order": order, **WINDOWS}, widths=widths)
        for order in ("any", "value", "index")
        for k in (1, 7, 60)
        for widths in ((40,), RAGGED)
    ),
    Case("extreme_windows", options={"order": "value", **EXTREME_WINDOWS}, widths=RAGGED),
    Case("end_only", options={"order": "value", "end": WINDOWS["end"]}, widths=RAGGED),
    Case("begin_only", options={"order": "value", "begin": WINDOWS["begin"]}, widths=RAGGED),
    *(Case(f"k_{k}", k, {"order": "value"}, widths=RAGGED) for k in (0, 1, 33, 34, 83, 200)),
    Case("k_0_with_poison", 0, {"nan": "poison"}, with_nan),
    Case("pads", 200, {"order": "index", "pad_index": -9, "pad_value": 0.5, **WINDOWS}),
    Case("without_values", options={"order": "index", "return_values": False, **WINDOWS}),
    Case("int64", options={"order": "value", "index_dtype": torch.int64, **WINDOWS}),
    Case("vector", options={"order": "value"}, leading=(), widths=RAGGED),
    Case("three_dimensions", options={"order": "value", **WINDOWS}, leading=(2, 3), widths=RAGGED),
    Case("no_rows", options={"order": "value"}, leading=(0,)),
    Case("no_columns", options={"order": "value"}, widths=(0,)),
    Case("one_rank_has_all", options={"order": "value"}, widths=(0, 90, 0, 0)),
    Case("long", 300, {"order": "value"}, leading=(3,), widths=(20_000, 7001)),
]  # fmt: skip


def check_case(
    case: Case, group: dist.ProcessGroup | None = None, device: torch.device | str = "cpu"
) -> None:
    """Asserts that this rank gets what one process gets for the whole rows, and its gradient."""
    rank, num_ranks = dist.get_rank(group), dist.get_world_size(group)
    whole, widths = case.whole(num_ranks)
    first = sum(widths[:rank])
    options = moved(case.options, device)
    if "begin" in options or "end" in options:
        options["offset"] = first
    has_gradient = case.dtype.is_floating_point and options.get("return_values", True)
    shard = whole.split(widths, dim=-1)[rank].to(device, copy=True).requires_grad_(has_gradient)
    values, indices = distributed.topk(shard, case.k, group=group, **options)

    expected = reference.select(whole, case.k, **case.options)
    order = options.get("order", "any")
    testing.assert_same_selection(values, indices, expected, order=order)
    if not has_gradient:
        return
    assert values is not None
    assert values.requires_grad
    inputs = whole.clone().requires_grad_()
    one_process = deepselect.topk(inputs, case.k, **{**case.options, "order": "value"}).values
    assert one_process is not None
    # A weight for each value, not for its place, so that the order does not matter.
    for outputs in (values, one_process):
        weights = outputs.detach().nan_to_num(nan=9, posinf=5, neginf=-5)
        outputs.backward(weights)
    assert shard.grad is not None
    assert inputs.grad is not None
    testing.assert_same_bits(shard.grad, inputs.grad.split(widths, dim=-1)[rank].contiguous())


def check_errors(group: dist.ProcessGroup | None = None) -> None:
    shard, bound, rank = torch.zeros(4, 10), torch.tensor([5] * 4), dist.get_rank(group)
    topk = distributed.topk
    calls: list[tuple[str, Callable[[], Any]]] = [
        ("offset must be given", lambda: topk(shard, 3, end=bound)),
        ("offset must be given", lambda: topk(shard, 3, begin=bound)),
        ("offset must be the columns", lambda: topk(shard, 3, offset=3, end=bound)),
        ("end must be int32 or int64", lambda: topk(shard, 3, offset=10 * rank, end=bound.float())),
        ("end must", lambda: topk(shard, 3, offset=10 * rank, end=7)),  # type: ignore[arg-type]
        ("end must have shape", lambda: topk(shard, 3, offset=10 * rank, end=bound[:2])),
        ("k must be >= 0", lambda: topk(shard, -1)),
        ("input must have one of", lambda: topk(shard.double(), 3)),
        ("at least 1 dimension", lambda: topk(shard[0, 0], 3)),
        ("order must be", lambda: topk(shard, 3, order="best")),  # type: ignore[arg-type]
    ]
    for text, call in calls:
        with pytest.raises((TypeError, ValueError), match=text):
            call()


def check_one_collective(group: dist.ProcessGroup | None = None) -> None:
    """A call costs one all-gather of (item + index) bytes per candidate and a header."""
    shard = torch.zeros(4, 100, dtype=BF16)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        distributed.topk(shard, 6, group=group)
    collectives = [e.name for e in profile.events() if e.name.startswith("c10d::")]
    assert len(collectives) == 1, collectives
    assert "allgather" in collectives[0]


def check_subgroups(group: dist.ProcessGroup | None = None) -> None:
    """Two halves, each with its own rows."""
    num_ranks = dist.get_world_size()
    halves = [
        list(range(first, first + num_ranks // 2)) for first in range(0, num_ranks, num_ranks // 2)
    ]
    groups = [dist.new_group(ranks) for ranks in halves]
    mine = groups[dist.get_rank() // (num_ranks // 2)]
    for case in CASES[:6]:
        check_case(case, mine)


CHECKS: dict[str, Callable[[], None]] = {
    **{case.name: lambda case=case: check_case(case) for case in CASES},  # type: ignore[misc]
    "errors": check_errors,
    "one_collective": check_one_collective,
    "subgroups": check_subgroups,
}


def run_rank(rank: int, num_ranks: int, directory: str) -> None:
    """Runs every check on this rank; writes the tracebacks of those that fail."""
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo",
        init_method=f"file://{directory}/rendezvous",
        rank=rank,
        world_size=num_ranks,
        timeout=timedelta(seconds=COLLECTIVE_TIMEOUT_SECONDS),
    )
    failures = {}
    for name, check in CHECKS.items():
        try:
            check()
        except Exception:
            failures[name] = traceback.format_exc()
        dist.barrier()  # a rank that failed before a collective must not meet others in the next
    Path(directory, f"failures_{rank}.json").write_text(json.dumps(failures))
    dist.destroy_process_group()
