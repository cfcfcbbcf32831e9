"""The table of rejected arguments: each with the class and the whole text of its error."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

import deepselect
from deepselect import testing

INT32, INT64, FP32 = torch.int32, torch.int64, torch.float32
ROWS, COLS, K = 4, 16, 3


class Maker:
    """Tensors for one backend: `x`, (4, 16), is a legal input, and k is 3."""

    def __init__(self, backend: testing.Backend) -> None:
        self.backend = backend
        self.device = backend.device
        self.dtype = backend.limits.value_dtypes[0]
        self.x = self.rows(ROWS, COLS)

    def rows(self, *shape: int) -> Tensor:
        return deepselect.empty_rows(shape, self.dtype, self.device).zero_()

    def ints(self, *shape: int, dtype: torch.dtype = INT32) -> Tensor:
        return torch.zeros(shape, dtype=dtype, device=self.device)

    def floats(self, *shape: int) -> Tensor:
        return torch.zeros(shape, device=self.device)

    def indices(self, *shape: int, dtype: torch.dtype = INT32) -> Tensor:
        return self.ints(*(shape or (ROWS, K)), dtype=dtype)

    def values(self, *shape: int) -> Tensor:
        return torch.zeros(shape or (ROWS, K), dtype=self.dtype, device=self.device)


@dataclass(frozen=True)
class Rejected:
    """Arguments that differ from ``topk(x, 3)``, the error's class, and all of its text."""

    name: str
    arguments: Callable[[Maker], dict[str, Any]]
    error: type[Exception]
    text: str


def rejected_input(name: str, make: Callable[[Maker], Tensor], text: str) -> Rejected:
    return Rejected(name, lambda m: {"input": make(m)}, ValueError, text)


DTYPES_TEXT = r"input must have one of the dtypes bfloat16(, \w+)* on \w+, got {}; convert it, .+"
NO_BROADCAST = r"; it is not broadcast: use \.expand or \.reshape\(-1\)"

INPUTS = [
    *(
        Rejected(
            f"input of {dtype}",
            lambda m, dtype=dtype: {"input": m.ints(ROWS, COLS).to(dtype)},
            TypeError,
            DTYPES_TEXT.format(str(dtype).removeprefix("torch.")),
        )
        for dtype in (torch.float64, torch.int64, torch.int16, torch.uint8, torch.bool)
    ),
    rejected_input(
        "0-dim",
        lambda m: m.x[0, 0],
        r"input must have at least 1 dimension, got a 0-dim tensor; use input\.reshape\(1\)",
    ),
    rejected_input(
        "transposed",
        lambda m: m.x.t(),
        r"input must have stride 1 in its last dimension, got strides \(1, 16\); "
        r"use input\.contiguous\(\)",
    ),
    rejected_input(
        "every second column",
        lambda m: m.x[:, ::2],
        r"input must have stride 1 in its last dimension, got strides \(16, 2\); .+",
    ),
    rejected_input(
        "expanded columns",
        lambda m: m.x[:, :1].expand(ROWS, 5),
        r"input must have stride 1 in its last dimension, got strides \(16, 0\); .+",
    ),
    rejected_input(
        "leading dimensions of two strides",
        lambda m: m.rows(4, 6, 16)[:, 1:],
        r"input must have leading dimensions that collapse to one row stride, got sizes "
        r"\(4, 5, 16\) and strides \(96, 16, 1\); use input\.contiguous\(\)",
    ),
    rejected_input(
        "leading dimensions exchanged",
        lambda m: m.rows(4, 6, 16).transpose(0, 1),
        r"input must have leading dimensions that collapse .+",
    ),
    rejected_input(
        "2^31 rows",
        lambda m: m.x[:1].expand(2**31, COLS),
        r"input must have fewer than 2\^31 rows, got sizes \(2147483648, 16\)",
    ),
    rejected_input(
        "2^32 rows in two dimensions",
        lambda m: m.x[0].expand(2**16, 2**16, COLS),
        r"input must have fewer than 2\^31 rows, got sizes \(65536, 65536, 16\)",
    ),
    rejected_input(
        "too many columns",
        # Memory that is not touched is not there on a host.
        lambda m: torch.empty(m.backend.limits.max_cols + 1, dtype=m.dtype, device=m.device),
        r"input must have at most \d+ columns on \w+, got \d+",
    ),
]


def rejected_vector(name: str, dtypes: str, **others: Callable[[Maker], Any]) -> list[Rejected]:
    """What every per-row vector refuses. `others`: arguments that it needs beside it."""

    def given(make: Callable[[Maker], Tensor]) -> Callable[[Maker], dict[str, Any]]:
        return lambda m: {name: make(m), **{n: other(m) for n, other in others.items()}}

    shape = rf"{name} must have shape \(rows,\) = \(4,\), got "
    is_int32_only = dtypes == "int32"
    return [
        Rejected(
            f"{name} of a wrong dtype",
            given(lambda m: m.ints(ROWS, dtype=INT64 if is_int32_only else torch.int16)),
            TypeError,
            rf"{name} must be {dtypes}, got {'int64' if is_int32_only else 'int16'}; "
            r"convert it with \.to\(torch\.int32\)",
        ),
        Rejected(
            f"{name} of floats",
            given(lambda m: m.ints(ROWS).float()),
            TypeError,
            rf"{name} must be {dtypes}, got float32; .+",
        ),
        Rejected(
            f"{name} too short",
            given(lambda m: m.ints(ROWS - 1)),
            ValueError,
            shape + r"\(3,\)" + NO_BROADCAST,
        ),
        Rejected(
            f"{name} of one item",
            given(lambda m: m.ints(1)),
            ValueError,
            shape + r"\(1,\)" + NO_BROADCAST,
        ),
        Rejected(
            f"{name} 0-dim",
            given(lambda m: m.ints()),
            ValueError,
            shape + r"\(\)" + NO_BROADCAST,
        ),
        Rejected(
            f"{name} 2-dim",
            given(lambda m: m.ints(ROWS, 1)),
            ValueError,
            shape + r"\(4, 1\)" + NO_BROADCAST,
        ),
    ]


VECTORS = [
    *rejected_vector("begin", "int32 or int64"),
    *rejected_vector("end", "int32 or int64"),
    *rejected_vector("index_offset", "int32 or int64"),
    *rejected_vector("page_table_row", "int32", page_table=lambda m: m.ints(ROWS, 5)),
    *rejected_vector("page_table_begin", "int32", page_table=lambda m: m.ints(ROWS, 5)),
]

PAGES = [
    *(
        Rejected(
            f"page_size {size}",
            lambda m, size=size: {"page_size": size, "page_table": m.ints(ROWS, 5)},
            ValueError,
            rf"page_size must be a power of two from 1 to 2\^30, got {size}",
        )
        for size in (0, -1, -4, 3, 12, 2**31, 2**62, -(2**63))
    ),
    Rejected(
        "page_size without page_table",
        lambda m: {"page_size": 2},
        ValueError,
        r"page_size must be 1 where page_table is not given, got 2; pass page_table",
    ),
    Rejected(
        "page_table_row without page_table",
        lambda m: {"page_table_row": m.ints(ROWS)},
        ValueError,
        r"page_table_row must not be given without page_table; pass page_table",
    ),
    Rejected(
        "page_table_begin without page_table",
        lambda m: {"page_table_begin": m.ints(ROWS)},
        ValueError,
        r"page_table_begin must not be given without page_table; pass page_table",
    ),
    Rejected(
        "page_table of int64",
        lambda m: {"page_table": m.ints(ROWS, 5, dtype=INT64)},
        TypeError,
        r"page_table must be int32, got int64; convert it with \.to\(torch\.int32\)",
    ),
    Rejected(
        "page_table 1-dim",
        lambda m: {"page_table": m.ints(ROWS)},
        ValueError,
        r"page_table must have shape \(tables, pages\), got \(4,\)",
    ),
    Rejected(
        "page_table 3-dim",
        lambda m: {"page_table": m.ints(ROWS, 5, 1)},
        ValueError,
        r"page_table must have shape \(tables, pages\), got \(4, 5, 1\)",
    ),
    Rejected(
        "page_table with index_offset",
        lambda m: {"page_table": m.ints(ROWS, 5), "index_offset": m.ints(ROWS)},
        ValueError,
        r"index_offset must not be given together with page_table, got both; .+",
    ),
    Rejected(
        "page_table with fewer rows than input",
        lambda m: {"page_table": m.ints(ROWS - 1, 5)},
        ValueError,
        r"page_table must have a row for each of input's 4 rows, got 3; pass page_table_row .+",
    ),
]


def rejected_value(name: str, value: Any, error: type[Exception], text: str) -> Rejected:
    return Rejected(f"{name}={value!r}", lambda m: {name: value}, error, text)


VALUES = [
    rejected_value("k", -1, ValueError, r"k must be >= 0, got -1"),
    rejected_value("k", -(2**63), ValueError, r"k must be >= 0, got -9223372036854775808"),
    rejected_value("k", 2**31, ValueError, r"k must be at most \d+ on \w+, got 2147483648"),
    rejected_value("k", 2**63 - 1, ValueError, r"k must be at most \d+ on \w+, got \d+"),
    rejected_value(
        "order", "best", ValueError, r"order must be 'any', 'value' or 'index', got 'best'"
    ),
    rejected_value("order", "", ValueError, r"order must be .+, got ''"),
    rejected_value("order", "Value", ValueError, r"order must be .+, got 'Value'"),
    rejected_value(
        "nan", "ignore", ValueError, r"nan must be 'largest', 'smallest' or 'poison', got 'ignore'"
    ),
    rejected_value("pad_index", 2**31, ValueError, r"pad_index must be in int32's range, got .+"),
    rejected_value(
        "pad_index",
        -(2**31) - 1,
        ValueError,
        r"pad_index must be in int32's range, got -2147483649; ask for int64 indices",
    ),
]

PAD_VALUES = [
    *(
        Rejected(
            f"pad_value={pad!r} for int32",
            lambda m, pad=pad: {"input": m.ints(ROWS, COLS), "pad_value": pad},
            ValueError,
            rf"pad_value must be an integer in int32's range for an int32 input, got {text}",
        )
        for pad, text in [
            (2.5, r"2\.5"),
            (2.0**31, r"2\.14748e\+09"),
            (-(2.0**31) - 1, r"-2\.14748e\+09"),
            (float("nan"), "nan"),
            (float("inf"), "inf"),
            (-float("inf"), "-inf"),
        ]
    ),
    *(
        Rejected(
            f"pad_value={pad!r} for float32",
            lambda m, pad=pad: {"input": m.ints(ROWS, COLS).float(), "pad_value": pad},
            ValueError,
            r"pad_value must be in float32's range for float32 values, got .*1e\+39",
        )
        for pad in (1e39, -1e39)
    ),
]

NEW_OUTPUTS = [
    *(
        Rejected(
            f"index_dtype={dtype}",
            lambda m, dtype=dtype: {"index_dtype": dtype},
            TypeError,
            rf"index_dtype must be torch\.int32 or torch\.int64, got {name}",
        )
        for dtype, name in [(torch.float32, "float32"), (torch.int16, "int16")]
    ),
]


def given_outputs(name: str, make: Callable[[Maker], dict[str, Any]]) -> Any:
    """Legal outputs, `make`'s in place of some of them."""

    def arguments(m: Maker) -> dict[str, Any]:
        return {"values": m.values(), "indices": m.indices(), **make(m)}

    return lambda error, text: Rejected(name, arguments, error, text)


SHAPE = r" must have shape \(4, 3\), got {}; outputs are not resized"
LAST_STRIDE = r" must have stride 1 in its last dimension, got strides {}; allocate it contiguous"
OVERLAP = r" must have rows that do not overlap, got row stride {} for 3 columns; .+"


def _interleaved(m: Maker) -> dict[str, Any]:
    both = m.ints(ROWS, 2 * K)
    return {"indices": both[:, :K], "raw_indices": both[:, K:]}


def _inside_input(m: Maker) -> dict[str, Any]:
    memory = m.ints(256)
    return {
        "input": memory[:128].view(torch.bfloat16)[: ROWS * COLS].view(ROWS, COLS),
        "values": None,
        "indices": memory[20 : 20 + ROWS * K].view(ROWS, K),
    }


def _inside_begin(m: Maker) -> dict[str, Any]:
    indices = m.indices()
    return {"begin": indices[:, 1], "indices": indices}


OUTPUTS = [
    given_outputs("indices of float32", lambda m: {"indices": m.indices().float()})(
        TypeError, r"indices must be int32 or int64, got float32"
    ),
    given_outputs("values of another dtype", lambda m: {"values": m.values().double()})(
        TypeError, r"values must have input's dtype, \w+, got float64"
    ),
    given_outputs("raw_indices of int64", lambda m: {"raw_indices": m.indices(dtype=INT64)})(
        TypeError, r"raw_indices must be int32, got int64"
    ),
    *(
        given_outputs(f"{name} of shape {shape}", lambda m, n=name, s=shape: {n: m.ints(*s)})(
            ValueError, name + SHAPE.format(re.escape(str(shape)))
        )
        for name in ("indices", "raw_indices")
        for shape in [(4, 4), (5, 3), (0,), (12,), (4, 3, 1), (1, 3)]
    ),
    given_outputs("values of another shape", lambda m: {"values": m.values(4, 2)})(
        ValueError, "values" + SHAPE.format(r"\(4, 2\)")
    ),
    *(
        given_outputs(f"{name} transposed", lambda m, n=name: {n: m.ints(K, ROWS).t()})(
            ValueError, name + LAST_STRIDE.format(r"\(1, 4\)")
        )
        for name in ("indices", "raw_indices")
    ),
    given_outputs("values transposed", lambda m: {"values": m.values(K, ROWS).t()})(
        ValueError, "values" + LAST_STRIDE.format(r"\(1, 4\)")
    ),
    *(
        given_outputs(f"{name} expanded", lambda m, n=name: {n: m.ints(1, K).expand(ROWS, K)})(
            ValueError, name + OVERLAP.format(0)
        )
        for name in ("indices", "raw_indices")
    ),
    given_outputs("values expanded", lambda m: {"values": m.values(1, K).expand(ROWS, K)})(
        ValueError, "values" + OVERLAP.format(0)
    ),
    given_outputs(
        "indices in sliding rows",
        lambda m: {"indices": m.ints(20).as_strided((ROWS, K), (2, 1))},
    )(ValueError, "indices" + OVERLAP.format(2)),
    given_outputs(
        "leading dimensions of indices do not collapse",
        lambda m: {
            "input": m.rows(2, 2, COLS),
            "values": None,
            "indices": m.ints(2, 3, K)[:, 1:],
        },
    )(ValueError, r"indices must have leading dimensions that collapse .+; allocate it contiguous"),
    given_outputs("outputs interleaved", _interleaved)(
        ValueError, r"raw_indices must not share memory with indices, got overlapping .+"
    ),
    given_outputs("indices inside input", _inside_input)(
        ValueError, r"indices must not share memory with input, got overlapping address ranges; .+"
    ),
    given_outputs("indices inside begin", _inside_begin)(
        ValueError, r"indices must not share memory with begin, got overlapping address ranges; .+"
    ),
    given_outputs("pad_index beyond int32", lambda m: {"pad_index": 2**40})(
        ValueError, r"pad_index must be in int32's range, got 1099511627776; .+"
    ),
]

BIAS_SHAPE = r"bias must have shape \(cols,\) = \(16,\), got {}"
NOT_INT32 = r" must not be given for an int32 input; convert it with \.float\(\)"

WEIGHTS = [
    rejected_value(
        "weights",
        "soft",
        ValueError,
        r"weights must be 'none', 'softmax', 'softmax_selected', 'sigmoid' or 'sigmoid_selected', "
        r"got 'soft'",
    ),
    Rejected(
        "weights of an int32 input",
        lambda m: {"input": m.ints(ROWS, COLS), "weights": "softmax"},
        TypeError,
        "weights" + NOT_INT32,
    ),
    Rejected(
        "bias of an int32 input",
        lambda m: {"input": m.ints(ROWS, COLS), "bias": m.floats(COLS)},
        TypeError,
        "bias" + NOT_INT32,
    ),
    Rejected(
        "bias of bfloat16",
        lambda m: {"bias": m.floats(COLS).bfloat16()},
        TypeError,
        r"bias must be float32, got bfloat16; convert it with \.float\(\)",
    ),
    *(
        Rejected(
            f"bias of shape {shape}",
            lambda m, shape=shape: {"bias": m.floats(*shape)},
            ValueError,
            BIAS_SHAPE.format(re.escape(str(shape))),
        )
        for shape in [(15,), (1,), (), (4, 16)]
    ),
    Rejected(
        "bias of stride 2",
        lambda m: {"bias": m.floats(2 * COLS)[::2]},
        ValueError,
        r"bias must have stride 1, got 2; use bias\.contiguous\(\)",
    ),
    Rejected(
        "weights without values",
        lambda m: {"weights": "sigmoid", "return_values": False},
        ValueError,
        r"weights must be 'none' where values are not wanted, got 'sigmoid'; .+",
    ),
    given_outputs(
        "weights without values to write", lambda m: {"weights": "softmax", "values": None}
    )(ValueError, r"weights must be 'none' where values are not wanted, got 'softmax'; .+"),
    given_outputs("weights into input's dtype", lambda m: {"weights": "softmax"})(
        TypeError, r"values must have the dtype of weights, float32, got bfloat16"
    ),
    given_outputs(
        "indices inside bias",
        lambda m: {
            "bias": (memory := m.ints(100)).view(FP32)[:COLS],
            "indices": memory[4:16].view(ROWS, K),
        },
    )(ValueError, r"indices must not share memory with bias, got overlapping address ranges; .+"),
]

REJECTED = [*INPUTS, *VECTORS, *PAGES, *VALUES, *PAD_VALUES, *NEW_OUTPUTS, *OUTPUTS, *WEIGHTS]
