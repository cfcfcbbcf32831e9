"""Random calls against the reference. Few examples, always the same ones, unless asked otherwise:
``pytest tests/test_fuzz.py --hypothesis-profile=soak``.
"""

from __future__ import annotations

from typing import Any

import torch
from hypothesis import event, given, settings
from hypothesis import strategies as st
from torch import Tensor

from biases import BIASES, WEIGHTS
from cases import DTYPES, MAX_INT32, MAX_INT64, MIN_INT32, MIN_INT64, OUTPUTS, Call
from checking import check_call
from deepselect import reference, testing
from distributions import DISTRIBUTIONS, bits_type, make_values

# Patterns at which keys change their behaviour, as 16-bit floats; 32-bit ones get a low half too.
EDGE_PATTERNS = (
    *(0x0000, 0x8000, 0x0001, 0x8001, 0x007F, 0x0080, 0x03FF, 0x0400, 0x3C00, 0x3F80, 0xBF80),
    *(0x7BFF, 0x7C00, 0x7C01, 0x7E00, 0xFC00, 0xFC01, 0x7F7F, 0x7F80, 0x7F81, 0x7FC0, 0x7FFF),
    *(0xFF7F, 0xFF80, 0xFF81, 0xFFFF),
)


@st.composite
def patterns(draw: st.DrawFn, dtype: torch.dtype) -> int:
    """One value's bits, as a signed integer."""
    high = draw(st.one_of(st.sampled_from(EDGE_PATTERNS), st.integers(0, 0xFFFF)))
    if dtype.itemsize == 2:
        return high - 0x10000 * (high >> 15)
    low = draw(st.sampled_from((0, 0, 1, 0x7FFF, 0xFFFF)))
    return (high << 16 | low) - 0x1_0000_0000 * (high >> 15)


def laid_out(bits: Tensor, gap: int, offset: int) -> Tensor:
    """A copy with rows `gap` items apart, `offset` items into its storage, all ones around."""
    rows, cols = bits.shape
    storage = torch.full((offset + rows * (cols + gap) + 1,), -1, dtype=bits.dtype)
    return storage.as_strided((rows, cols), (cols + gap, 1), offset).copy_(bits)


@st.composite
def values(draw: st.DrawFn, dtype: torch.dtype, rows: int, cols: int) -> Tensor:
    """Few values in many places, or one of the named distributions."""
    seed = draw(st.integers(0, 2**32 - 1))
    if draw(st.booleans()):
        name = draw(st.sampled_from(sorted(DISTRIBUTIONS)))
        return make_values(name, rows, cols, dtype, seed=seed).view(bits_type(dtype))
    alphabet = torch.tensor(draw(st.lists(patterns(dtype), min_size=1, max_size=8)))
    choice = torch.randint(
        0, len(alphabet), (rows, cols), generator=torch.Generator().manual_seed(seed)
    )
    return alphabet[choice].to(bits_type(dtype))


@st.composite
def row_vectors(draw: st.DrawFn, rows: int, low: int, high: int, is_int64: bool) -> Tensor:
    """One integer per row, mostly in [low, high]."""
    edges = (MIN_INT64, MAX_INT64, 2**32) if is_int64 else (MIN_INT32, MAX_INT32)
    item = st.one_of(st.integers(low, high), st.sampled_from(edges))
    data = draw(st.lists(item, min_size=rows, max_size=rows))
    dtype = torch.int64 if is_int64 else torch.int32
    stride = draw(st.sampled_from((1, 1, 2)))
    storage = torch.full((max(rows * stride, 1),), -77, dtype=dtype)
    view = storage[: rows * stride : stride]
    return view.copy_(torch.tensor(data, dtype=dtype)) if rows else view


@st.composite
def mappings(draw: st.DrawFn, rows: int, cols: int) -> dict[str, Any]:
    kind = draw(st.sampled_from(("none", "none", "offset", "pages")))
    if kind == "none":
        return {}
    if kind == "offset":
        return {"index_offset": draw(row_vectors(rows, -1000, 1000, draw(st.booleans())))}
    page_size = 2 ** draw(st.one_of(st.integers(0, 7), st.just(30)))
    pages = draw(st.integers(0, max(cols // page_size, 0) + 3))
    arguments: dict[str, Any] = {"page_size": page_size}
    tables = rows
    if draw(st.booleans()):
        tables = draw(st.integers(0, 4))
        arguments["page_table_row"] = draw(row_vectors(rows, -1, tables, False))
    if draw(st.booleans()):
        arguments["page_table_begin"] = draw(row_vectors(rows, -1, pages + 1, False))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32 - 1)))
    table = torch.randint(MIN_INT32, MAX_INT32, (tables, pages), generator=generator).int()
    arguments["page_table"] = table.t().contiguous().t() if draw(st.booleans()) else table
    return arguments


@st.composite
def calls(draw: st.DrawFn, max_rows: int, max_cols: int) -> Call:
    dtype = getattr(torch, draw(st.sampled_from(DTYPES)))
    rows = draw(st.integers(0, max_rows))
    cols = draw(st.one_of(st.integers(0, min(max_cols, 70)), st.integers(0, max_cols)))
    k = draw(st.one_of(st.integers(0, 9), st.integers(0, cols + 3)))
    bits = draw(values(dtype, rows, cols))
    x = laid_out(bits, draw(st.integers(0, 5)), draw(st.integers(0, 9))).view(dtype)
    arguments = draw(mappings(rows, cols))
    for name in ("begin", "end"):
        if draw(st.booleans()):
            arguments[name] = draw(row_vectors(rows, -3, cols + 3, draw(st.booleans())))
    arguments["order"] = draw(st.sampled_from(("any", "value", "index")))
    arguments["largest"] = draw(st.booleans())
    arguments["nan"] = draw(st.sampled_from(("largest", "smallest", "poison")))
    if draw(st.booleans()):
        arguments["index_dtype"] = torch.int64
    arguments["pad_index"] = draw(st.integers(MIN_INT32, MAX_INT32))
    pad_range = st.integers(MIN_INT32, MAX_INT32).map(float)
    pads = st.floats(width=32) if dtype.is_floating_point else pad_range
    arguments["pad_value"] = draw(st.one_of(st.none(), pads))
    return Call(x, k, arguments)


@st.composite
def weighted_calls(draw: st.DrawFn, max_rows: int, max_cols: int) -> Call:
    """Calls with weights, a bias or both; values as the other calls have them, NaN included."""
    call = draw(calls(max_rows, max_cols))
    if not call.input.dtype.is_floating_point:
        call = Call(call.input.float(), call.k, call.arguments)
    arguments = {**call.arguments, "weights": draw(st.sampled_from(WEIGHTS))}
    if draw(st.booleans()) or arguments["weights"] == "none":
        kind = draw(st.sampled_from([name for name in BIASES if name != "none"]))
        generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32 - 1)))
        arguments["bias"] = BIASES[kind](call.input.shape[-1], generator)
    if arguments["weights"] == "none":
        del arguments["weights"]
    return Call(call.input, call.k, arguments)


def _check(call: Call, outputs: str, backend: testing.Backend, variant: str | None) -> None:
    limits = backend.limits
    if call.input.dtype not in limits.value_dtypes or call.k > limits.max_k:
        event("beyond the backend's limits")
        return
    call.arguments["return_values"] = "indices" not in outputs
    expected = reference.select(call.input, call.k, **call.arguments)
    check_call(_moved(call, backend), expected, backend, variant, outputs)


def _moved(call: Call, backend: testing.Backend) -> Call:
    """The call on the backend's device, its input aligned where the backend wants that."""
    if backend.device.type == "cpu":
        return call
    as_bits = bits_type(call.input.dtype)
    alignment = max(backend.limits.row_alignment_bytes // call.input.dtype.itemsize, 1)
    rows, cols = call.input.shape
    stride = -(-max(call.input.stride(0), cols) // alignment) * alignment
    storage = torch.full((rows * stride + 1,), -1, dtype=as_bits, device=backend.device)
    x = storage.as_strided((rows, cols), (stride, 1))
    x.copy_(call.input.view(as_bits))
    arguments = {
        n: a.to(backend.device) if isinstance(a, Tensor) else a for n, a in call.arguments.items()
    }
    return Call(x.view(call.input.dtype), call.k, arguments)


@given(call=calls(max_rows=6, max_cols=600), outputs=st.sampled_from(OUTPUTS))
@settings(max_examples=settings().max_examples * 4)
def test_small_calls(
    call: Call, outputs: str, backend: testing.Backend, variant: str | None
) -> None:
    _check(call, outputs, backend, variant)


@given(call=weighted_calls(max_rows=40, max_cols=600), outputs=st.sampled_from(OUTPUTS))
@settings(max_examples=settings().max_examples * 2)
def test_weighted_calls(
    call: Call, outputs: str, backend: testing.Backend, variant: str | None
) -> None:
    if not backend.limits.has_weights:
        return
    if "weights" in call.arguments:
        outputs = outputs.replace("_indices", "")
    _check(call, outputs, backend, variant)


@given(call=calls(max_rows=3, max_cols=150_000), outputs=st.sampled_from(OUTPUTS))
def test_long_rows(call: Call, outputs: str, backend: testing.Backend, variant: str | None) -> None:
    _check(call, outputs, backend, variant)


@given(call=calls(max_rows=400, max_cols=300), outputs=st.sampled_from(OUTPUTS))
def test_many_rows(call: Call, outputs: str, backend: testing.Backend, variant: str | None) -> None:
    _check(call, outputs, backend, variant)
