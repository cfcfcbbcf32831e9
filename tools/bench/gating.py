"""Measures deepselect.gating.topk_gate on a CUDA device against the same in plain torch, eager and
compiled, and against the read floor.

  python tools/bench/gating.py --output gating.json
  python tools/bench/gating.py --tokens 16384 --experts 256 --k 8 --compile

Times are device times of CUDA graph replays (docs/benchmarks.md says how).
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from deepselect import testing
from deepselect.gating import topk_gate
from harness.environment import describe
from harness.floor import Floor
from harness.inputs import make_inputs
from harness.shapes import Shape
from harness.timing import Budget, GraphTimer, race_on_cuda

_BUDGET = Budget(graph_us=400, total_us=8_000, min_replays=2, max_replays=12)

# A router as models write it: how topk_gate is asked for it.
ROUTERS: dict[str, dict[str, Any]] = {
    "softmax": {"scoring": "softmax", "renormalize": True},
    "softmax_all": {"scoring": "softmax", "renormalize": False},
    "sigmoid": {"scoring": "sigmoid", "renormalize": True},
    "sigmoid_bias": {"scoring": "sigmoid", "renormalize": True, "bias": True},
}


@dataclass(frozen=True)
class Line:
    """One measurement; times in microseconds, None where not measured."""

    router: str
    dtype: str
    tokens: int
    experts: int
    k: int
    ours_us: float
    floor_us: float
    eager_us: float
    compiled_us: float | None
    max_error: float

    def text(self) -> str:
        """One line for people."""
        compiled = "" if self.compiled_us is None else f"  compiled {self.compiled_us:8.2f}"
        return (
            f"{self.router:12} {self.dtype:8} {self.tokens:6} x {self.experts:3} k={self.k}  "
            f"ours {self.ours_us:7.2f}  floor {self.floor_us:6.2f} "
            f"({self.ours_us / self.floor_us:4.2f}x)  eager {self.eager_us:8.2f} "
            f"({self.eager_us / self.ours_us:5.1f}x){compiled}  error {self.max_error:.1e}"
        )


def in_plain_torch(
    logits: Tensor, k: int, scoring: str, renormalize: bool, bias: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The router as it is written without deepselect."""
    scores = logits.float()
    scores = scores.softmax(-1) if scoring == "softmax" else scores.sigmoid()
    if bias is None:
        weights, experts = scores.topk(k, dim=-1)
    else:
        experts = (scores + bias).topk(k, dim=-1).indices
        weights = scores.gather(-1, experts)
    if renormalize:
        weights = weights / weights.sum(-1, keepdim=True)
    return weights, experts


def measure(router: str, shape: Shape, floor: Floor, is_compiled: bool) -> Line:
    """Times one router at one shape; its weights are compared with float64's."""
    options = dict(ROUTERS[router])
    if options.get("bias"):
        options["bias"] = torch.linspace(-0.1, 0.1, shape.cols, device="cuda")
    torch_options = {"bias": None, **options}
    calls: dict[str, Callable[[Tensor], Any]] = {
        "ours": lambda x: topk_gate(x, shape.k, **options),
        "floor": floor.read,
        "eager": lambda x: in_plain_torch(x, shape.k, **torch_options),
    }
    if is_compiled:
        torch.compiler.reset()
        compiled = torch.compile(in_plain_torch, dynamic=False)
        calls["compiled"] = lambda x: compiled(x, shape.k, **torch_options)
    inputs = make_inputs(shape, torch.device("cuda"))
    timers = {name: GraphTimer(call, inputs, _BUDGET) for name, call in calls.items()}
    times = race_on_cuda(timers, _BUDGET.rounds)
    return Line(
        router,
        shape.dtype,
        shape.rows,
        shape.cols,
        shape.k,
        times["ours"].us,
        times["floor"].us,
        times["eager"].us,
        times["compiled"].us if is_compiled else None,
        _error(inputs[0], timers["ours"].outputs[0], options),
    )


def _error(x: Tensor, got: tuple[Tensor, Tensor], options: dict[str, Any]) -> float:
    """The greatest relative error of the weights; checks that no better expert was left out.

    Raises:
        AssertionError: one was.
    """
    weights, experts = got
    exact = x.double()
    scores = exact.softmax(-1) if options["scoring"] == "softmax" else exact.sigmoid()
    choice = scores if options.get("bias") is None else scores + options["bias"]
    chosen = torch.zeros_like(choice, dtype=torch.bool).scatter(-1, experts.long(), True)
    assert bool((chosen.sum(-1) == experts.shape[-1]).all()), "an expert was chosen twice"
    worst = choice.where(chosen, torch.inf).amin(-1)
    best_left = choice.where(~chosen, -torch.inf).amax(-1)
    assert bool((best_left <= worst + 1e-6).all()), "a better expert was left out"
    wanted = scores.gather(-1, experts.long())
    if options["renormalize"]:
        wanted = wanted / wanted.sum(-1, keepdim=True)
    return float(((weights - wanted).abs() / wanted).max())


def parse_arguments(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tokens", type=int, nargs="+", default=[64, 1024, 4096, 16384, 65536])
    parser.add_argument("--experts", type=int, nargs="+", default=[8, 64, 128, 256])
    parser.add_argument("--k", type=int, nargs="+", default=[1, 2, 6, 8])
    parser.add_argument("--dtypes", nargs="+", default=["bfloat16", "float32"])
    parser.add_argument("--routers", nargs="+", choices=ROUTERS, default=["softmax"])
    parser.add_argument("--compile", action="store_true", help="torch.compile of plain torch too")
    parser.add_argument("--output", type=Path, help="where the JSON goes")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures every combination and prints a line for each."""
    options = parse_arguments(arguments)
    if "cuda" not in {backend.device_type for backend in testing.available_backends()}:
        sys.exit("gating.py: no CUDA backend or no device")
    floor = Floor()
    lines = []
    for router, dtype, experts, k, tokens in itertools.product(
        options.routers, options.dtypes, options.experts, options.k, options.tokens
    ):
        if k > experts:
            continue
        shape = Shape("short_row", dtype, tokens, experts, k)
        lines.append(measure(router, shape, floor, options.compile))
        print(lines[-1].text(), flush=True)
        if options.output is not None:
            content = {"environment": describe("cuda"), "lines": [asdict(line) for line in lines]}
            options.output.write_text(json.dumps(content, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
