"""Inputs that broke other top-k kernels (data/known_faults.json), each with its right answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Generator, Tensor

import deepselect
from deepselect import reference, testing
from distributions import bits_type, make_values

FAULTS: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "data" / "known_faults.json").read_text()
)["faults"]

BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32

# The reference takes about 50 bytes an element: rows in groups of at most so many elements.
REFERENCE_ITEMS = 2**22


class Runner:
    """Runs the op on one backend and variant, and compares with the reference in every order."""

    def __init__(self, backend: testing.Backend, variant: str | None) -> None:
        self.backend = backend
        self.device = backend.device
        # A forced variant goes by the front, and raises as the raw op does.
        self.refusal = ValueError if variant is None else RuntimeError
        self._topk = testing.topk_of_variant(backend.device_type, variant)

    def topk(self, x: Tensor, k: int, **arguments: Any) -> deepselect.TopK:
        """Skips the test where the variant is not made for the call."""
        try:
            return self._topk(x, k, **arguments)
        except RuntimeError as error:
            if "cannot serve this call" in str(error):
                pytest.skip(str(error))
            raise

    def skip_unless(self, dtype: torch.dtype) -> None:
        if dtype not in self.backend.limits.value_dtypes:
            pytest.skip(f"{self.backend.device_type} takes no {dtype}")

    def place(self, x: Tensor) -> Tensor:
        """A copy on the device, rows aligned for the backend."""
        as_bits = bits_type(x.dtype)
        rows = deepselect.empty_rows(x.shape, as_bits, self.device)
        return rows.copy_(x.view(as_bits)).view(x.dtype)

    def check(self, x: Tensor, k: int, **arguments: Any) -> list[list[int]]:
        """Compares all orders; returns the indices of order "value", for answers by hand."""
        arguments = {
            n: a.to(self.device) if isinstance(a, Tensor) else a for n, a in arguments.items()
        }
        found: Tensor | None = None
        for order in ("any", "index", "value"):
            values, indices = self.topk(x, k, order=order, **arguments)
            assert values is not None
            for rows in _row_groups(x):
                of_rows = {
                    n: a[rows].cpu() if isinstance(a, Tensor) and a.dim() == 1 else a
                    for n, a in arguments.items()
                }
                expected = reference.select(x[rows].cpu(), k, order=order, **of_rows)
                testing.assert_same_selection(values[rows], indices[rows], expected, order=order)
            found = indices
        assert found is not None
        return found.tolist()  # type: ignore[no-any-return]


def _row_groups(x: Tensor) -> Iterator[slice]:
    step = max(REFERENCE_ITEMS // max(x.shape[1], 1), 1)
    return (slice(first, first + step) for first in range(0, x.shape[0], step))


@pytest.fixture
def runner(backend: testing.Backend, variant: str | None) -> Runner:
    return Runner(backend, variant)


# Test functions by the fault that they are about.
tests_of: dict[str, Callable[..., None]] = {}


def about(fault: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def register(test: Callable[..., None]) -> Callable[..., None]:
        tests_of[fault] = test
        return test

    return register


def test_every_fault_has_its_test() -> None:
    assert set(tests_of) == set(FAULTS)


def _float_bits(bits: Tensor) -> Tensor:
    return bits.to(torch.int32).view(FP32)


def _generator(seed: int) -> Generator:
    return Generator().manual_seed(seed)


@about("candidate-buffer-4096")
def test_candidate_buffer(runner: Runner) -> None:
    runner.skip_unless(FP32)
    fault = FAULTS["candidate-buffer-4096"]
    x = runner.place(make_values("normal", fault["rows"], fault["cols"], FP32, seed=1))
    values, indices = runner.topk(x, fault["k"], order="index")
    for rows in _row_groups(x):
        expected = reference.select(x[rows].cpu(), fault["k"], order="index")
        testing.assert_same_selection(values[rows], indices[rows], expected, order="index")


@about("coarse-equal-fine-different")
def test_coarse_equal_fine_different(runner: Runner) -> None:
    runner.skip_unless(FP32)
    fault = FAULTS["coarse-equal-fine-different"]
    base = int(fault["base_bits"], 16)
    for k in fault["k"]:
        lengths = [k - 1, k, k + 1, 2 * k, *fault["lengths_beside_k"]]
        lengths += [length + 1 for length in lengths]
        low = torch.randint(
            0, fault["low_values"], (len(lengths), max(lengths)), generator=_generator(k)
        )
        x = runner.place(_float_bits(base | low))
        runner.check(x, k, end=torch.tensor(lengths))
        for row in (0, len(lengths) - 1):
            runner.check(runner.place(x[row : row + 1, : lengths[row]].cpu()), k)


@about("linear-bits")
def test_linear_bits(runner: Runner) -> None:
    runner.skip_unless(FP32)
    fault = FAULTS["linear-bits"]
    for base in fault["base_bits"]:
        x = runner.place(_float_bits(int(base, 16) + torch.arange(fault["cols"])[None]))
        last = range(fault["cols"] - 1, fault["cols"] - 1 - fault["k"], -1)
        assert runner.check(x, fault["k"]) == [list(last)]
        assert runner.check(x, fault["k"], largest=False) == [list(range(fault["k"]))]


@about("bf16-few-values")
def test_bf16_few_values(runner: Runner) -> None:
    runner.skip_unless(BF16)
    fault = FAULTS["bf16-few-values"]
    x = runner.place((torch.arange(fault["cols"])[None] % 64 / 64).to(BF16))
    best = [*range(63, fault["cols"], 64), 62]
    for k in fault["k"]:
        assert runner.check(x, k) == [best[:k]]


@about("few-large-rest-zero")
def test_few_large_rest_zero(runner: Runner) -> None:
    runner.skip_unless(FP32)
    fault = FAULTS["few-large-rest-zero"]
    places = torch.randperm(fault["cols"], generator=_generator(5))[: fault["num_large"]]
    x = torch.zeros(1, fault["cols"])
    x[0, places] = torch.arange(fault["num_large"], 0, -1) * 3.5
    got = runner.check(runner.place(x), fault["k"])[0]
    assert got[: fault["num_large"]] == places.tolist()
    zeros = [p for p in range(fault["cols"]) if x[0, p] == 0]
    assert got[fault["num_large"] :] == zeros[: fault["k"] - fault["num_large"]]


@about("constant-row")
def test_constant_row(runner: Runner) -> None:
    for dtype in runner.backend.limits.value_dtypes:
        for cols in FAULTS["constant-row"]["cols"]:
            x = runner.place(torch.ones(1, cols, dtype=dtype))
            for k in FAULTS["constant-row"]["k"]:
                assert runner.check(x, k) == [list(range(k))]


@about("two-rows-many-ties")
def test_two_rows_many_ties(runner: Runner) -> None:
    runner.skip_unless(FP32)
    fault = FAULTS["two-rows-many-ties"]
    x = torch.randint(0, fault["distinct"], (2, fault["cols"]), generator=_generator(8)).float()
    got = runner.check(runner.place(x), fault["k"], end=torch.tensor(fault["lengths"]))
    for row, length in zip(got, fault["lengths"], strict=True):
        assert all(0 <= index < length for index in row)


@about("signed-zero-tie")
def test_signed_zero_tie(runner: Runner) -> None:
    fault = FAULTS["signed-zero-tie"]
    for dtype in runner.backend.limits.value_dtypes:
        if not dtype.is_floating_point:
            continue
        pair = runner.place(torch.tensor([[-0.0, 0.0]], dtype=dtype))
        assert runner.check(pair, 1) == [[0]]
        row = torch.tensor([-0.0, 0.0], dtype=dtype).repeat(fault["cols"] // 2)[None]
        for largest in (True, False):
            got = runner.check(runner.place(row), fault["k"], largest=largest)
            assert got == [list(range(fault["k"]))]


@about("all-nan")
def test_all_nan(runner: Runner) -> None:
    fault = FAULTS["all-nan"]
    for dtype in runner.backend.limits.value_dtypes:
        if not dtype.is_floating_point:
            continue
        x = runner.place(make_values("all_nan", fault["rows"], fault["cols"], dtype, seed=2))
        first = [list(range(fault["k"]))] * fault["rows"]
        for nan in ("largest", "smallest"):
            for largest in (True, False):
                assert runner.check(x, fault["k"], nan=nan, largest=largest) == first
        assert runner.check(x, fault["k"], nan="poison") == [[-1] * fault["k"]] * fault["rows"]


@about("mostly-nan")
def test_mostly_nan(runner: Runner) -> None:
    fault = FAULTS["mostly-nan"]
    shape = (fault["rows"], fault["cols"])
    is_nan = torch.rand(shape, generator=_generator(4)) < fault["nan_share"]
    x = torch.randn(shape, generator=_generator(5)).masked_fill(is_nan, float("nan"))
    for dtype in (BF16, FP32):
        if dtype not in runner.backend.limits.value_dtypes:
            continue
        placed = runner.place(x.to(dtype))
        got = runner.check(placed, fault["k"])
        for row, nans in zip(got, is_nan, strict=True):
            assert row == nans.nonzero().flatten().tolist()[: fault["k"]]
        got = runner.check(placed, fault["k"], nan="smallest")
        for row, nans in zip(got, is_nan, strict=True):
            num_numbers = int((~nans).sum())
            assert not nans[row[:num_numbers]].any()
            rest = nans.nonzero().flatten().tolist()[: fault["k"] - num_numbers]
            assert row[num_numbers:] == rest


@about("nan-wide-batch")
def test_nan_wide_batch(runner: Runner) -> None:
    fault = FAULTS["nan-wide-batch"]
    for dtype in runner.backend.limits.value_dtypes:
        if not dtype.is_floating_point:
            continue
        x = make_values("normal", fault["rows"], fault["cols"], dtype, seed=6)
        x[:: fault["nan_every"]] = float("nan")
        got = runner.check(runner.place(x), fault["k"])
        assert got[:: fault["nan_every"]] == [list(range(fault["k"]))] * len(got[::3])
        for row in got:
            assert len(set(row)) == fault["k"]
            assert all(0 <= index < fault["cols"] for index in row)


@about("nan-after-end")
def test_nan_after_end(runner: Runner) -> None:
    fault = FAULTS["nan-after-end"]
    lengths = torch.randint(1, fault["cols"], (fault["rows"],), generator=_generator(9))
    for dtype in runner.backend.limits.value_dtypes:
        if not dtype.is_floating_point:
            continue
        clean = make_values("normal", fault["rows"], fault["cols"], dtype, seed=7)
        for bad in (float("nan"), float("inf"), float("-inf")):
            x = clean.clone()
            for row, length in enumerate(lengths):
                x[row, length:] = bad
            for nan in ("largest", "poison"):
                got = runner.check(runner.place(x), fault["k"], end=lengths, nan=nan)
                for row in (0, 1):
                    cut = runner.place(clean[row : row + 1, : int(lengths[row])])
                    assert runner.check(cut, fault["k"], nan=nan) == [got[row]]


@about("minus-inf-rest")
def test_minus_inf_rest(runner: Runner) -> None:
    fault = FAULTS["minus-inf-rest"]
    for dtype in runner.backend.limits.value_dtypes:
        if not dtype.is_floating_point:
            continue
        inf = float("inf")
        x = runner.place(torch.tensor([[0.5, -inf, -inf, -inf, -inf]], dtype=dtype))
        assert runner.check(x, 3) == [[0, 1, 2]]
        x = runner.place(torch.full((fault["rows"], fault["cols"]), -inf, dtype=dtype))
        assert runner.check(x, 1) == [[0]] * fault["rows"]
        assert runner.check(x, 600) == [list(range(600))] * fault["rows"]


@about("below-half-range")
def test_below_half_range(runner: Runner) -> None:
    runner.skip_unless(FP32)
    fault = FAULTS["below-half-range"]
    noise = torch.rand(fault["rows"], fault["cols"], generator=_generator(3))
    runner.check(runner.place(fault["level"] + noise), fault["k"])


@about("length-minus-one")
def test_length_minus_one(runner: Runner) -> None:
    fault = FAULTS["length-minus-one"]
    ends = fault["ends"]
    for dtype in runner.backend.limits.value_dtypes:
        x = runner.place(make_values("normal", len(ends), fault["cols"], dtype, seed=12))
        for end_dtype in (torch.int32, torch.int64):
            got = runner.check(x, fault["k"], end=torch.tensor(ends, dtype=end_dtype))
            for row, end in zip(got, ends, strict=True):
                num_valid = min(max(end, 0), fault["k"])
                assert row[num_valid:] == [-1] * (fault["k"] - num_valid)
                assert all(0 <= index < min(end, fault["cols"]) for index in row[:num_valid])


@about("length-shorter-than-width")
def test_length_shorter_than_width(runner: Runner) -> None:
    fault = FAULTS["length-shorter-than-width"]
    for dtype in runner.backend.limits.value_dtypes:
        x = runner.place(make_values("normal", fault["rows"], fault["cols"], dtype, seed=13))
        end = torch.full((fault["rows"],), fault["end"])
        got = runner.check(x, fault["k"], end=end)
        assert all(0 <= index < fault["end"] for row in got for index in row)


@about("tiny-length")
def test_tiny_length(runner: Runner) -> None:
    fault = FAULTS["tiny-length"]
    for dtype in runner.backend.limits.value_dtypes:
        x = runner.place(torch.arange(fault["cols"])[None].to(dtype))
        got = runner.check(x, fault["k"], end=torch.tensor([fault["end"]]))
        assert got == [[4, 3, 2, 1]]


@about("begin-end-window")
def test_begin_end_window(runner: Runner) -> None:
    fault = FAULTS["begin-end-window"]
    generator = _generator(14)
    begin = torch.randint(0, fault["begin_below"], (fault["rows"],), generator=generator)
    end = torch.randint(0, fault["cols"] + 1, (fault["rows"],), generator=generator)
    for dtype in runner.backend.limits.value_dtypes:
        x = runner.place(make_values("normal", fault["rows"], fault["cols"], dtype, seed=14))
        got = runner.check(x, fault["k"], begin=begin, end=end)
        for row, length in zip(got, (end - begin).tolist(), strict=True):
            assert all(index < max(length, 0) for index in row)


@about("offset-overflow-int32")
def test_offset_overflow_int32(runner: Runner) -> None:
    fault = FAULTS["offset-overflow-int32"]
    for dtype in runner.backend.limits.value_dtypes:
        x = torch.zeros(1, fault["cols"], dtype=dtype)
        x[0, 1] = 1
        for offset_dtype in (torch.int32, torch.int64):
            offset = torch.tensor([fault["index_offset"]], dtype=offset_dtype)
            got = runner.check(runner.place(x), 1, index_offset=offset, index_dtype=torch.int64)
            assert got == [[fault["index"]]]


@about("small-view-output")
def test_small_view_output(runner: Runner) -> None:
    fault = FAULTS["small-view-output"]
    for dtype in runner.backend.limits.value_dtypes:
        x = runner.place(make_values("few_distinct", 2, fault["cols"], dtype, seed=15))
        for k in fault["k"]:
            expected = reference.select(x.cpu(), k, order="index")
            for gap in (7, 0):  # (2, 1) in rows of eight: nine items of storage at most
                indices = testing.GuardedTensor((2, k), torch.int32, x.device, gap_items=gap)
                values = testing.GuardedTensor((2, k), dtype, x.device, gap_items=gap)
                runner.topk(x, k, order="index", out=(values.view, indices.view))
                testing.assert_same_selection(values.view, indices.view, expected, order="index")
                values.assert_intact("values")
                indices.assert_intact("indices")


@about("last-row-at-end")
def test_last_row_at_end(runner: Runner) -> None:
    """Answers here; test_guard_pages.py and the device's memory checker see the reads."""
    runner.skip_unless(FP32)
    fault = FAULTS["last-row-at-end"]
    storage = make_values("normal", 1, fault["storage_items"], FP32, seed=16)[0].to(runner.device)
    x = storage.as_strided((fault["rows"], fault["cols"]), (fault["row_stride"], 1))
    assert x.untyped_storage().nbytes() == 4 * fault["storage_items"]
    runner.check(x, fault["k"])


@about("misaligned-base")
def test_misaligned_base(runner: Runner) -> None:
    fault = FAULTS["misaligned-base"]
    for dtype in (BF16, FP32):
        if dtype not in runner.backend.limits.value_dtypes:
            continue
        for cols in fault["cols"]:
            base = make_values("normal", 2, cols + 1, dtype, seed=17).to(runner.device)
            views = [base.flatten()[1 : 1 + cols].view(1, cols), base[:, 1:]]
            for x in views:
                if runner.backend.limits.row_alignment_bytes > dtype.itemsize:
                    with pytest.raises(runner.refusal, match=r"aligned .* deepselect\.empty_rows"):
                        runner.topk(x, fault["k"])
                else:
                    runner.check(x, fault["k"])


@about("batch-times-cols-beyond-2^32")
def test_batch_times_cols_beyond_32_bits(runner: Runner) -> None:
    fault = FAULTS["batch-times-cols-beyond-2^32"]
    rows, cols, last = fault["rows"], fault["cols"], fault["rows_with_data"]
    runner.skip_unless(FP16)
    if runner.device.type == "cuda":
        free_bytes, _ = torch.cuda.mem_get_info(runner.device)
        if free_bytes < 12 * 2**30:
            pytest.skip("needs 12 GiB of device memory")
    assert rows * cols > 2**32
    x = torch.empty(rows, cols, dtype=FP16, device=runner.device)  # on a host, never touched
    x[-last:] = make_values("normal", last, cols, FP16, seed=18).to(runner.device)
    end = torch.zeros(rows, dtype=torch.int32)
    end[-last:] = cols
    values, indices = runner.topk(x, fault["k"], end=end.to(runner.device), order="value")
    assert values is not None
    expected = reference.select(x[-last:].cpu(), fault["k"], order="value")
    testing.assert_same_selection(values[-last:], indices[-last:], expected, order="value")
    assert (indices[:-last] == -1).all()
    assert (values[:-last] == float("-inf")).all()


@about("expanded-output")
def test_expanded_output(runner: Runner) -> None:
    fault = FAULTS["expanded-output"]
    rows, k = fault["rows"], fault["k"]
    dtype = runner.backend.limits.value_dtypes[0]
    x = runner.place(make_values("normal", rows, fault["cols"], dtype, seed=19))
    storage = torch.full((1, k), 77, dtype=torch.int32, device=runner.device)
    with pytest.raises(runner.refusal, match="indices must have rows that do not overlap"):
        runner.topk(x, k, out=(None, storage.expand(rows, k)))
    assert (storage == 77).all()
    indices = torch.full((rows, k), 77, dtype=torch.int32, device=runner.device)
    values = torch.full((1, k), 77, dtype=dtype, device=runner.device)
    with pytest.raises(runner.refusal, match="values must have rows that do not overlap"):
        runner.topk(x, k, out=(values.expand(rows, k), indices))
    assert (values == 77).all()
    assert (indices == 77).all()


@about("alternating-magnitude")
def test_alternating_magnitude(runner: Runner) -> None:
    fault = FAULTS["alternating-magnitude"]
    for dtype in runner.backend.limits.value_dtypes:
        for cols in fault["cols"]:
            x = runner.place(make_values("alternating_extremes", 1, cols, dtype))
            assert runner.check(x, fault["k"]) == [list(range(0, 2 * fault["k"], 2))]
            got = runner.check(x, fault["k"], largest=False)
            assert got == [list(range(1, 2 * fault["k"], 2))]


@about("subnormals")
@pytest.mark.parametrize("flush", [False, True])
def test_subnormals(runner: Runner, flush: bool) -> None:
    fault = FAULTS["subnormals"]
    if flush and not torch.set_flush_denormal(True):
        pytest.skip("this processor has no flush-to-zero mode")
    try:
        for dtype in runner.backend.limits.value_dtypes:
            if not dtype.is_floating_point:
                continue
            x = make_values("subnormals", fault["rows"], fault["cols"], dtype, seed=20)
            x = runner.place(x)
            for largest in (True, False):
                runner.check(x, fault["k"], largest=largest)
    finally:
        torch.set_flush_denormal(False)
