"""The one table of cases: every backend is tested on it, and benchmarks take their inputs from it.

A :class:`Case` is a recipe in words and numbers. It has a name, its data follow from the name
alone, and nothing is allocated before :meth:`Case.build`. The table is :func:`pairwise_cases`, in
which every two choices of different axes meet at least once (where they can), and
:func:`edge_cases`, in which one thing at a time is at an edge.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any

import torch
from torch import Generator, Tensor

from biases import BIASES
from distributions import DISTRIBUTIONS, MAX_INT32, MIN_INT32, bits_type
from pairwise import all_pairs

MIN_INT64, MAX_INT64 = -(2**63), 2**63 - 1

# ---- Windows: begin and end of every row, int64, None where not given --------------------------

Windows = tuple[Tensor | None, Tensor | None]
WindowKind = Callable[[int, int, int, Generator], Windows]


def _draw(low: int, high: int, rows: int, generator: Generator) -> Tensor:
    """`rows` numbers in [low, high]."""
    return torch.randint(low, high + 1, (rows,), generator=generator)


def _of_length(lengths: Tensor, cols: int, generator: Generator) -> Windows:
    """Windows of these lengths, somewhere in the row."""
    lengths = lengths.clamp(0, cols)
    spare = cols - lengths
    begin = (torch.rand(len(lengths), generator=generator) * (spare + 1)).long().clamp(max=spare)
    return begin, begin + lengths


def _extreme(rows: int, cols: int, k: int, generator: Generator) -> Windows:
    """The integers at which sums and conversions overflow."""
    edges = [MIN_INT64, MIN_INT64 + 1, MIN_INT32, -1, 0, 1, cols, cols + 1, MAX_INT32, MAX_INT64]
    choice = torch.tensor(edges)
    last = len(edges) - 1
    return choice[_draw(0, last, rows, generator)], choice[_draw(0, last, rows, generator)]


def _mixed(rows: int, cols: int, k: int, generator: Generator) -> Windows:
    """Every row another kind."""
    kinds = [kind for name, kind in WINDOWS.items() if name not in ("none", "mixed")]
    shift = int(_draw(0, len(kinds) - 1, 1, generator))
    begin = torch.zeros(rows, dtype=torch.int64)
    end = torch.full((rows,), cols)
    for row in range(rows):
        first, last = kinds[(row + shift) % len(kinds)](1, cols, k, generator)
        if first is not None:
            begin[row] = first
        if last is not None:
            end[row] = last
    return begin, end


WINDOWS: dict[str, WindowKind] = {
    "none": lambda rows, cols, k, g: (None, None),
    "full": lambda rows, cols, k, g: (torch.zeros(rows).long(), torch.full((rows,), cols)),
    "begin": lambda rows, cols, k, g: (_draw(0, cols, rows, g), None),
    "end": lambda rows, cols, k, g: (None, _draw(0, cols, rows, g)),
    "inside": lambda rows, cols, k, g: _of_length(_draw(0, cols, rows, g), cols, g),
    "negative": lambda rows, cols, k, g: (
        _draw(-2 * cols - 5, -1, rows, g),
        _draw(-5, cols, rows, g),
    ),
    "reversed": lambda rows, cols, k, g: (
        _draw(cols // 2, cols, rows, g),
        _draw(0, cols // 2, rows, g),
    ),
    "past_end": lambda rows, cols, k, g: (
        _draw(0, cols + 2, rows, g),
        _draw(cols, 2 * cols + 17, rows, g),
    ),
    "empty": lambda rows, cols, k, g: _of_length(torch.zeros(rows).long(), cols, g),
    "single": lambda rows, cols, k, g: _of_length(torch.ones(rows).long(), cols, g),
    "shorter_than_k": lambda rows, cols, k, g: _of_length(
        _draw(0, max(k - 1, 0), rows, g), cols, g
    ),
    "about_k": lambda rows, cols, k, g: _of_length(_draw(k - 1, k + 1, rows, g), cols, g),
    "extreme": _extreme,
    "mixed": _mixed,
}


# ---- Vectors: how the per-row arguments lie in memory ------------------------------------------


def _vector(x: Tensor, dtype: torch.dtype, stride: int) -> Tensor:
    """`x` saturated to `dtype`, with this stride; stride 0 repeats the first item."""
    info = torch.iinfo(dtype)
    x = x.clamp(info.min, info.max).to(dtype)
    if stride == 1 or len(x) == 0:
        return x
    if stride == 0:
        return x[:1].expand(len(x))
    storage = torch.full((len(x) * stride,), -123456, dtype=dtype)
    storage[::stride] = x
    return storage[::stride]


def _move(x: Tensor, device: str | torch.device) -> Tensor:
    """`x` on `device` with its strides, which .to() would not keep."""
    if x.device == torch.device(device) or x.numel() == 0:
        return x.to(device)
    span = 1 + sum((size - 1) * stride for size, stride in zip(x.shape, x.stride(), strict=True))
    return x.as_strided((span,), (1,)).to(device).as_strided(x.shape, x.stride())


# dtype of begin, of end and of index_offset; stride in items of all of them
VECTORS: dict[str, tuple[torch.dtype, torch.dtype, torch.dtype, int]] = {
    "int32": (torch.int32, torch.int32, torch.int32, 1),
    "int64": (torch.int64, torch.int64, torch.int64, 1),
    "mixed": (torch.int32, torch.int64, torch.int64, 1),
    "strided": (torch.int64, torch.int32, torch.int32, 3),
    "expanded": (torch.int32, torch.int32, torch.int64, 0),
}


# ---- Mappings: from positions to indices -------------------------------------------------------


@dataclass(frozen=True)
class Pages:
    """A page table with random entries of the whole int32 range.

    Attributes:
        page_size: items a page.
        rows: whether rows go through page_table_row, some of them out of range.
        begin: whether page_table_begin is given, some of it out of range.
        missing: pages that the table is short of.
        transposed: whether the table's pages, rather than its rows, are far apart in memory.
    """

    page_size: int
    rows: bool = False
    begin: bool = False
    missing: int = 0
    transposed: bool = False


# Range of index_offset (saturated to the vector's type), a page table, or nothing.
MAPPINGS: dict[str, tuple[int, int] | Pages | None] = {
    "none": None,
    "offset": (-1000, 1000),
    "offset_wraps": (MAX_INT32 - 3, MAX_INT32),
    "offset_any": (MIN_INT64, MAX_INT64),
    "pages_of_1": Pages(1),
    "pages_of_64": Pages(64, rows=True),
    "pages_of_2048": Pages(2048, begin=True),
    "pages_of_2^30": Pages(2**30),
    "pages_row_begin": Pages(16, rows=True, begin=True, transposed=True),
    "pages_short": Pages(4, missing=2),
    "pages_none": Pages(8, missing=MAX_INT32),
}


def _map_arguments(
    mapping: tuple[int, int] | Pages | None,
    rows: int,
    cols: int,
    offset_dtype: torch.dtype,
    stride: int,
    generator: Generator,
) -> dict[str, Any]:
    if mapping is None:
        return {}
    if not isinstance(mapping, Pages):
        low, high = mapping
        offset = torch.randint(low, high, (rows,), generator=generator)
        return {"index_offset": _vector(offset, offset_dtype, stride)}

    num_tables = 3 if mapping.rows else rows
    num_pages = max(-(-cols // mapping.page_size) + 3 * mapping.begin - mapping.missing, 0)
    shape = (num_pages, num_tables) if mapping.transposed else (num_tables, num_pages)
    table = torch.randint(MIN_INT32, MAX_INT32 + 1, shape, generator=generator, dtype=torch.int32)
    arguments: dict[str, Any] = {
        "page_table": table.t() if mapping.transposed else table,
        "page_size": mapping.page_size,
    }
    if mapping.rows:  # mostly in range: -1 and `num_tables` are not
        row = _draw(-1, num_tables * 3, rows, generator)
        row = torch.where(row > num_tables, row % num_tables, row)
        arguments["page_table_row"] = _vector(row, torch.int32, stride)
    if mapping.begin:
        page = _draw(-1, 5, rows, generator)
        page = torch.where(page == 5, num_pages + page % 2, page)
        arguments["page_table_begin"] = _vector(page, torch.int32, stride)
    return arguments


# ---- Layouts: where the input lies in memory ---------------------------------------------------

LAYOUTS = (
    "contiguous",
    "strided",  # a gap after every row
    "misaligned",  # base and rows one item off
    "ends_with_storage",  # a gap between rows, none after the last
    "expanded",  # row stride 0
    "sliding",  # row stride 1: every row one item further
    "vector",  # (cols,)
    "3d",  # (rows / 2, 2, cols) or (rows, 1, cols)
    "3d_strided",
)


def _place(x: Tensor, layout: str, bait: Tensor, alignment_items: int, device: Any) -> Tensor:
    """A copy of `x` (rows, cols) with this layout, bait around it. Rows of "expanded" and
    "sliding" share memory, so theirs are not the rows of `x`.
    """
    rows, cols = x.shape

    def aligned(items: int) -> int:
        return -(-items // alignment_items) * alignment_items

    if layout == "expanded":
        return _place(x[:1], "contiguous", bait, alignment_items, device).expand(rows, cols)
    if layout == "sliding":
        return x.flatten()[: max(rows + cols - 1, 0)].to(device).as_strided((rows, cols), (1, 1))

    offset, stride = 0, aligned(cols)
    if layout in ("strided", "ends_with_storage", "3d_strided"):
        offset, stride = aligned(2), aligned(cols + 5)
    elif layout == "misaligned":
        offset, stride = 1, cols + 1
    num_items = offset + max(rows - 1, 0) * stride + (cols if rows else 0)
    tail = 0 if layout == "ends_with_storage" else 3
    storage = bait.to(device).repeat(num_items + tail)
    view = storage.as_strided((rows, cols), (stride, 1), offset)
    as_bits = bits_type(x.dtype)
    view.view(as_bits).copy_(x.view(as_bits))
    if layout == "vector":
        return view[0]
    if layout.startswith("3d"):
        return view.unflatten(0, (rows // 2, 2) if rows % 2 == 0 else (rows, 1))
    return view


# ---- One case ----------------------------------------------------------------------------------

# pad_index for int32 and for int64 indices, pad_value for floats and for int32; None: the default.
PADS: dict[str, tuple[int, int, float | None, float | None]] = {
    "default": (-1, -1, None, None),
    "small": (7, -(2**40), 2.7182818, 3.0),
    "zero": (0, 0, -0.0, 0.0),
    "extreme": (MIN_INT32, MAX_INT64, float("nan"), float(MAX_INT32)),
}
# How results are asked for: as new tensors, or in views of larger buffers, with what.
OUTPUTS = ("new", "new_indices", "out", "out_indices", "out_raw", "out_indices_raw")

DTYPES = ("bfloat16", "float16", "float32", "int32")


@dataclass(frozen=True)
class Call:
    """Arguments of one call: ``topk(input, k, **arguments)``."""

    input: Tensor
    k: int
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    dtype: str = "float32"
    rows: int = 3
    cols: int = 1000
    k: int = 32
    distribution: str = "normal"
    layout: str = "contiguous"
    window: str = "none"
    outside: str = "data"  # what lies outside the windows: "data", or "bait" to be selected
    vectors: str = "int32"
    mapping: str = "none"
    order: str = "value"
    largest: bool = True
    nan: str = "largest"
    outputs: str = "new"
    index_dtype: str = "int32"
    pads: str = "default"
    weights: str = "none"
    bias: str = "none"

    @property
    def name(self) -> str:
        """Dtype, shape, k, and what differs from the defaults."""
        parts = [f"{self.dtype}-{self.rows}x{self.cols}-k{self.k}"]
        for axis in fields(self)[4:]:
            value = getattr(self, axis.name)
            if value != axis.default:
                parts.append(f"{axis.name}={value}")
        return "-".join(parts)

    @property
    def torch_dtype(self) -> torch.dtype:
        return getattr(torch, self.dtype)  # type: ignore[no-any-return]

    @property
    def return_values(self) -> bool:
        return self.outputs not in ("new_indices", "out_indices", "out_indices_raw")

    @property
    def is_aligned(self) -> bool:
        """Whether `build` can align base and rows."""
        return self.layout != "misaligned" and not (self.layout == "sliding" and self.rows > 1)

    def bait(self) -> Tensor:
        """One item that no other beats, (1,): the best value, or a NaN where NaN matters more."""
        if self.dtype == "int32":
            return torch.tensor([MAX_INT32 if self.largest else MIN_INT32], dtype=torch.int32)
        if self.nan == "poison" or (self.nan == "largest") == self.largest:
            best = float("nan")
        else:
            best = float("inf") if self.largest else float("-inf")
        return torch.tensor([best], dtype=self.torch_dtype)

    def build(self, device: str | torch.device = "cpu", *, alignment_bytes: int = 1) -> Call:
        """The tensors, on `device`: the same values everywhere.

        Args:
            device: where they are to lie.
            alignment_bytes: base and row stride of the input are multiples of it, except where
                the layout says otherwise (`is_aligned`).
        """
        generator = Generator().manual_seed(zlib.crc32(self.name.encode()))
        dtype = self.torch_dtype
        x = DISTRIBUTIONS[self.distribution](self.rows, self.cols, dtype, generator).contiguous()
        begin, end = WINDOWS[self.window](self.rows, self.cols, self.k, generator)
        begin_dtype, end_dtype, offset_dtype, stride = VECTORS[self.vectors]
        arguments = _map_arguments(
            MAPPINGS[self.mapping], self.rows, self.cols, offset_dtype, stride, generator
        )
        if begin is not None:
            arguments["begin"] = _vector(begin, begin_dtype, stride)
        if end is not None:
            arguments["end"] = _vector(end, end_dtype, stride)
        if self.outside == "bait" and self.layout not in ("expanded", "sliding"):
            position = torch.arange(self.cols)
            inside = torch.ones(self.rows, self.cols, dtype=torch.bool)
            if begin is not None:
                inside &= position >= arguments["begin"][:, None]
            if end is not None:
                inside &= position < arguments["end"][:, None]
            as_bits = bits_type(dtype)
            x = torch.where(inside, x.view(as_bits), self.bait().view(as_bits)).view(dtype)

        arguments = {
            name: _move(value, device) if isinstance(value, Tensor) else value
            for name, value in arguments.items()
        }
        arguments.update(
            order=self.order, largest=self.largest, nan=self.nan, return_values=self.return_values
        )
        if self.weights != "none":
            arguments["weights"] = self.weights
        bias = BIASES[self.bias](self.cols, generator)
        if bias is not None:
            arguments["bias"] = bias.to(device)
        is_int32, is_float = self.index_dtype == "int32", dtype.is_floating_point
        if not is_int32:
            arguments["index_dtype"] = torch.int64
        if self.pads != "default":
            pads = PADS[self.pads]
            arguments["pad_index"] = pads[0 if is_int32 else 1]
            arguments["pad_value"] = pads[2 if is_float else 3]
        alignment_items = max(alignment_bytes // dtype.itemsize, 1)
        return Call(_place(x, self.layout, self.bait(), alignment_items, device), self.k, arguments)


# ---- The table ---------------------------------------------------------------------------------

ROWS = (1, 2, 3, 8, 33, 130)

# Around sizes of vectors, warps and pages; "k-1" and the like are relative to the case's k.
COLS: tuple[int | str, ...] = (
    *(0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257),
    *(1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097, 8191, 8192, 8193),
    *(16383, 16384, 16385, 32767, 32769, 65535, 65536, 65537, 131071, 131072, 131073),
    *(1048575, 1048576, 1048577),
    *("k-1", "k", "k+1", "2k"),
)

K: tuple[int | str, ...] = (
    *(0, 1, 2, 7, 8, 31, 32, 33, 511, 512, 513, 1024, 2047, 2048, 4095, 4096, 4097),
    "cols+1",
)

AXES: dict[str, Sequence[Any]] = {
    "dtype": DTYPES,
    "rows": ROWS,
    "cols": COLS,
    "k": K,
    "distribution": tuple(DISTRIBUTIONS),
    "layout": LAYOUTS,
    "window": tuple(WINDOWS),
    "outside": ("data", "bait"),
    "vectors": tuple(VECTORS),
    "mapping": tuple(MAPPINGS),
    "order": ("any", "value", "index"),
    "largest": (True, False),
    "nan": ("largest", "smallest", "poison"),
    "outputs": OUTPUTS,
    "index_dtype": ("int32", "int64"),
    "pads": tuple(PADS),
}

# Times that every pair occurs: about 1,100 cases each.
PAIRWISE_ROUNDS = 3

# Rows are cut so that a pairwise case has at most this many elements.
MAX_PAIRWISE_ITEMS = 2**20


def resolve(choice: dict[str, Any]) -> Case:
    """The case of one choice on every axis: relative sizes become numbers, and rows give way
    where the layout or the number of elements wants fewer.
    """
    cols, k = choice["cols"], choice["k"]
    if isinstance(k, str):
        k = (40 if isinstance(cols, str) else cols) + 1
    if isinstance(cols, str):
        cols = max({"k-1": k - 1, "k": k, "k+1": k + 1, "2k": 2 * k}[cols], 0)
    rows = 1 if choice["layout"] == "vector" else choice["rows"]
    rows = max(min(rows, MAX_PAIRWISE_ITEMS // max(cols, k, 1)), 1)
    return Case(**{**choice, "rows": rows, "cols": cols, "k": k})


@cache
def pairwise_cases() -> tuple[Case, ...]:
    """Every pair of choices, several times, each time among other choices."""
    rounds = [all_pairs(AXES, seed) for seed in range(PAIRWISE_ROUNDS)]
    return tuple(dict.fromkeys(resolve(choice) for choices in rounds for choice in choices))


@cache
def edge_cases() -> tuple[Case, ...]:
    """One factor at a time, most of them small."""
    cases: list[Case] = []
    for dtype in DTYPES:
        base = Case(dtype=dtype)
        cases += [replace(base, cols=cols, k=k) for cols in range(71) for k in (7, 33)]
        cases += [replace(base, rows=rows) for rows in (0, 1, 4097)]
        cases += [replace(base, rows=0, layout=layout) for layout in ("3d", "strided")]
        cases += [replace(base, cols=5000, k=k) for k in K if isinstance(k, int)]
        for largest in (True, False):
            cases += [
                replace(base, distribution=d, k=k, largest=largest, order=order)
                for d in DISTRIBUTIONS
                for k, order in ((32, "index"), (512, "value"), (999, "any"))
            ]
        # Long rows: one, few, and many; k at both ends.
        for rows, cols in ((1, 2**21 + 3), (2, 1048577), (8, 131072), (64, 16384), (515, 4096)):
            cases += [replace(base, rows=rows, cols=cols, k=k, outputs="out") for k in (1, 512)]
        cases += [
            replace(base, rows=2, cols=262144, k=4096, distribution=d, order="index")
            for d in ("ascending", "all_equal", "some_nans", "same_leading_bits")
        ]
        # Threshold estimates from a sample go wrong here.
        cases += [
            replace(base, rows=4, cols=200_000, k=k, distribution=d, order="index")
            for d in ("runs", "hot_block", "sparse")
            for k in (64, 512, 2048, 26_000, 100_000)
        ]
        cases += [
            replace(base, rows=rows, cols=cols, k=k, distribution="rare_best")
            for rows, cols, k in ((4, 65536, 512), (300, 16384, 128), (4, 200_000, 2048))
        ]
        cases += [
            replace(base, rows=4, cols=200_000, k=5000, distribution="runs", order=order)
            for order in ("any", "value")
        ]
        cases.append(replace(base, rows=20000, cols=5, k=3))
        cases.append(replace(base, rows=1, cols=70000, k=69999))
    base = Case(distribution="few_distinct")
    for name in ("layout", "window", "vectors", "mapping", "nan", "outputs", "pads", "order"):
        for value in AXES[name]:
            rows = 1 if value == "vector" else 8
            changes = {"rows": rows, "window": "mixed", "outputs": "out_raw", name: value}
            cases.append(replace(base, **changes))
    return tuple(dict.fromkeys(cases))


@cache
def all_cases() -> tuple[Case, ...]:
    """The whole table; names are unique."""
    return tuple(dict.fromkeys(pairwise_cases() + edge_cases()))
