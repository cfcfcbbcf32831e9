"""What the running threshold costs: a model of the algorithm, without a device.

A row of N elements is read in blocks of B, in some order of blocks. What exceeds the threshold
goes to a buffer; when the buffer holds k + B2 elements or more, it is cut to the k best and the
threshold rises to the worst of them. A elements are accepted and R cuts made: the work beyond
reading is W = A + k R. For any input, if the order of blocks is random,

    E[W] <= (1 + k / B2) L H_m,    L = k + B + B2,  m = ceil(N / B),  H_m = 1 + 1/2 + ... + 1/m

The model counts A and R for ordered and hostile inputs, in sequential and in the kernels' paged
random order (csrc/include/deepselect/scan_order.h), and holds them against the bound.

    python tools/bench/threshold_model.py           # the table
    python tools/bench/threshold_model.py --write   # table and plot, into docs/
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "kernels" / "threshold_cost.md"
PICTURE = ROOT / "docs" / "img" / "bench_threshold_cost.png"
_TABLE_BEGIN, _TABLE_END = "<!-- table: begin -->\n", "<!-- table: end -->\n"

Keys = NDArray[np.int64]


@dataclass(frozen=True)
class Setting:
    """Parameters of the algorithm.

    Attributes:
        k: elements to select.
        block: B, elements read between two looks at the buffer.
        slack: B2, elements beyond k that make the buffer be cut.
        page: elements that stay together in the random order; a block is one or more pages.
    """

    k: int = 512
    block: int = 1024
    slack: int = 1024
    page: int = 1024

    def bound(self, n: int) -> float:
        """Of the expected work on n elements in random order."""
        capacity = self.k + self.block + self.slack
        num_blocks = -(-n // self.block)
        harmonic = float(np.sum(1 / np.arange(1, num_blocks + 1)))
        return (1 + self.k / self.slack) * capacity * harmonic


@dataclass(frozen=True)
class Cost:
    """What one row cost.

    Attributes:
        accepted: A.
        cuts: R.
        work: A + k R.
        most_buffered: elements in the buffer at its fullest.
    """

    accepted: int
    cuts: int
    work: int
    most_buffered: int


def composite_keys(values: NDArray[np.float64]) -> Keys:
    """Integers that order as (value, lower position first): no two are equal."""
    ranks = np.unique(values, return_inverse=True)[1].astype(np.int64)
    return ranks * len(values) + (len(values) - 1 - np.arange(len(values)))


def simulate(keys: Keys, order: NDArray[np.int64], setting: Setting) -> Cost:
    """Runs the algorithm over a row whose elements arrive in `order`.

    Raises:
        AssertionError: the k best are not what is left in the end.
    """
    threshold = np.int64(-1)
    buffer = np.empty(0, dtype=np.int64)
    accepted = cuts = most = 0
    for first in range(0, len(keys), setting.block):
        block = keys[order[first : first + setting.block]]
        hits = block[block > threshold]
        accepted += len(hits)
        buffer = np.concatenate((buffer, hits))
        most = max(most, len(buffer))
        if len(buffer) >= setting.k + setting.slack:
            buffer = np.partition(buffer, -setting.k)[-setting.k :]
            threshold = buffer.min()
            cuts += 1
    best = np.sort(buffer)[-setting.k :]
    assert np.array_equal(best, np.sort(np.partition(keys, -setting.k)[-setting.k :]))
    return Cost(accepted, cuts, accepted + setting.k * cuts, most)


# ---- Orders ------------------------------------------------------------------------------------


def sequential(n: int) -> NDArray[np.int64]:
    return np.arange(n)


def paged_random(n: int, page: int, seed: int) -> NDArray[np.int64]:
    """Positions in the order of scan_order.h's pages."""
    num_pages = -(-n // page)
    pages = np.fromiter(scan_order(num_pages, seed), dtype=np.int64, count=num_pages)
    positions = (pages[:, None] * page + np.arange(page)).ravel()
    return positions[positions < n]


def scan_order(num_pages: int, seed: int) -> Iterator[int]:
    """The pages in the order of ``ScanOrder``: the same arithmetic, number for number."""
    word = 2**32 - 1
    seed ^= seed >> 16
    seed = seed * 0x7FEB352D & word
    seed ^= seed >> 15
    seed = seed * 0x846CA68B & word
    seed ^= seed >> 16
    bits = (num_pages - 1).bit_length()
    mask = 2**bits - 1
    fold = (bits + 1) // 2 if bits > 1 else 1

    def permute(x: int) -> int:
        x = (x + seed) & mask
        x = x * 0x9E3779B1 & mask
        x ^= x >> fold
        x = (x * 0x85EBCA6B + (seed >> 7)) & mask
        x ^= x >> fold
        x = x * 0xC2B2AE35 & mask
        return x ^ (x >> fold)

    for step in range(num_pages):
        page = permute(step)
        while page >= num_pages:
            page = permute(page)
        yield page


# ---- Inputs ------------------------------------------------------------------------------------


def _hot_block(n: int, rng: np.random.Generator) -> NDArray[np.float64]:
    x = rng.standard_normal(n)
    width = min(n, 4096)
    start = rng.integers(0, n - width + 1)
    x[start : start + width] += 16
    return x


INPUTS: dict[str, Callable[[int, np.random.Generator], NDArray[np.float64]]] = {
    "normal": lambda n, rng: rng.standard_normal(n),
    "ascending": lambda n, rng: np.arange(n, dtype=np.float64),
    "descending": lambda n, rng: -np.arange(n, dtype=np.float64),
    "all equal": lambda n, rng: np.ones(n),
    "ReLU'd": lambda n, rng: np.maximum(rng.standard_normal(n), 0),
    "16 distinct values": lambda n, rng: rng.integers(0, 16, n).astype(np.float64),
    "16 ascending steps": lambda n, rng: np.floor(np.arange(n) * 16 / n),
    "sawtooth of 64": lambda n, rng: np.arange(n, dtype=np.float64) % 64,
    "slow sine": lambda n, rng: np.sin(np.arange(n) * 8 * np.pi / n),
    "one hot block": _hot_block,
}


# ---- Results -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One input under both orders; the random one over several seeds."""

    name: str
    in_sequence: Cost
    mean_accepted: float
    mean_cuts: float
    mean_work: float
    most_work: int
    most_buffered: int


def measure(name: str, n: int, setting: Setting, num_seeds: int) -> Row:
    """Costs of one input."""
    keys = composite_keys(INPUTS[name](n, np.random.default_rng(n)))
    costs = [
        simulate(keys, paged_random(n, setting.page, seed), setting) for seed in range(num_seeds)
    ]
    return Row(
        name,
        simulate(keys, sequential(n), setting),
        float(np.mean([cost.accepted for cost in costs])),
        float(np.mean([cost.cuts for cost in costs])),
        float(np.mean([cost.work for cost in costs])),
        max(cost.work for cost in costs),
        max(cost.most_buffered for cost in costs),
    )


def table(n: int, setting: Setting, num_seeds: int) -> str:
    """Markdown."""
    bound = setting.bound(n)
    lines = [
        f"N = {n:,}, k = {setting.k}, B = {setting.block}, B2 = {setting.slack}, pages of "
        f"{setting.page}, {num_seeds} seeds. Bound of the mean: {bound:,.0f}.",
        "",
        "| input | A | R | W in sequence | A | R | W in random order | most W | W / bound |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in INPUTS:
        row = measure(name, n, setting, num_seeds)
        sequence = row.in_sequence
        lines.append(
            f"| {name} | {sequence.accepted:,} | {sequence.cuts:,} | {sequence.work:,} | "
            f"{row.mean_accepted:,.0f} | {row.mean_cuts:.1f} | {row.mean_work:,.0f} | "
            f"{row.most_work:,} | {row.mean_work / bound:.2f} |"
        )
        capacity = setting.k + setting.slack + setting.block
        assert row.most_buffered < capacity, f"{name}: {row.most_buffered} in the buffer"
        assert row.mean_work <= bound, f"{name}: mean work {row.mean_work} above bound {bound}"
    return "\n".join(lines)


TABLES = (
    (2**18, Setting()),
    (2**20, Setting()),
    (2**20, Setting(k=2048, block=2048, slack=2048, page=2048)),
    (2**20, Setting(page=128)),
)


def draw(path: Path, num_seeds: int) -> None:
    """Work over the length of the row, in both orders, and the bound."""
    import matplotlib.pyplot as plt

    setting = Setting()
    lengths = [2**exponent for exponent in range(12, 21)]
    shown = ("normal", "ascending", "16 ascending steps", "slow sine", "one hot block")
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), sharey=True, layout="constrained")
    for color, name in enumerate(shown):
        rows = [measure(name, n, setting, num_seeds) for n in lengths]
        style = {"color": f"C{color}", "marker": "o", "markersize": 3.5, "label": name}
        axes[0].plot(lengths, [row.in_sequence.work for row in rows], **style)
        axes[1].plot(lengths, [row.mean_work for row in rows], **style)
    bounds = [setting.bound(n) for n in lengths]
    for axis, title in zip(axes, ("blocks in sequence", "pages in random order"), strict=True):
        axis.plot(lengths, bounds, "k--", label=r"$(1 + k/B_2)\,L\,H_m$")
        axis.plot(lengths, lengths, color="0.6", linewidth=1, label="N (reading the row)")
        axis.set(title=title, xscale="log", yscale="log", xlabel="N, elements in the row")
        axis.set_xticks(lengths, [_power_name(n) for n in lengths], minor=False)
        axis.minorticks_off()
        axis.grid(color="0.9")
    axes[0].set_ylabel("W = A + k R, elements")
    axes[1].legend(loc="upper left", fontsize=8.5)
    figure.suptitle(f"Work of the running threshold, k = {setting.k}, B = B2 = {setting.block}")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def _power_name(n: int) -> str:
    return f"{n // 2**20}M" if n >= 2**20 else f"{n // 2**10}K"


def main() -> int:
    """Prints the tables; with --write puts them and the plot into the documentation."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=32, help="random orders of every input")
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.relative_to(ROOT)}")
    options = parser.parse_args()
    if options.seeds < 1:
        parser.error(f"--seeds must be at least 1, got {options.seeds}")
    text = "\n\n".join(table(n, setting, options.seeds) for n, setting in TABLES)
    print(text)
    if options.write:
        page = PAGE.read_text()
        before, rest = page.split(_TABLE_BEGIN)
        after = rest.split(_TABLE_END)[1]
        PAGE.write_text(f"{before}{_TABLE_BEGIN}\n{text}\n\n{_TABLE_END}{after}")
        draw(PICTURE, options.seeds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
