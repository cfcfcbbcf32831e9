"""What is measured: shapes with their regimes, and the presets of the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

PEERS_PATH = Path(__file__).resolve().parent.parent / "peers_h200.json"

KI, MI = 2**10, 2**20

# Inputs that hurt selection algorithms; each is to run at nearly the speed of normal data.
HOSTILE = (
    "ascending",
    "all_equal",
    "relu",
    "same_leading_bits",
    "few_distinct",
    "hot_block",
)


@dataclass(frozen=True)
class Shape:
    """One call that is timed.

    Attributes:
        regime: ``indexer``, ``sampler``, ``long_row``, ``short_row`` or ``cpu``.
        dtype: name of the value type, as in torch.
        rows, cols, k: of ``topk(x of (rows, cols), k)``.
        order, return_values: what is asked for.
        distribution: a name of ``tests/distributions.py``.
    """

    regime: str
    dtype: str
    rows: int
    cols: int
    k: int
    order: str = "any"
    return_values: bool = False
    distribution: str = "normal"

    @property
    def torch_dtype(self) -> torch.dtype:
        return getattr(torch, self.dtype)  # type: ignore[no-any-return]

    @property
    def input_bytes(self) -> int:
        return self.rows * self.cols * self.torch_dtype.itemsize

    @property
    def name(self) -> str:
        name = f"{self.dtype} {self.rows}x{size_name(self.cols)} k={self.k}"
        return name if self.distribution == "normal" else f"{name} {self.distribution}"


def size_name(size: int) -> str:
    """A size as people write it: 4K, 1M, 129280."""
    for unit, name in ((2**30, "G"), (MI, "M"), (KI, "K")):
        if size >= 4 * KI and size % unit == 0:
            return f"{size // unit}{name}"
    return str(size)


def sampler_shape(rows: int, k: int) -> Shape:
    """A vocabulary's logits: sorted, with values."""
    return Shape("sampler", "float32", rows, 129_280, k, order="value", return_values=True)


def peers_shapes(path: Path = PEERS_PATH) -> list[Shape]:
    """Every shape of a peers file. The sampler's are sorted with values, though its peers in the
    file are not.
    """
    shapes = []
    for entry in json.loads(path.read_text())["shapes"]:
        shape = Shape(*(entry[name] for name in ("regime", "dtype", "rows", "cols", "k")))
        is_sampler = shape.regime == "sampler"
        shapes.append(sampler_shape(shape.rows, shape.k) if is_sampler else shape)
    return shapes


CPU_SHAPES = tuple(
    # Values too: torch.topk always returns them.
    Shape("cpu", dtype, rows, cols, k, return_values=True)
    for rows, cols, k in ((8, MI, 512), (64, 128 * KI, 512), (4096, 4096, 512), (1, 64 * MI, 32))
    for dtype in ("bfloat16", "float32")
)

SMOKE_SHAPES = (
    Shape("indexer", "bfloat16", 8, 4 * KI, 512),
    Shape("indexer", "float32", 4, 64 * KI, 2048),
    sampler_shape(2, 512),
    Shape("long_row", "int32", 1, 2**20, 20),
    Shape("short_row", "bfloat16", 256, 256, 64),
)

# One shape or two of every class of targets, to be timed on the hostile distributions.
HOSTILE_SHAPES = (
    Shape("indexer", "bfloat16", 256, MI, 512),
    Shape("indexer", "bfloat16", 256, MI, 2048),
    Shape("long_row", "float32", 1, 64 * MI, 32),
    Shape("indexer", "bfloat16", 1024, 128 * KI, 512),
    Shape("indexer", "float32", 256, 128 * KI, 2048),
    Shape("short_row", "bfloat16", 4096, 4 * KI, 512),
    Shape("short_row", "bfloat16", 65536, KI, 64),
    Shape("indexer", "bfloat16", 8, 512 * KI, 512),
    Shape("indexer", "bfloat16", 1, 64 * KI, 512),
    Shape("indexer", "float32", 8, 128 * KI, 2048),
    sampler_shape(256, 512),
)

# k beyond what the streaming kernels hold on chip, up to a quarter of the row.
LARGE_K_SHAPES = tuple(
    Shape("large_k", dtype, rows, cols, k, order=order, return_values=True)
    for dtype in ("bfloat16", "float32")
    for rows, cols, k, orders in (
        (1, 64 * KI, 16 * KI, ("any",)),
        (1, 256 * KI, 64 * KI, ("any", "value")),
        (1, 16 * MI, 5000, ("any", "value")),
        (1, 16 * MI, 64 * KI, ("any",)),
        (8, 256 * KI, 64 * KI, ("any",)),
        (64, 256 * KI, 16 * KI, ("any",)),
        (64, 256 * KI, 5000, ("any", "value")),
        (256, MI, 64 * KI, ("any",)),
        (1024, 64 * KI, 5000, ("any", "value")),
        (1024, 256 * KI, 16 * KI, ("any",)),
        (1024, 16 * KI, 5000, ("any", "value")),
        (4096, 64 * KI, 16 * KI, ("any",)),
    )
    for order in orders
)

# k = 50 against k = 512.
SAMPLER_ROWS = (1, 6, 64, 256, 768, 4096)


@dataclass(frozen=True)
class RaggedCase:
    """Rows of different lengths, known on the device only.

    Attributes:
        kind: ``uniform``: lengths uniform in [1, cols]. ``one_long``: the first row is full, the
            others have ``short_cols``.
        shape: its ``cols`` is the longest length that occurs.
        short_cols: see kind.
    """

    kind: str
    shape: Shape
    short_cols: int = 0


RAGGED_CASES = (
    RaggedCase("uniform", Shape("indexer", "bfloat16", 64, MI, 512)),
    RaggedCase("uniform", Shape("indexer", "bfloat16", 256, 128 * KI, 512)),
    RaggedCase("uniform", Shape("indexer", "bfloat16", 1024, 128 * KI, 2048)),
    RaggedCase("uniform", Shape("indexer", "bfloat16", 4096, 64 * KI, 512)),
    RaggedCase("uniform", Shape("indexer", "float32", 256, 64 * KI, 512)),
    RaggedCase("uniform", Shape("short_row", "bfloat16", 4096, 4 * KI, 512)),
    RaggedCase("one_long", Shape("indexer", "bfloat16", 256, MI, 512), short_cols=4 * KI),
    RaggedCase("one_long", Shape("indexer", "bfloat16", 256, 128 * KI, 2048), short_cols=8 * KI),
    RaggedCase("one_long", Shape("indexer", "float32", 256, 512 * KI, 512), short_cols=4 * KI),
)


# Groups of shapes that share a target; `--shapes` takes their names.
CLASSES: dict[str, Callable[[Shape], bool]] = {
    "huge_batch": lambda s: s.rows >= 256 and s.input_bytes >= 512 * MI and s.cols >= 512 * KI,
    "long_batch": lambda s: (
        s.regime == "indexer"
        and s.rows >= 256
        and s.input_bytes >= 128 * MI
        and 64 * KI <= s.cols <= 256 * KI
    ),
    "one_row": lambda s: s.regime == "long_row" and s.cols >= 64 * MI,
    "short_rows": lambda s: (
        s.dtype == "bfloat16" and 4096 <= s.rows <= 65536 and 256 <= s.cols <= 16 * KI
    ),
    "few_long": lambda s: (
        s.regime == "indexer" and s.rows <= 8 and 256 * KI <= s.cols <= MI and s.k in (512, 2048)
    ),
    "few_mid": lambda s: (
        s.regime == "indexer"
        and s.rows <= 8
        and 64 * KI <= s.cols <= 128 * KI
        and s.k in (512, 2048)
    ),
    "sampler": lambda s: s.regime == "sampler",
}


def preset(name: str, backend: str) -> list[Shape]:
    """The shapes of ``--shapes name``: ``smoke``, ``targets`` (every class), ``peers`` (every shape
    of the peers file), or a class.

    Raises:
        ValueError: there is no preset of this name for this backend.
    """
    if name == "smoke":
        return list(SMOKE_SHAPES)
    if backend == "cpu":
        if name == "targets":
            return list(CPU_SHAPES)
        raise ValueError(f"--shapes must be smoke or targets with --backend cpu, got {name}")
    shapes = peers_shapes()
    if name == "peers":
        return shapes
    if name == "targets":
        return [shape for shape in shapes if any(is_in(shape) for is_in in CLASSES.values())]
    if name in CLASSES:
        return [shape for shape in shapes if CLASSES[name](shape)]
    names = ", ".join(("smoke", "targets", "peers", *CLASSES))
    raise ValueError(f"--shapes must be one of {names}, got {name}")
