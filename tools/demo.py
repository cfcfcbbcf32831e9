"""Runs a DeepSeek Sparse Attention step end to end on real text.

A lightning indexer scores up to a million tokens of Python's own library for a batch of queries of
different causal lengths, torch.ops.deepselect.topk selects, and sparse attention runs over the
selection. The report says what was selected, how much of full attention's mass it holds and what
each stage costs; a picture shows it. The features are untrained: see dsa/features.py.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

import deepselect  # noqa: F401  registers the op
from dsa.picture import draw
from dsa.report import print_report
from dsa.step import run_step

_MIN_TOKENS = 100


def parse_arguments() -> argparse.Namespace:
    """Reads and checks the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--tokens", type=int, default=1_000_000, help="length of the context")
    parser.add_argument("--queries", type=int, default=128, help="query positions in the batch")
    parser.add_argument("--k", type=int, default=2048, help="positions selected per query")
    parser.add_argument("--out", type=Path, default=Path("build/demo"), help="picture's folder")
    parser.add_argument("--seed", type=int, default=0, help="seed of features and positions")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="CPU threads")
    parser.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), default="auto", help="auto: CUDA where it runs"
    )
    arguments = parser.parse_args()
    lowest = {"tokens": _MIN_TOKENS, "queries": 1, "k": 1, "threads": 1}
    for name, minimum in lowest.items():
        value = getattr(arguments, name)
        if value < minimum:
            parser.error(f"--{name} must be at least {minimum}, got {value}")
    return arguments


def pick_device(wanted: str) -> torch.device:
    """The device asked for; for "auto" CUDA where there is one that deepselect runs on."""
    if wanted == "cpu":
        return torch.device("cpu")
    reason = why_not_cuda()
    if reason is None:
        return torch.device("cuda")
    if wanted == "cuda":
        sys.exit(f"error: --device cuda cannot be had: {reason}")
    return torch.device("cpu")


def why_not_cuda() -> str | None:
    """What keeps the demo from running on CUDA."""
    if not torch.cuda.is_available():
        return "torch sees no CUDA device"
    try:
        torch.ops.deepselect.topk(torch.zeros(1, 1, device="cuda"), 1)
    except RuntimeError as error:
        return str(error)
    return None


def main() -> int:
    """Runs the demo; returns 1 where the selection is wrong."""
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    step = run_step(
        num_tokens=arguments.tokens,
        num_queries=arguments.queries,
        k=arguments.k,
        seed=arguments.seed,
        device=pick_device(arguments.device),
    )
    print_report(step)
    picture = arguments.out / "selection.png"
    draw(step, picture)
    print(f"\nPicture: {picture}")
    return 0 if step.selection.values_match and step.selection.indices_hold else 1


if __name__ == "__main__":
    sys.exit(main())
