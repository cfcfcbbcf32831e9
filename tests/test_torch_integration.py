"""The op as a citizen of torch: fake tensors, compile, export, modes, threads, memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import deepselect
from deepselect import testing
from inputs import make_x, moved, windows

OP = torch.ops.deepselect.topk
INT32, INT64 = torch.int32, torch.int64


CALLS: list[dict[str, Any]] = [
    {},
    {"order": "value", "largest": False},
    {"order": "index", "nan": "poison", "index_dtype": INT64, "pad_index": -5, "pad_value": 0.5},
    {"order": "index", **windows()},
    {"order": "value", "index_offset": torch.arange(4) * 1000, **windows()},
    {"return_values": False, "order": "index"},
    {"order": "value", "weights": "softmax"},
    {"order": "index", "weights": "sigmoid_selected", "nan": "poison", **windows()},
    {
        "order": "value",
        "page_table": torch.arange(4 * 7, dtype=INT32).view(4, 7),
        "page_size": 8,
        "page_table_row": torch.tensor([3, 0, 9, 1], dtype=INT32),
        "page_table_begin": torch.tensor([0, 1, 2, 7], dtype=INT32),
    },
]


@pytest.fixture(autouse=True)
def _fresh_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Inductor's cache on disk ignores that a schema has changed."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "inductor"))
    torch.compiler.reset()
    yield
    torch.compiler.reset()


# ---- Schema, opcheck, fake tensors -------------------------------------------------------------

SCHEMA = (
    "deepselect::topk(Tensor input, SymInt k, Tensor? begin=None, Tensor? end=None, "
    "Tensor? index_offset=None, Tensor? page_table=None, Tensor? page_table_row=None, "
    "Tensor? page_table_begin=None, Tensor? bias=None, *, int page_size=1, str order='any', "
    "bool largest=True, str nan='largest', str weights='none', bool return_values=True, "
    "ScalarType? index_dtype=None, int pad_index=-1, float? pad_value=None) "
    "-> (Tensor values, Tensor indices)"
)
SCHEMA_OUT = (
    "deepselect::topk.out(Tensor input, SymInt k, Tensor? begin=None, Tensor? end=None, "
    "Tensor? index_offset=None, Tensor? page_table=None, Tensor? page_table_row=None, "
    "Tensor? page_table_begin=None, Tensor? bias=None, *, int page_size=1, str order='any', "
    "bool largest=True, str nan='largest', str weights='none', int pad_index=-1, "
    "float? pad_value=None, Tensor(a!) indices, "
    "Tensor(b!)? values=None, Tensor(c!)? raw_indices=None) -> ()"
)


def test_schemas() -> None:
    assert str(OP.default._schema).replace('"', "'") == SCHEMA
    assert str(OP.out._schema).replace('"', "'") == SCHEMA_OUT


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("requires_grad", [False, True])
def test_opcheck(call: dict[str, Any], requires_grad: bool, device: torch.device) -> None:
    if requires_grad and "page_table" in call:
        pytest.skip("no gradient through a page table")
    if device.type != "cpu" and call.get("order", "any") == "any":
        pytest.skip("opcheck compares two runs: order must be stated")
    x = make_x(device=device).requires_grad_(requires_grad)
    torch.library.opcheck(OP.default, (x, 6), moved(call, device))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int32])
def test_opcheck_of_other_dtypes(dtype: torch.dtype, device: torch.device) -> None:
    x = make_x(dtype=dtype, device=device)
    torch.library.opcheck(OP.default, (x, 6), {"order": "value"})


@pytest.mark.parametrize("weights", ["none", "softmax", "sigmoid"])
def test_opcheck_with_a_bias(weights: str, device: torch.device) -> None:
    x = make_x(device=device).requires_grad_()
    bias = torch.linspace(-1, 1, 50, device=device)
    call = {"bias": bias, "weights": weights, "order": "value"}
    torch.library.opcheck(OP.default, (x, 6), call)


@pytest.mark.parametrize("index_dtype", [INT32, INT64])
@pytest.mark.parametrize("with_all", [False, True])
def test_opcheck_of_out(index_dtype: torch.dtype, with_all: bool, device: torch.device) -> None:
    arguments: dict[str, Any] = {"indices": torch.empty(4, 6, dtype=index_dtype), "order": "index"}
    if with_all:
        arguments |= {
            "values": torch.empty(4, 6),
            "raw_indices": torch.empty(4, 6, dtype=INT32),
            **windows(),
        }
    torch.library.opcheck(OP.out, (make_x(device=device), 6), moved(arguments, device))


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("shape", [(50,), (4, 50), (2, 2, 50), (4, 0)])
def test_meta_has_shapes_and_dtypes_of_the_real_call(
    call: dict[str, Any], shape: tuple[int, ...]
) -> None:
    if len(shape) == 1 and any(isinstance(a, Tensor) for a in call.values()):
        pytest.skip("per-row arguments are for four rows")
    x = torch.zeros(shape, dtype=torch.bfloat16)
    meta_call = moved(call, "meta")
    for k in (0, 6, 70):
        real = OP(x, k, **call)
        meta = OP(x.to("meta"), k, **meta_call)
        for r, m in zip(real, meta, strict=True):
            assert m.device.type == "meta"
            assert (r.shape, r.dtype, r.stride()) == (m.shape, m.dtype, m.stride())


def test_meta_refuses_what_has_no_shape() -> None:
    with pytest.raises(RuntimeError, match="k must be >= 0"):
        OP(torch.empty(3, 5, device="meta"), -1)
    with pytest.raises(RuntimeError, match="at least 1 dimension"):
        OP(torch.empty((), device="meta"), 1)


# ---- compile -----------------------------------------------------------------------------------


def selection(x: Tensor, k: int, call: dict[str, Any]) -> tuple[Tensor | None, Tensor]:
    values, indices = deepselect.topk(x * 2, k, **call)
    return (None if values is None else values + 1), indices * 3


def assert_same(a: tuple[Tensor | None, Tensor], b: tuple[Tensor | None, Tensor]) -> None:
    for one, other in zip(a, b, strict=True):
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            testing.assert_same_bits(one, other)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("compiler", ["eager", "aot_eager"])
def test_compile_fullgraph(call: dict[str, Any], compiler: str, device: torch.device) -> None:
    if device.type != "cpu" and call.get("order", "any") == "any":
        call = {**call, "order": "value"}
    call = moved(call, device)
    x = make_x(device=device)
    compiled = torch.compile(selection, fullgraph=True, backend=compiler)
    assert_same(compiled(x, 6, call), selection(x, 6, call))


@pytest.mark.parametrize("dynamic", [False, True])
def test_compile_by_inductor(dynamic: bool, device: torch.device) -> None:
    call = moved({"order": "value", **windows()}, device)
    x = make_x(device=device)
    compiled = torch.compile(selection, fullgraph=True, dynamic=dynamic)
    assert_same(compiled(x, 6, call), selection(x, 6, call))


def test_compile_of_out() -> None:
    def write(x: Tensor, values: Tensor, indices: Tensor) -> Tensor:
        deepselect.topk(x * 2, 6, order="value", out=(values, indices))
        return values + indices

    for compiler in ("eager", "aot_eager", "inductor"):
        torch.compiler.reset()
        results = []
        for function in (write, torch.compile(write, fullgraph=True, backend=compiler)):
            values, indices = torch.zeros(4, 6), torch.zeros(4, 6, dtype=INT32)
            results.append((function(make_x(), values, indices), values, indices))
        for one, other in zip(*results, strict=True):
            testing.assert_same_bits(one, other)


def test_compile_with_gradient() -> None:
    def loss(x: Tensor, weight: Tensor) -> Tensor:
        values, _ = deepselect.topk(x, 6, order="value", **windows())
        assert values is not None
        return (values.clamp(min=0) * weight).sum()

    weight = torch.arange(24.0).view(4, 6)
    gradients = []
    for function in (loss, torch.compile(loss, fullgraph=True, backend="aot_eager")):
        x = make_x().requires_grad_()
        function(x, weight).backward()
        assert x.grad is not None
        gradients.append(x.grad)
    testing.assert_same_bits(*gradients)
    assert gradients[0].count_nonzero() > 10


def test_other_k_and_shapes_do_not_recompile() -> None:
    counter = torch._dynamo.testing.CompileCounter()

    def select(x: Tensor, k: int) -> Tensor:
        return deepselect.topk(x, k, order="index").indices

    compiled = torch.compile(select, fullgraph=True, dynamic=True, backend=counter)
    for rows, cols, k in ((4, 50, 6), (5, 60, 7), (9, 300, 33), (6, 40, 40), (3, 77, 12)):
        x = make_x(rows, cols)
        assert torch.equal(compiled(x, k), select(x, k))
    assert counter.frame_count == 1


def test_k_from_a_shape_stays_symbolic() -> None:
    counter = torch._dynamo.testing.CompileCounter()

    def select_half(x: Tensor) -> Tensor:
        return deepselect.topk(x, x.shape[1] // 2, order="index").indices

    compiled = torch.compile(select_half, fullgraph=True, dynamic=True, backend=counter)
    for cols in (50, 61, 84):
        x = make_x(4, cols)
        assert torch.equal(compiled(x), select_half(x))
    assert counter.frame_count == 1


def test_errors_in_a_compiled_region_name_the_rule() -> None:
    compiled = torch.compile(
        lambda x: deepselect.topk(x, 3, order="best"),  # type: ignore[arg-type]
        fullgraph=True,
        backend="eager",
    )
    with pytest.raises(Exception, match="order must be 'any', 'value' or 'index'"):
        compiled(make_x())


# ---- export ------------------------------------------------------------------------------------


class Selector(torch.nn.Module):
    def forward(self, x: Tensor, end: Tensor) -> deepselect.TopK:
        return deepselect.topk(x * 2, 6, end=end, order="value", index_dtype=INT64)


def test_export_save_load(tmp_path: Path) -> None:
    rows = torch.export.Dim("rows", min=2, max=100)
    cols = torch.export.Dim("cols", min=8, max=1000)
    program = torch.export.export(
        Selector(),
        (make_x(), torch.full((4,), 30)),
        dynamic_shapes={"x": {0: rows, 1: cols}, "end": {0: rows}},
    )
    torch.export.save(program, tmp_path / "selector.pt2")
    loaded = torch.export.load(tmp_path / "selector.pt2").module()
    for shape in ((4, 50), (7, 90)):
        x, end = make_x(*shape), torch.arange(shape[0]) * 9
        expected = Selector()(x, end)
        result = loaded(x, end)
        assert isinstance(result, deepselect.TopK)
        assert_same(result, expected)


# ---- Modes -------------------------------------------------------------------------------------


def test_inference_mode() -> None:
    expected = deepselect.topk(make_x(), 6, order="value")
    with torch.inference_mode():
        got = deepselect.topk(make_x(), 6, order="value")
        assert got.indices.is_inference()
    assert_same(got, expected)


@pytest.mark.usefixtures("deterministic")
def test_any_is_index_under_deterministic_algorithms(backend: testing.Backend) -> None:
    x = make_x(8, 4000, backend.limits.value_dtypes[0]).to(backend.device)
    expected = deepselect.topk(x, 300, order="index")
    assert_same(deepselect.topk(x, 300, order="any"), expected)


def test_lazily_negated_input() -> None:
    x = make_x()
    assert_same(
        deepselect.topk(torch._neg_view(x), 6, order="value"),
        deepselect.topk(-x, 6, order="value"),
    )


# ---- Threads, memory ---------------------------------------------------------------------------


@pytest.fixture
def restore_threads() -> Iterator[None]:
    num_threads = torch.get_num_threads()
    yield
    torch.set_num_threads(num_threads)


@pytest.mark.usefixtures("restore_threads")
@pytest.mark.parametrize("shape", [(1, 300_000), (3, 100_000), (500, 700)])
def test_thread_count_does_not_matter(shape: tuple[int, int]) -> None:
    x = make_x(*shape, torch.bfloat16)
    results = []
    for num_threads in (1, 2, 5):
        torch.set_num_threads(num_threads)
        results.append(deepselect.topk(x, 600, order="value"))
    assert_same(results[0], results[1])
    assert_same(results[0], results[2])


def test_calls_from_two_threads_at_once() -> None:
    inputs = [make_x(20, 3000 + i) for i in range(2)]
    expected = [deepselect.topk(x, 100, order="value") for x in inputs]
    failures: list[BaseException] = []

    def work(i: int) -> None:
        try:
            for _ in range(100):
                assert_same(deepselect.topk(inputs[i], 100, order="value"), expected[i])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


MEMORY_CALLS: dict[str, Callable[[Tensor], Any]] = {
    "front": lambda x: deepselect.topk(x, 8, order="value", nan="smallest", end=windows()["end"]),
    "op": lambda x: OP(x, 8, order="index", nan="poison"),
    "error": lambda x: _ignore_error(lambda: deepselect.topk(x, -1)),
    "op_error": lambda x: _ignore_error(lambda: OP(x, 8, order="no such order")),
}


def _ignore_error(call: Callable[[], Any]) -> None:
    with pytest.raises((ValueError, RuntimeError)):
        call()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
@pytest.mark.parametrize("name", MEMORY_CALLS)
def test_host_memory_does_not_grow(name: str) -> None:
    """96 bytes a call, which torch's own unboxing of strings leaks, would be 960 KB."""
    call, x = MEMORY_CALLS[name], make_x()
    for _ in range(2000):
        call(x)
    before = _resident_bytes()
    for _ in range(10_000):
        call(x)
    assert _resident_bytes() - before < 400_000
