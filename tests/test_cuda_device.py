"""What only a device can show: devices, streams, graphs, launches back to back, offsets beyond 32
bits, every alignment, the same bits in every run.

What is selected is judged elsewhere: the contract, the case table, the fuzzer and the known faults
run on CUDA too, with every variant forced. So answers are compared with the CPU backend's here.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch import Tensor

import deepselect
from cuda_variants import (
    SHAPES,
    VARIANTS,
    Shape,
    Variant,
    assert_same,
    each_variant,
    needs_cuda,
    on_cpu,
    served,
)
from deepselect import testing
from distributions import bits_type, make_values

pytestmark = needs_cuda

BF16, FP16, FP32, INT32 = torch.bfloat16, torch.float16, torch.float32, torch.int32
DTYPES = (BF16, FP16, FP32, INT32)

# Tens of milliseconds: a host that waits is seen, and queues fill before the first call runs.
SLEEP_CYCLES = 50_000_000


# ---- Devices and streams -----------------------------------------------------------------------


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")
@each_variant
def test_input_on_a_device_that_is_not_current(forced: Variant) -> None:
    for shape in served(forced):
        x = make_values("normal", shape.rows, shape.cols, FP32, seed=1)
        with torch.cuda.device(0):
            got = forced.topk(x.to("cuda:1"), shape.k, order="index")
            assert torch.cuda.current_device() == 0
        assert got is not None
        assert got.indices.device == torch.device("cuda:1")
        assert_same(got, on_cpu(x, shape.k, order="index"), shape)


@each_variant
def test_runs_on_the_current_stream_and_does_not_wait(forced: Variant) -> None:
    stream = torch.cuda.Stream()
    for shape in served(forced):
        source = make_values("normal", shape.rows, shape.cols, FP32, seed=2).cuda()
        x = torch.zeros_like(source)
        with torch.cuda.stream(stream):
            forced.topk(x, shape.k, order="index")  # the allocator keeps memory of each stream
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(SLEEP_CYCLES)
            x.copy_(source)
            got = forced.topk(x, shape.k, order="index")
            assert not stream.query(), "the call waited for the device"
        assert torch.cuda.current_stream().query(), "work on a stream that is not current"
        stream.synchronize()
        assert_same(got, on_cpu(source, shape.k, order="index"), shape)


@each_variant
@pytest.mark.parametrize("host", ["one thread", "two threads"])
def test_two_streams_at_once(forced: Variant, host: str) -> None:
    num_calls = 40
    streams = (torch.cuda.Stream(), torch.cuda.Stream())

    def call(stream: torch.cuda.Stream, x: Tensor, k: int) -> deepselect.TopK | None:
        with torch.cuda.stream(stream):
            return forced.topk(x, k, order="index")

    def call_often(stream: torch.cuda.Stream, x: Tensor, k: int) -> list[deepselect.TopK | None]:
        return [call(stream, x, k) for _ in range(num_calls)]

    for shape in served(forced):
        inputs = [make_values("normal", shape.rows, shape.cols, FP32, seed=s) for s in (3, 4)]
        work = list(zip(streams, (x.cuda() for x in inputs), (shape.k, shape.k), strict=True))
        torch.cuda.synchronize()
        if host == "one thread":
            for stream in streams:
                with torch.cuda.stream(stream):
                    torch.cuda._sleep(SLEEP_CYCLES)
            in_turn = [[call(*arguments) for arguments in work] for _ in range(num_calls)]
            results = [list(of_stream) for of_stream in zip(*in_turn, strict=True)]
        else:
            with ThreadPoolExecutor(len(work)) as pool:
                results = list(pool.map(call_often, *zip(*work, strict=True)))
        torch.cuda.synchronize()
        for x, of_stream in zip(inputs, results, strict=True):
            expected = on_cpu(x, shape.k, order="index")
            assert len(of_stream) == num_calls
            for got in of_stream:
                assert_same(got, expected, shape)


# ---- The choice of a variant -------------------------------------------------------------------


def test_the_chosen_variant_is_named() -> None:
    names = set()
    for shape in (*SHAPES, Shape(1, 2**22, 512), Shape(600, 70_000, 512)):
        x = torch.zeros(shape.rows, shape.cols, device="cuda")
        name = testing.chosen_variant(x, shape.k)
        testing.topk_of_variant("cuda", name)(x, shape.k)
        names.add(name)
    assert len(names) > 2
    with pytest.raises(RuntimeError, match="k must be"):
        testing.chosen_variant(x, -1)


# ---- Graphs ------------------------------------------------------------------------------------


def _lengths(rows: int, cols: int, k: int, step: int) -> Tensor:
    """All kinds in every call of many rows, each row another kind in every step."""
    kinds = torch.tensor([-1, 0, k, cols + 17, cols, k - 1, k + 1, cols // 2])
    return kinds[(torch.arange(rows) + step) % len(kinds)].int()


def _mapping(kind: str, shape: Shape, step: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(step)
    if kind == "offset":
        offset = torch.randint(-(2**40), 2**40, (shape.rows,), generator=generator)
        return {"index_offset": offset}
    pages = -(-shape.cols // 64)
    table = torch.randint(0, 2**20, (3, pages), generator=generator, dtype=INT32)
    table_row = torch.randint(-1, 4, (shape.rows,), generator=generator, dtype=INT32)
    return {"page_table": table, "page_table_row": table_row}


def _step_arguments(shape: Shape, kind: str, step: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(100 + step)
    begin = torch.randint(-3, shape.cols // 4, (shape.rows,), generator=generator)
    end = _lengths(shape.rows, shape.cols, shape.k, step)
    return {"begin": begin, "end": end, **_mapping(kind, shape, step)}


def _with_nan_in_one_row(x: Tensor) -> Tensor:
    row, cols = x.shape[0] // 2, x.shape[1]
    x[row, 3 * cols // 8 :: cols // 64] = float("nan")
    return x


@each_variant
@pytest.mark.parametrize("dtype", [BF16, FP32])
@pytest.mark.parametrize("nan", ["largest", "poison"])
@pytest.mark.parametrize("mapping", ["offset", "pages"])
def test_graph_replays_with_changed_inputs(
    forced: Variant, dtype: torch.dtype, nan: str, mapping: str
) -> None:
    steps = ("normal", "few_distinct", "nan in one row", "all_nan", "ascending", "hot_block")
    for shape in served(forced):
        options: dict[str, Any] = {"nan": nan, "order": "index", "index_dtype": torch.int64}
        if mapping == "pages":
            options["page_size"] = 64
        x = torch.zeros(shape.rows, shape.cols, dtype=dtype, device="cuda")
        static = {n: a.cuda() for n, a in _step_arguments(shape, mapping, 0).items()}
        forced.topk(x, shape.k, **static, **options)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            got = forced.topk(x, shape.k, **static, **options)
        for step, name in enumerate(steps):
            distribution = "normal" if name == "nan in one row" else name
            data = make_values(distribution, shape.rows, shape.cols, dtype, seed=step)
            if name == "nan in one row":
                data = _with_nan_in_one_row(data)
            arguments = _step_arguments(shape, mapping, step)
            x.copy_(data)
            for argument_name, argument in arguments.items():
                static[argument_name].copy_(argument)
            graph.replay()
            expected = on_cpu(data, shape.k, **arguments, **options)
            assert_same(got, expected, (shape, name))


# ---- Many launches -----------------------------------------------------------------------------


def test_ten_thousand_launches_without_waiting() -> None:
    """Mixed shapes, types and variants; memory of one call serves the next ones."""
    num_launches, period = 10_000, 499
    calls: list[tuple[Variant, Tensor, int, str]] = []
    for i, (rows, cols, k) in enumerate(
        [(1, 70_000, 512), (3, 5000, 7), (64, 300, 30), (130, 1025, 33), (2, 9000, 4500)]
    ):
        for dtype in DTYPES:
            x = make_values("few_distinct" if i % 2 else "normal", rows, cols, dtype, seed=i).cuda()
            for j, forced in enumerate(VARIANTS):
                order = ("index", "value")[j % 2]
                if forced.topk(x, k, order=order) is not None:
                    calls.append((forced, x, k, order))
    # Neighbours in the list are alike: a stride that shares no factor with its length mixes them.
    stride = next(s for s in (37, 41, 43) if len(calls) % s)
    kept: dict[int, tuple[int, deepselect.TopK | None]] = {}
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        for number in range(num_launches):
            which = number * stride % len(calls)
            forced, x, k, order = calls[which]
            got = forced.topk(x, k, order=order)
            if number % period == 0 or number >= num_launches - len(calls):
                kept[number] = (which, got)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    torch.cuda.synchronize()
    assert {which for which, _ in kept.values()} == set(range(len(calls)))
    expected = [on_cpu(x, k, order=order) for _, x, k, order in calls]
    for number, (which, got) in kept.items():
        assert_same(got, expected[which], f"of launch {number}, {calls[which][0].name}")


# ---- Beyond 32 bits ----------------------------------------------------------------------------


def _skip_unless_free(num_gib: int) -> None:
    torch.cuda.empty_cache()
    free_bytes, _ = torch.cuda.mem_get_info()
    if free_bytes < num_gib * 2**30:
        pytest.skip(f"needs {num_gib} GiB of device memory")


def _rows_near_powers(rows: int, row_items: int) -> list[int]:
    """The first, the last, and those about 2^31 and 2^32 items from the first."""
    near = [2**exponent // row_items + i for exponent in (31, 32) for i in (-1, 0, 1)]
    return sorted({0, 1, *(row for row in near if row < rows), rows - 2, rows - 1})


@pytest.mark.parametrize(
    "shape", [Shape(2**17, 40_000, 512), Shape(2**20 + 1, 4096, 64)], ids=["long", "short"]
)
def test_inputs_beyond_32_bits(shape: Shape) -> None:
    """Every row with data: the sampled ones against the CPU, all between the variants."""
    assert shape.rows * shape.cols > 2**32
    _skip_unless_free(24)
    x = torch.empty(shape.rows, shape.cols, dtype=BF16, device="cuda")
    x.normal_(generator=torch.Generator("cuda").manual_seed(5))
    sampled = _rows_near_powers(shape.rows, shape.cols)
    assert len(sampled) > 4
    expected = on_cpu(x[sampled], shape.k, order="index")
    first: Tensor | None = None
    for forced in VARIANTS:
        got = forced.topk(x, shape.k, order="index")
        if got is None:
            continue
        assert got.values is not None
        of_sample = deepselect.TopK(got.values[sampled], got.indices[sampled])
        assert_same(of_sample, expected, forced.name)
        first = got.indices if first is None else first
        assert torch.equal(got.indices, first), f"{forced.name} differs from {VARIANTS[0].name}"


def test_outputs_beyond_32_bits() -> None:
    rows, cols, k = 2**20 + 1, 70, 4096
    assert rows * k > 2**32
    _skip_unless_free(60)
    x = torch.empty(rows, cols, dtype=BF16, device="cuda")
    x.normal_(generator=torch.Generator("cuda").manual_seed(6))
    sampled = _rows_near_powers(rows, k)
    assert len(sampled) > 6
    expected = deepselect.topk(x[sampled].cpu(), k, order="value", return_values=False)
    for forced in VARIANTS:
        got = forced.topk(x, k, order="value", return_values=False)
        if got is None:
            continue
        testing.assert_same_bits(got.indices[sampled], expected.indices, forced.name)
        assert (got.indices[:, cols:] == -1).all(), forced.name
        del got


# ---- Every alignment, every small length -------------------------------------------------------


@each_variant
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_base_and_row_stride(forced: Variant, dtype: torch.dtype) -> None:
    """All bases modulo 16 bytes, with even and odd strides; better values all round the rows."""
    as_bits = bits_type(dtype)
    bait = torch.tensor(2**30 if dtype == INT32 else float("inf"), dtype=dtype)
    num_served = 0
    for rows, cols, k in ((5, 70, 9), (5, 1001, 100), (5, 5000, 512), (3, 40_001, 512)):
        x = make_values("few_distinct", rows, cols, dtype, seed=cols)
        bits = x.view(as_bits).cuda()
        expected = on_cpu(x, k, order="value")
        assert expected.values is not None
        wanted = (expected.indices.cuda(), expected.values.view(as_bits).cuda())
        for gap in (0, 1, 2, 3, 4, 5, 8):
            stride = cols + gap
            storage = bait.view(as_bits).cuda().repeat(16 + rows * stride + 16)
            for offset in range(16 // dtype.itemsize):
                storage.fill_(bait.view(as_bits).item())
                view = storage.as_strided((rows, cols), (stride, 1), offset).copy_(bits)
                got = forced.topk(view.view(dtype), k, order="value")
                if got is None:
                    break
                assert got.values is not None
                num_served += 1
                about = f"{cols} columns, base {offset}, row stride {stride}"
                assert torch.equal(got.indices, wanted[0]), about
                assert torch.equal(got.values.view(as_bits), wanted[1]), about
    assert num_served > 0


@each_variant
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_length_up_to_70(forced: Variant, dtype: torch.dtype) -> None:
    """As rows of that many columns; ties and NaN among them, in both directions."""
    as_bits = bits_type(dtype)
    names = ("normal", "few_distinct", "some_nans", "signed_zeros")
    num_served = 0
    for cols in range(1, 71):
        parts = [make_values(name, 3, cols, dtype, seed=cols) for name in names]
        x = torch.cat([part.view(as_bits) for part in parts]).view(dtype)
        on_device = x.view(as_bits).cuda().view(dtype)
        for i, k in enumerate(sorted({1, 2, 7, 33, max(cols - 1, 1), cols, cols + 1})):
            options: dict[str, Any] = {
                "order": "value",
                "largest": (cols + i) % 2 == 0,
                "nan": ("largest", "smallest", "poison")[(cols + i) % 3],
            }
            got = forced.topk(on_device, k, **options)
            if got is None:
                continue
            num_served += 1
            assert_same(got, on_cpu(x, k, **options), f"{cols} columns, k = {k}, {options}")
    assert num_served > 0


# ---- Determinism -------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [*SHAPES, Shape(300, 20_000, 700)], ids=str)
@pytest.mark.parametrize("distribution", ["normal", "few_distinct", "some_nans", "hot_block"])
def test_a_hundred_runs_of_every_variant_are_alike(shape: Shape, distribution: str) -> None:
    x = make_values(distribution, shape.rows, shape.cols, BF16, seed=7)
    on_device = x.view(torch.int16).cuda().view(BF16)
    expected = on_cpu(x, shape.k, order="index")
    assert expected.values is not None
    indices = expected.indices.cuda()
    value_bits = expected.values.view(torch.int16).cuda()
    for forced in VARIANTS:
        for run in range(100):
            about = f"run {run} of {forced.name}"
            got = forced.topk(on_device, shape.k, order="index")
            if got is None:
                break
            assert got.values is not None
            assert torch.equal(got.indices, indices), about
            assert torch.equal(got.values.view(torch.int16), value_bits), about
            unordered = forced.topk(on_device, shape.k, return_values=False)
            assert unordered is not None
            assert torch.equal(unordered.indices.sort(dim=-1).values, indices), about
