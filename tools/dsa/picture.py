"""The picture: where the selection lies, one query's scores, and what the selection is worth."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.ticker import FuncFormatter

from dsa.judge import BEST, INDEXER, RANDOM, WINDOW
from dsa.step import Step

_SELECTED = "#c8452d"
_OTHER = "#9aa5b1"
_INK = "#22303c"
_CURVES = {BEST: _INK, INDEXER: _SELECTED, WINDOW: "#3f7cac", RANDOM: _OTHER}
_BINS = 400


def draw(step: Step, path: Path) -> None:
    """Writes the picture as PNG."""
    num_queries, k = step.selection.indices.shape
    with plt.rc_context(
        {
            "font.size": 9,
            "axes.titlesize": 10,
            "axes.titlelocation": "left",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.edgecolor": _INK,
            "text.color": _INK,
        }
    ):
        figure, axes = plt.subplots(2, 2, figsize=(12, 7.6), layout="constrained")
        figure.suptitle(
            f"DSA indexer over {len(step.corpus):,} tokens of Python's library: "
            f"{num_queries} queries select k = {k:,} positions each",
            x=0.01,
            ha="left",
            fontsize=12,
        )
        _draw_map(axes[0, 0], step)
        _draw_recalls(axes[0, 1], step)
        _draw_scores(axes[1, 0], step)
        _draw_distribution(axes[1, 1], step)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=130)
        plt.close(figure)


def _draw_map(axes: Axes, step: Step) -> None:
    """Selected positions of every query, counted in bins of the context."""
    end = step.end.tolist()
    num_tokens, num_queries = len(step.corpus), len(end)
    edges = np.linspace(0, num_tokens, _BINS + 1)
    # Pads are negative and fall outside the bins.
    counts = np.stack([np.histogram(row, edges)[0] for row in step.selection.indices.cpu()])
    image = axes.imshow(
        np.ma.masked_equal(counts, 0),
        aspect="auto",
        origin="lower",
        extent=(0, num_tokens, 0, num_queries),
        cmap="YlOrRd",
        norm=LogNorm(1, max(2, counts.max())),
        interpolation="nearest",
    )
    axes.stairs(
        end, np.arange(num_queries + 1), orientation="horizontal", baseline=None, color=_INK
    )
    axes.set_title("Where each query's selection lies (line: the query itself)")
    axes.set_ylabel("query, by position")
    _label_positions(axes)
    colorbar = axes.figure.colorbar(image, ax=axes, pad=0.01, aspect=30)
    colorbar.set_label(f"selected per {num_tokens / _BINS:,.0f} tokens")


def _draw_recalls(axes: Axes, step: Step) -> None:
    """Recall of every query, sorted, one curve per selection."""
    share = np.linspace(0, 100, len(step.positions))
    for name, color in _CURVES.items():
        recall = np.sort(step.recalls[name].cpu().numpy())[::-1]
        width = 2.2 if name == INDEXER else 1.4
        label = f"{name}: mean {recall.mean():.1%}"
        axes.plot(share, 100 * recall, color=color, lw=width, label=label)
    axes.set_title("Share of full attention's mass in the selection")
    axes.set_xlabel("queries, best first (%)")
    axes.set_ylabel("attention mass (%)")
    axes.set_ylim(0, 102)
    axes.legend(edgecolor="none", framealpha=0.6)


def _draw_scores(axes: Axes, step: Step) -> None:
    """Scores of the typical query along its context, and what was selected."""
    row = step.row_at(0.5)
    scores, selected, threshold = _row_data(step, row)
    edges = np.linspace(0, len(scores), min(_BINS, len(scores)) + 1).astype(np.int64)[:-1]
    highest = np.maximum.reduceat(scores, edges)
    mean = np.add.reduceat(scores, edges) / np.diff(edges, append=len(scores))
    axes.fill_between(edges, 0, highest, color=_OTHER, alpha=0.45, lw=0, label="highest")
    axes.plot(edges, mean, color=_INK, lw=0.8, label="mean")
    axes.plot(selected, scores[selected], ".", color=_SELECTED, ms=2.5, mew=0, label="selected")
    axes.axhline(threshold, color=_SELECTED, lw=0.8, ls="--", label="threshold")
    axes.set_title(f"Scores of the typical query ({row}) over its {len(scores):,} tokens")
    axes.set_ylabel("indexer score")
    axes.set_ylim(0, 1.15 * highest.max())
    _label_positions(axes)
    axes.legend(frameon=False, loc="upper left", ncols=4, markerscale=3)


def _draw_distribution(axes: Axes, step: Step) -> None:
    """Histogram of the same scores, the selected part in colour."""
    scores, selected, threshold = _row_data(step, step.row_at(0.5))
    edges = np.linspace(0, scores.max(), 121).tolist()
    axes.hist(scores, edges, color=_OTHER, label="all")
    axes.hist(scores[selected], edges, color=_SELECTED, label="selected")
    axes.axvline(threshold, color=_SELECTED, lw=0.8, ls="--", label=f"threshold {threshold:.4g}")
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.7)
    axes.set_title("The same scores, counted")
    axes.set_xlabel("indexer score")
    axes.set_ylabel("positions")
    axes.legend(frameon=False)


def _row_data(step: Step, row: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64], float]:
    """Scores, selected positions and threshold of one query."""
    indices = step.selection.indices[row]
    scores = step.row_scores(row).float().cpu().numpy()
    return scores, indices[indices >= 0].cpu().numpy(), float(step.selection.threshold[row])


def _label_positions(axes: Axes) -> None:
    axes.set_xlabel("position in the context")
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / 1000:,g} k" if x else "0"))
