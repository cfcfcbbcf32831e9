"""Measures deepselect against torch.topk, the read floor and other kernels, and judges targets.

  python tools/bench/topk.py --backend cpu
  python tools/bench/topk.py --backend cuda --shapes peers --output results.json

What is measured and how: docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

import deepselect
from harness import cpu_run, report
from harness.results import Results
from harness.shapes import CLASSES, HOSTILE, PEERS_PATH, Shape, preset
from harness.targets import judge_all
from harness.timing import QUICK, Budget

_MIN_ROUNDS = 7
_EXTRAS = ("hostile", "ragged", "sampler", "large_k", "ties", "host")


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Reads and checks the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--backend", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument(
        "--shapes",
        default="targets",
        help=f"smoke, targets (default), peers (all of the peers file), none, or a class: "
        f"{', '.join(CLASSES)}",
    )
    parser.add_argument(
        "--extras",
        nargs="*",
        choices=_EXTRAS,
        help="CUDA: what else is measured; default: all with --shapes targets or peers",
    )
    parser.add_argument(
        "--distributions",
        nargs="+",
        default=["normal"],
        help=f"of the values, from tests/distributions.py; hostile ones: {', '.join(HOSTILE)}",
    )
    parser.add_argument("--peers", type=Path, default=PEERS_PATH, help="other kernels' times")
    parser.add_argument("--output", type=Path, help="where the JSON goes")
    parser.add_argument("--quick", action="store_true", help="every third shape, short timings")
    parser.add_argument("--rounds", type=int, default=9, help="CPU: interleaved runs, at least 7")
    parser.add_argument("--threads", type=int, help="CPU: threads; default: torch's")
    parser.add_argument("--commit", help="for the JSON, where this is no git checkout")
    options = parser.parse_args(arguments)
    if options.rounds < _MIN_ROUNDS:
        parser.error(f"--rounds must be at least {_MIN_ROUNDS}, got {options.rounds}")
    if options.extras is None:
        options.extras = _EXTRAS if options.shapes in ("targets", "peers") else ()
    try:
        options.shape_list = _shapes(options)
    except ValueError as error:
        parser.error(str(error))
    return options


def _shapes(options: argparse.Namespace) -> list[Shape]:
    if options.shapes == "none":
        return []
    shapes = preset(options.shapes, options.backend)
    if options.quick and options.shapes != "smoke":
        shapes = shapes[::3]
    return [
        replace(shape, distribution=distribution)
        for distribution in options.distributions
        for shape in shapes
    ]


def _run(options: argparse.Namespace) -> Results:
    if options.backend == "cpu":
        if options.threads is not None:
            torch.set_num_threads(options.threads)
        return cpu_run.run(options.shape_list, options.rounds)
    if "cuda" in deepselect._load.absent:
        sys.exit(f"topk.py: no CUDA backend: {deepselect._load.absent['cuda']}")
    if not torch.cuda.is_available():
        sys.exit("topk.py: no CUDA device")
    from harness import cuda_run
    from harness.extras import EXTRAS
    from harness.peers import load_peers

    return cuda_run.run(
        options.shape_list,
        [EXTRAS[name] for name in options.extras],
        QUICK if options.quick else Budget(),
        load_peers(options.peers),
        lambda results: _save(results, options),
    )


def _save(results: Results, options: argparse.Namespace) -> None:
    if options.commit is not None:
        results.environment["commit"] = options.commit
    if options.output is not None:
        results.save(options.output, [verdict.as_dict() for verdict in judge_all(results)])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, prints, saves; returns 1 where an output was wrong or a measurement failed."""
    options = parse_arguments(arguments)
    results = _run(options)
    print(report.summary(results))
    _save(results, options)
    if options.output is not None:
        print(f"results: {options.output}")
    is_wrong = any(not m.is_exact for m in results.measurements)
    has_failed = any(why.startswith(("WRONG", "failed")) for why in results.skipped.values())
    return 1 if is_wrong or has_failed else 0


if __name__ == "__main__":
    sys.exit(main())
