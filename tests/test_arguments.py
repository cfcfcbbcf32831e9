"""Every rejected argument: the class and the text of its error, and that nothing was written.

One table serves the Python front, which raises TypeError or ValueError, and the raw op, which
raises RuntimeError with the same text and the name of the class in front.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import deepselect
from deepselect import testing
from rejected import COLS, INT32, INT64, REJECTED, ROWS, K, Maker, Rejected


def _skip_unless_possible(rejected: Rejected, m: Maker, arguments: dict[str, Any]) -> None:
    """Dtype errors come first, so a pad's test needs a backend that takes the dtype."""
    dtype = arguments["input"].dtype
    if dtype not in m.backend.limits.value_dtypes and "int32 input" in rejected.text:
        pytest.skip(f"{m.backend.device_type} takes no {dtype}")
    if "pad_value" in rejected.name and dtype not in m.backend.limits.value_dtypes:
        pytest.skip(f"{m.backend.device_type} takes no {dtype}")
    is_weighted = "weights" in rejected.name or "bias" in rejected.name
    if is_weighted and not m.backend.limits.has_weights:
        pytest.skip(f"{m.backend.device_type} serves no weights")


def _call_front(arguments: dict[str, Any]) -> Any:
    arguments = dict(arguments)
    if "indices" in arguments:
        arguments["out"] = (arguments.pop("values"), arguments.pop("indices"))
    return deepselect.topk(arguments.pop("input"), arguments.pop("k"), **arguments)


def _call_op(arguments: dict[str, Any]) -> Any:
    arguments = dict(arguments)
    op = torch.ops.deepselect.topk
    overload = op.out if "indices" in arguments else op.default
    return overload(arguments.pop("input"), arguments.pop("k"), **arguments)


def _bytes(x: Tensor) -> bytes:
    storage = x.untyped_storage()
    return bytes(storage.cpu().tolist()) if storage.nbytes() < 10_000 else b""


@pytest.mark.parametrize("rejected", REJECTED, ids=lambda rejected: rejected.name)
@pytest.mark.parametrize("through", ["front", "op"])
def test_rejected(rejected: Rejected, through: str, backend: testing.Backend) -> None:
    m = Maker(backend)
    arguments = {"input": m.x, "k": K, **rejected.arguments(m)}
    _skip_unless_possible(rejected, m, arguments)
    outputs = [arguments.get(n) for n in ("values", "indices", "raw_indices")]
    before = [_bytes(x) for x in outputs if x is not None]
    if through == "front":
        with pytest.raises(rejected.error) as caught:
            _call_front(arguments)
        assert type(caught.value) is rejected.error
        assert re.fullmatch(rf"deepselect\.topk: {rejected.text}", str(caught.value))
    else:
        with pytest.raises(RuntimeError) as caught:
            _call_op(arguments)
        text = rf"deepselect\.topk: {rejected.error.__name__}: {rejected.text}"
        assert re.search(rf"{text}$", str(caught.value), re.MULTILINE)
    assert [_bytes(x) for x in outputs if x is not None] == before


def test_names_are_unique() -> None:
    names = [case.name for case in REJECTED]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", ["begin", "end", "index_offset", "page_table", "bias"])
def test_tensors_of_another_device(name: str, backend: testing.Backend) -> None:
    m = Maker(backend)
    other = "meta" if backend.device_type == "cpu" else "cpu"
    shape = {"page_table": (ROWS, 5), "bias": (COLS,)}.get(name, (ROWS,))
    dtype = torch.float32 if name == "bias" else INT32
    stray = torch.zeros(shape, dtype=dtype, device=other)
    with pytest.raises(ValueError, match=rf"{name} must be on input's device, .+, got {other}"):
        deepselect.topk(m.x, K, **{name: stray})
    with pytest.raises(ValueError, match=rf"{name} must be on input's device, .+, got {other}"):
        deepselect.topk(m.x, K, **{name: stray}, out=(None, m.indices()))


@pytest.mark.parametrize("name", ["values", "indices", "raw_indices"])
def test_outputs_of_another_device(name: str, backend: testing.Backend) -> None:
    m = Maker(backend)
    other = "meta" if backend.device_type == "cpu" else "cpu"
    outputs = {"values": m.values(), "indices": m.indices(), "raw_indices": m.indices()}
    outputs[name] = outputs[name].to(other)
    with pytest.raises(ValueError, match=rf"{name} must be on input's device, .+, got {other}"):
        deepselect.topk(
            m.x,
            K,
            out=(outputs["values"], outputs["indices"]),
            raw_indices=outputs["raw_indices"],
        )


# ---- Python types: the front's own errors ------------------------------------------------------

WRONG_TYPES = [
    ("input", [1.0, 2.0], "list"),
    ("input", None, "NoneType"),
    ("k", "3", "str"),
    ("k", 2.0, "float"),
    ("k", None, "NoneType"),
    ("begin", [0, 0, 0, 0], "list"),
    ("begin", 3, "int"),
    ("end", 3, "int"),
    ("index_offset", 3, "int"),
    ("page_table", [[1]], "list"),
    ("page_table_row", 3, "int"),
    ("page_table_begin", 3, "int"),
    ("page_size", 2.0, "float"),
    ("order", 3, "int"),
    ("order", None, "NoneType"),
    ("largest", "yes", "str"),
    ("nan", None, "NoneType"),
    ("weights", None, "NoneType"),
    ("bias", [0.0], "list"),
    ("return_values", "no", "str"),
    ("index_dtype", "int32", "str"),
    ("pad_index", 1.5, "float"),
    ("pad_value", "x", "str"),
]


@pytest.mark.parametrize(("name", "value", "got"), WRONG_TYPES)
def test_wrong_types(name: str, value: Any, got: str) -> None:
    arguments: dict[str, Any] = {"input": torch.zeros(ROWS, COLS), "k": K, name: value}
    with pytest.raises(TypeError) as caught:
        _call_front(arguments)
    assert re.fullmatch(rf"deepselect\.topk: {name} must be .+, got {got}", str(caught.value))


@pytest.mark.parametrize("with_values", [True, False])
def test_wrong_input_with_out(with_values: bool) -> None:
    values = torch.zeros(ROWS, K) if with_values else None
    out = (values, torch.zeros(ROWS, K, dtype=INT32))
    with pytest.raises(TypeError, match=r"input must be .+, got list"):
        deepselect.topk([1.0], K, out=out)  # type: ignore[arg-type]


def _indices() -> Tensor:
    return torch.zeros(ROWS, K, dtype=INT32)


@pytest.mark.parametrize(
    "make_out",
    [
        lambda indices: indices,
        lambda indices: (indices,),
        lambda indices: (None, indices, indices),
        lambda indices: (),
        lambda indices: 3,
        lambda indices: (None, None),
        lambda indices: (None, [1, 2, 3]),
        lambda indices: ([1, 2, 3], indices),
    ],
    ids=["tensor", "one", "three", "none", "int", "no_indices", "list_indices", "list_values"],
)
def test_out_must_be_a_pair(make_out: Callable[[Tensor], Any]) -> None:
    indices = _indices()
    message = r"^deepselect\.topk: (out|indices|values) must be .+, got "
    with pytest.raises(TypeError, match=message):
        deepselect.topk(torch.randn(ROWS, COLS), K, out=make_out(indices))
    assert (indices == 0).all()


def test_raw_indices_belong_to_out() -> None:
    with pytest.raises(ValueError, match="raw_indices must be given together with out; pass out"):
        deepselect.topk(torch.zeros(ROWS, COLS), K, raw_indices=_indices())


def test_index_dtype_must_not_contradict_out() -> None:
    with pytest.raises(TypeError, match=r"indices must have index_dtype, .*int64, got .*int32; "):
        deepselect.topk(torch.zeros(ROWS, COLS), K, index_dtype=INT64, out=(None, _indices()))


def test_arguments_after_k_are_keyword_only() -> None:
    with pytest.raises(TypeError, match="positional argument"):
        deepselect.topk(torch.zeros(ROWS, COLS), K, torch.zeros(ROWS, dtype=INT32))  # type: ignore[misc]
    with pytest.raises(TypeError, match="unexpected keyword argument 'dim'"):
        deepselect.topk(torch.zeros(ROWS, COLS), K, dim=0)  # type: ignore[call-arg]


def test_empty_rows_needs_a_dimension() -> None:
    with pytest.raises(ValueError, match=r"shape must have at least 1 dimension, got \(\)"):
        deepselect.empty_rows((), torch.float32)


def test_limits_of_an_unknown_backend() -> None:
    with pytest.raises(ValueError, match=r"device_type must be one of 'cpu', .+, got 'tpu'"):
        deepselect.contract.limits("tpu")


# ---- Backends that are not there ---------------------------------------------------------------


@pytest.mark.parametrize("backend_name", ["cuda", "npu"])
def test_a_backend_that_is_not_built_names_its_preset(backend_name: str) -> None:
    from deepselect import _load

    if backend_name not in _load.absent:
        pytest.skip(f"the {backend_name} backend is loaded")
    key = {"cuda": "CUDA", "npu": "PrivateUse1"}[backend_name]
    keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))
    op = torch.ops.deepselect.topk.default
    with pytest.raises(RuntimeError, match=rf"^deepselect\.topk: no {backend_name} backend: .+"):
        op.redispatch(keys, torch.zeros(ROWS, COLS), K)
