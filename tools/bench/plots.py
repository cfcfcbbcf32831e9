"""Pictures of a results file of tools/bench/topk.py.

    python tools/bench/plots.py results.json --out docs/img

CUDA: bandwidth over columns, and heat maps of the speed-up over torch.topk and over the best peer.
CPU: bars of the ratios to torch.topk and to x.amax(-1).
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from harness.report import environment_line
from harness.results import Measurement, Results
from harness.shapes import size_name
from harness.targets import (
    CPU_TARGETS,
    Ratio,
    judge,
    ours_over_amax,
    peer_over_ours,
    torch_over_ours,
)

_DPI = 120
_SHORT = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "int32": "int32"}


# What stands on an axis: where, and its name.
Key = tuple[int, str]


def _by_rows(m: Measurement) -> Key:
    return m.rows, size_name(m.rows)


def _by_cols(m: Measurement) -> Key:
    is_round = m.cols < 10**6 or m.cols % 2**10 == 0
    return m.cols, size_name(m.cols) if is_round else f"{m.cols / 1e6:g}e6"


def _by_type_and_k(m: Measurement) -> Key:
    return (m.k if m.dtype == "float32" else -m.k), f"{_SHORT[m.dtype]} k={m.k}"


def _by_k(m: Measurement) -> Key:
    return m.k, f"k={m.k}"


@dataclass(frozen=True)
class Facet:
    """One panel: which measurements, and what stands on its axes."""

    title: str
    holds: Callable[[Measurement], bool]
    across: Callable[[Measurement], Key] = _by_cols
    across_name: str = "columns"
    down: Callable[[Measurement], Key] = _by_rows
    down_name: str = "rows"


def _is(regimes: tuple[str, ...], dtype: str, k: int) -> Callable[[Measurement], bool]:
    return lambda m: m.regime in regimes and m.dtype == dtype and m.k == k


FACETS = (
    Facet("bf16, k = 64", _is(("short_row",), "bfloat16", 64)),
    Facet("bf16, k = 512", _is(("short_row", "indexer"), "bfloat16", 512)),
    Facet("bf16, k = 2048", _is(("indexer",), "bfloat16", 2048)),
    Facet("fp32, k = 512", _is(("indexer",), "float32", 512)),
    Facet("fp32, k = 2048", _is(("indexer",), "float32", 2048)),
    Facet(
        "one row",
        lambda m: m.regime == "long_row",
        down=_by_type_and_k,
        down_name="",
    ),
    Facet(
        "sampler: fp32, 129280 columns, sorted, with values",
        lambda m: m.regime == "sampler",
        across=_by_rows,
        across_name="rows",
        down=_by_k,
        down_name="",
    ),
)


def _save(figure: Any, path: Path, results: Results) -> None:
    margin = 0.25 / figure.get_figheight()  # for the line below
    figure.get_layout_engine().set(rect=(0, margin, 1, 1 - margin))
    figure.text(0.995, 0.004, environment_line(results), ha="right", va="bottom", fontsize=7)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=_DPI)
    plt.close(figure)
    print(path)


# ---- CUDA --------------------------------------------------------------------------------------


def draw_bandwidth(results: Results, path: Path) -> None:
    """Input bytes over time against columns: a line per number of rows, and the read floor's."""
    facets = [(f, _of(results, f)) for f in FACETS]
    facets = [(f, ms) for f, ms in facets if len({f.across(m) for m in ms}) > 1]
    if not facets:
        return
    columns = min(4, len(facets))
    rows = math.ceil(len(facets) / columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(4.3 * columns, 3.9 * rows), squeeze=False, layout="constrained"
    )
    row_counts = sorted({f.down(m) for f, ms in facets for m in ms if f.down is _by_rows})
    shades = plt.get_cmap("turbo")(np.linspace(0.06, 0.94, max(len(row_counts), 1)))
    color_of_rows = dict(zip(row_counts, shades, strict=False))
    for axis, (facet, measurements) in zip(axes.flat, facets, strict=False):
        for i, key in enumerate(sorted({facet.down(m) for m in measurements})):
            line = sorted((m for m in measurements if facet.down(m) == key), key=facet.across)
            places = [facet.across(m)[0] for m in line]
            color = color_of_rows[key] if facet.down is _by_rows else f"C{i}"
            axis.plot(places, [m.tb_per_s for m in line], "o-", ms=3.5, color=color, label=key[1])
            axis.plot(places, [_floor_tb_per_s(m) for m in line], ":", lw=1, color=color)
        ticks = sorted({facet.across(m) for m in measurements})
        axis.set(xscale="log", ylim=(0, None), xlabel=facet.across_name)
        axis.set_title(facet.title, fontsize=10)
        axis.set_xticks([t[0] for t in ticks], [t[1] for t in ticks], rotation=45, fontsize=8)
        axis.minorticks_off()
        axis.grid(color="0.92")
        if facet.down is not _by_rows:
            axis.legend(fontsize=8)
    for axis in axes[:, 0]:
        axis.set_ylabel("TB/s of input")
    spare = list(axes.flat)[len(facets) :]
    for axis in spare:
        axis.set_axis_off()
    lines = [plt.Line2D([], [], marker="o", ms=3.5, color=color_of_rows[k]) for k in row_counts]
    legend = spare[0].legend if spare else figure.legend
    place = "center" if spare else "outside right upper"
    legend(lines, [k[1] for k in row_counts], title="rows", ncols=2, loc=place)
    figure.suptitle("Bandwidth of deepselect (solid) and of reading the input once (dotted)")
    _save(figure, path, results)


def _floor_tb_per_s(m: Measurement) -> float:
    return m.shape.input_bytes / (m.read_floor_us * 1e6) if m.read_floor_us else math.nan


def draw_heat_map(results: Results, ratio: Ratio, title: str, path: Path, *, octaves: int) -> None:
    """A cell per shape: blue where ours is faster, red where it is slower, by up to 2^octaves."""
    facets = [
        (f, ms) for f in FACETS if (ms := [m for m in _of(results, f) if ratio(m) is not None])
    ]
    if not facets:
        return
    columns = min(2, len(facets))
    rows = math.ceil(len(facets) / columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(6.6 * columns, 2.8 * rows), squeeze=False, layout="constrained"
    )
    image = None
    for axis, (facet, measurements) in zip(axes.flat, facets, strict=False):
        down = sorted({facet.down(m) for m in measurements})
        across = sorted({facet.across(m) for m in measurements})
        cells = np.full((len(down), len(across)), np.nan)
        for m in measurements:
            cells[down.index(facet.down(m)), across.index(facet.across(m))] = ratio(m)
        image = axis.imshow(np.log2(cells), cmap="RdBu", vmin=-octaves, vmax=octaves, aspect="auto")
        for (i, j), value in np.ndenumerate(cells):
            if not np.isnan(value):
                color = "white" if abs(math.log2(value)) > 0.6 * octaves else "black"
                text = f"{value:.2f}" if value < 10 else f"{value:.1f}"
                axis.text(j, i, text, ha="center", va="center", fontsize=8, color=color)
        axis.set_xticks(range(len(across)), [key[1] for key in across], fontsize=8)
        axis.set_yticks(range(len(down)), [key[1] for key in down], fontsize=8)
        axis.set_title(facet.title, fontsize=10)
        axis.set_xlabel(facet.across_name, fontsize=8)
        axis.set_ylabel(facet.down_name, fontsize=8)
    for axis in list(axes.flat)[len(facets) :]:
        axis.remove()
    bar = figure.colorbar(image, ax=list(axes.flat)[: len(facets)], shrink=0.6, extend="both")
    powers = range(-octaves, octaves + 1)
    bar.set_ticks(powers, labels=[f"{2**p}" if p >= 0 else f"1/{2**-p}" for p in powers])
    figure.suptitle(title)
    _save(figure, path, results)


def _of(results: Results, facet: Facet) -> list[Measurement]:
    return [m for m in results.measurements if m.distribution == "normal" and facet.holds(m)]


# ---- CPU ---------------------------------------------------------------------------------------


def draw_cpu(results: Results, path: Path) -> None:
    """Bars of both ratios, with the bound of every shape as a line across them."""
    normal = [m for m in results.measurements if m.distribution == "normal"]
    if not normal:
        return
    shapes = list(dict.fromkeys((m.rows, m.cols, m.k) for m in normal))
    dtypes = list(dict.fromkeys(m.dtype for m in normal))
    panels = (
        (torch_over_ours, "torch.topk / ours (more is better)", ">="),
        (ours_over_amax, "ours / x.amax(-1) (less is better)", "<="),
    )
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
    width = 0.8 / len(dtypes)
    for axis, (ratio, title, sense) in zip(axes, panels, strict=True):
        for i, dtype in enumerate(dtypes):
            by_shape = {(m.rows, m.cols, m.k): ratio(m) for m in normal if m.dtype == dtype}
            places = np.arange(len(shapes)) + (i - (len(dtypes) - 1) / 2) * width
            heights = [by_shape.get(shape) or 0.0 for shape in shapes]
            bars = axis.bar(places, heights, width * 0.92, label=_SHORT[dtype])
            axis.bar_label(bars, fmt="%.1f", fontsize=8, padding=2)
        for place, shape in enumerate(shapes):
            bound = _cpu_bound(results, shape, sense)
            if bound is not None:
                axis.hlines(bound, place - 0.45, place + 0.45, "k", linestyles="--", linewidth=1.2)
        names = [f"{rows} x {size_name(cols)}\nk = {k}" for rows, cols, k in shapes]
        axis.set_xticks(range(len(shapes)), names, fontsize=9)
        axis.set_title(title, fontsize=10)
        if sense == ">=":
            axis.set_yscale("log")
            axis.set_yticks([1, 2, 5, 10, 20, 50, 100, 200], [1, 2, 5, 10, 20, 50, 100, 200])
            axis.minorticks_off()
            axis.set_ylim(bottom=1)
        axis.margins(y=0.12)
        axis.plot([], [], "k--", linewidth=1.2, label="target")
        axis.legend(fontsize=8.5)
    figure.suptitle("CPU backend: ratios in one run")
    _save(figure, path, results)


def _cpu_bound(results: Results, shape: tuple[int, int, int], sense: str) -> float | None:
    """The bound of the target that covers a shape."""
    of_shape = [m for m in results.measurements if (m.rows, m.cols, m.k) == shape]
    alone = Results("cpu", results.environment, results.method, measurements=of_shape)
    return next(
        (t.bound for t in CPU_TARGETS if t.sense == sense and judge(t, alone).num_points), None
    )


def main() -> int:
    """Draws what the file holds."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path)
    parser.add_argument("--out", type=Path, default=Path("build/bench"), help="folder")
    parser.add_argument("--prefix", help="of the pictures' names; default: bench_<backend>")
    options = parser.parse_args()
    results = Results.load(options.results)
    stem = options.prefix or f"bench_{results.backend}"
    if results.backend == "cpu":
        draw_cpu(results, options.out / f"{stem}_ratios.png")
        return 0
    draw_bandwidth(results, options.out / f"{stem}_bandwidth.png")
    for name, ratio, title, octaves in (
        ("torch", torch_over_ours, "torch.topk's time / ours", 5),
        ("peers", peer_over_ours, "Best other kernel's time / ours", 3),
    ):
        path = options.out / f"{stem}_over_{name}.png"
        draw_heat_map(results, ratio, title, path, octaves=octaves)
    return 0


if __name__ == "__main__":
    sys.exit(main())
