"""A page of a results file of tools/bench/topk.py: every target, every shape, every comparison.

python tools/bench/tables.py tools/bench/results/h200.json --out docs/results_h200.md
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from harness.report import environment_line
from harness.results import Measurement, Results
from harness.targets import (
    Verdict,
    floor_share,
    geometric_mean,
    judge_all,
    peer_over_ours,
    torch_over_ours,
)

_OUTCOMES = {True: "pass", False: "**miss**", None: "not measured"}


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _table(header: Sequence[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    yield _row(header)
    yield _row("---" for _ in header)
    for row in rows:
        yield _row(row)
    yield ""


def _target_cells(verdict: Verdict) -> list[str]:
    return [
        verdict.name,
        verdict.claim,
        f"{verdict.sense} {verdict.bound:g}",
        _number(verdict.reached),
        _number(verdict.mean),
        f"{verdict.num_kept} of {verdict.num_points}",
        _OUTCOMES[verdict.is_met],
    ]


def _shape_cells(m: Measurement) -> list[str]:
    return [
        m.shape.name,
        _number(m.ours_us),
        _number(m.torch_us),
        _number(m.best_peer_us),
        _number(m.read_floor_us),
        _number(torch_over_ours(m)),
        _number(peer_over_ours(m)),
        _number(floor_share(m)),
        m.variant or "-",
        m.best_peer or "-",
    ]


def page(results: Results, source: str) -> str:
    """The page as Markdown; `source` is the results file's name on it."""
    lines = [f"# Results: {results.environment['device']}", ""]
    lines += [
        f"Written by `tools/bench/tables.py` from `{source}`. {environment_line(results)}.",
        "",
    ]
    lines += [
        "[benchmarks.md](benchmarks.md) says how times are taken. Times are in microseconds.",
        "",
    ]
    for name, ratio in (
        ("torch.topk / ours", torch_over_ours),
        ("best peer / ours", peer_over_ours),
        ("read floor / ours", floor_share),
    ):
        ratios = [value for m in results.measurements if (value := ratio(m)) is not None]
        mean = _number(geometric_mean(ratios))
        lines.append(f"* {name}: {mean} in the geometric mean of {len(ratios)} shapes")
    lines += ["", "## Targets", ""]
    header = ["class", "ratio", "target", "reached", "mean", "kept by", ""]
    lines += _table(header, map(_target_cells, judge_all(results)))
    lines += ["## Shapes", ""]
    header = ["shape", "ours", "torch.topk", "best peer", "read floor"]
    header += ["torch / ours", "peer / ours", "floor / ours", "variant", "best peer is"]
    lines += _table(header, map(_shape_cells, results.measurements))
    for group, comparisons in groupby(results.comparisons, key=lambda c: c.group):
        lines += [f"## {group[0].upper()}{group[1:]}", ""]
        rows = (
            [c.label, _number(c.ours_us), _number(c.yardstick_us), c.yardstick, _number(c.ratio)]
            for c in comparisons
        )
        lines += _table(["", "ours", "yardstick", "which is", "ratio"], rows)
    if results.skipped:
        lines += ["## Not measured", ""]
        lines += [f"* {name}: {reason}" for name, reason in results.skipped.items()]
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path)
    parser.add_argument("--out", type=Path, required=True, help="the page")
    options = parser.parse_args()
    options.out.write_text(page(Results.load(options.results), options.results.as_posix()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
