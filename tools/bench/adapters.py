"""Measures deepselect.compat: each adapter against the plain call that selects the same and, where
it is installed and a GPU is there, against the original.

  python tools/bench/adapters.py --backend cuda --output adapters.json
  python tools/bench/adapters.py --backend cpu --quick

What an adapter costs over the plain call are its small launches (a length added to a start, the row
ends of a decode step laid out) and copies of outputs. docs/benchmarks.md says how times are taken.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import deepselect
from deepselect.compat import deep_select, flashinfer, sglang, tensorrt_llm, vllm
from deepselect.compat import torch as torch_adapter
from harness.environment import describe
from harness.inputs import make_inputs
from harness.shapes import Shape
from harness.timing import QUICK, Budget, Call, GraphTimer, race_on_cpu, race_on_cuda

_DECODE = Shape("indexer", "float32", 64, 131072, 2048)
_PREFILL = Shape("indexer", "float32", 4096, 16384, 2048)
_SAMPLER = Shape("sampler", "float32", 64, 129280, 64)
_CPU_ROUNDS = 5


class Operands:
    """What calls take beside the scores: windows of between half a row and a row, and buffers."""

    def __init__(self, shape: Shape, device: torch.device) -> None:
        """Makes them once, so that calls of a graph share them."""
        rows, cols, k = shape.rows, shape.cols, shape.k
        generator = torch.Generator(device).manual_seed(0)
        integers = {"dtype": torch.int32, "device": device}
        self.k = k
        self.lengths = torch.randint(cols // 2, cols, (rows,), generator=generator, **integers)
        # Two rows a sequence, as a decode step with one speculative token has them.
        self.pair_lengths = self.lengths[::2].contiguous()
        self.pair_ends = torch.stack([self.pair_lengths - 1, self.pair_lengths], 1).flatten()
        self.starts = (cols - self.lengths) // 2
        self.ends = self.starts + self.lengths
        self.table = torch.arange(rows * cols, **integers).view(rows, cols)
        self.sequences = torch.arange(rows + 1, **integers)
        self.offsets = self.sequences[:-1] * cols
        self.out = torch.empty(rows, k, **integers)
        self.workspace = torch.zeros(1 << 20, dtype=torch.uint8, device=device)
        self._plans: dict[str, Tensor] = {}

    def plan(self, module: Any) -> Tensor:
        """SGLang's plan, made once: a step makes it for all its layers."""
        if module.__name__ not in self._plans:
            self._plans[module.__name__] = module.plan_topk_v2(self.lengths)
        return self._plans[module.__name__]


@dataclass(frozen=True)
class Case:
    """An adapter's call, the plain call for the same selection, and where the original is.

    Attributes:
        name: library and function.
        shape: of the scores.
        call: calls the function of a module, the adapter's or the original.
        adapter: the adapter's module.
        original: finds the original's module, or raises ImportError.
        plain: options of the plain call.
    """

    name: str
    shape: Shape
    call: Callable[[Any, Tensor, Operands], Any]
    adapter: Any
    original: Callable[[], Any]
    plain: Callable[[Operands], Mapping[str, Any]]


def _module(name: str) -> Callable[[], Any]:
    return partial(importlib.import_module, name)


def _ops(module: str, namespace: str) -> Callable[[], Any]:
    """torch.ops.namespace, which importing the module fills."""

    def find() -> Any:
        importlib.import_module(module)
        return getattr(torch.ops, namespace)

    return find


_FROM_ZERO = {"end": "lengths"}
_WINDOW = {"begin": "starts", "end": "ends"}


def _plain(names: Mapping[str, str], **options: Any) -> Callable[[Operands], Mapping[str, Any]]:
    def arguments(operands: Operands) -> Mapping[str, Any]:
        return {name: getattr(operands, of) for name, of in names.items()} | options

    return arguments


def _indices(names: Mapping[str, str], **options: Any) -> Callable[[Operands], Mapping[str, Any]]:
    return _plain(names, return_values=False, **options)


CASES = (
    Case(
        "torch.topk",
        _SAMPLER,
        lambda m, x, o: m.topk(x, o.k),
        torch_adapter,
        lambda: torch,
        _plain({}, order="value", index_dtype=torch.int64),
    ),
    Case(
        "vllm.persistent_topk",
        _DECODE,
        lambda m, x, o: m.persistent_topk(x, o.lengths, o.out, o.workspace, o.k, x.shape[1]),
        vllm,
        _ops("vllm._custom_ops", "_C"),
        _indices(_FROM_ZERO),
    ),
    Case(
        "vllm.cooperative_topk",
        replace(_DECODE, rows=8),
        lambda m, x, o: m.cooperative_topk(x, o.lengths, o.out, o.workspace, o.k, x.shape[1]),
        vllm,
        _ops("vllm._custom_ops", "_C"),
        _indices(_FROM_ZERO),
    ),
    Case(
        "vllm.top_k_per_row_decode",
        _DECODE,
        lambda m, x, o: m.top_k_per_row_decode(
            x, 2, o.pair_lengths, o.out, x.shape[0], *x.stride(), o.k
        ),
        vllm,
        _module("vllm._custom_ops"),
        _indices({"end": "pair_ends"}),
    ),
    Case(
        "vllm.top_k_per_row_prefill",
        _PREFILL,
        lambda m, x, o: m.top_k_per_row_prefill(
            x, o.starts, o.ends, o.out, x.shape[0], *x.stride(), o.k
        ),
        vllm,
        _module("vllm._custom_ops"),
        _indices(_WINDOW),
    ),
    Case(
        "tensorrt_llm.indexer_topk_decode",
        _DECODE,
        lambda m, x, o: m.indexer_topk_decode(x, o.lengths, o.out, 1, o.k),
        tensorrt_llm,
        _ops("tensorrt_llm", "trtllm"),
        _indices(_FROM_ZERO),
    ),
    Case(
        "tensorrt_llm.indexer_topk_prefill",
        _PREFILL,
        lambda m, x, o: m.indexer_topk_prefill(x, o.starts, o.ends, o.out, o.k),
        tensorrt_llm,
        _ops("tensorrt_llm", "trtllm"),
        _indices(_WINDOW),
    ),
    Case(
        "sglang.fast_topk_v2",
        _DECODE,
        lambda m, x, o: m.fast_topk_v2(x, o.lengths, o.k),
        sglang,
        _module("sgl_kernel"),
        _indices(_FROM_ZERO),
    ),
    Case(
        "sglang.fast_topk_transform_fused",
        _DECODE,
        lambda m, x, o: m.fast_topk_transform_fused(x, o.lengths, o.table, o.sequences, o.k),
        sglang,
        _module("sgl_kernel"),
        _indices({**_FROM_ZERO, "page_table": "table"}),
    ),
    Case(
        "sglang.fast_topk_transform_ragged_fused",
        _PREFILL,
        lambda m, x, o: m.fast_topk_transform_ragged_fused(x, o.lengths, o.offsets, o.k, o.starts),
        sglang,
        _module("sgl_kernel"),
        _indices({**_WINDOW, "index_offset": "offsets"}),
    ),
    Case(
        "sglang.topk_transform_paged_v2",
        _DECODE,
        lambda m, x, o: m.topk_transform_paged_v2(x, o.lengths, o.table, o.out, 1, o.plan(m)),
        sglang,
        _module("sglang.kernels.ops.attention.dsv4"),
        _indices({**_FROM_ZERO, "page_table": "table"}),
    ),
    Case(
        "flashinfer.top_k",
        _SAMPLER,
        lambda m, x, o: m.top_k(x, o.k),
        flashinfer,
        _module("flashinfer"),
        _plain({}, index_dtype=torch.int64),
    ),
    Case(
        "flashinfer.top_k_page_table_transform",
        _DECODE,
        lambda m, x, o: m.top_k_page_table_transform(x, o.table, o.lengths, o.k),
        flashinfer,
        _module("flashinfer"),
        _indices({**_FROM_ZERO, "page_table": "table"}),
    ),
    Case(
        "flashinfer.top_k_ragged_transform",
        _DECODE,
        lambda m, x, o: m.top_k_ragged_transform(x, o.offsets, o.lengths, o.k),
        flashinfer,
        _module("flashinfer"),
        _indices({**_FROM_ZERO, "index_offset": "offsets"}),
    ),
    Case(
        "deep_select.topk",
        replace(_DECODE, dtype="bfloat16"),
        lambda m, x, o: m.topk(x, o.k, end=o.lengths, indices_type=torch.int32),
        deep_select,
        _module("deep_select"),
        _plain(_FROM_ZERO),
    ),
)


def contenders(case: Case, operands: Operands, on_gpu: bool) -> dict[str, Call]:
    """The calls to time; the original only where it can run."""
    arguments = case.plain(operands)
    calls: dict[str, Call] = {
        "adapter": lambda x: case.call(case.adapter, x, operands),
        "plain": lambda x: deepselect.topk(x, operands.k, **arguments),
    }
    if on_gpu or case.name == "torch.topk":
        try:
            module = case.original()
            case.call(module, make_inputs(case.shape, operands.out.device)[0], operands)
        except (ImportError, AttributeError, RuntimeError, AssertionError) as error:
            print(f"{case.name}: no original: {error}".splitlines()[0], file=sys.stderr)
        else:
            calls["original"] = lambda x: case.call(module, x, operands)
    return calls


def measure(case: Case, device: torch.device, budget: Budget) -> dict[str, float]:
    """Microseconds a call of each contender."""
    operands = Operands(case.shape, device)
    inputs = make_inputs(case.shape, device)
    calls = contenders(case, operands, device.type == "cuda")
    if device.type == "cpu":
        runners = {name: partial(call, inputs[0]) for name, call in calls.items()}
        timed = race_on_cpu(runners, _CPU_ROUNDS)
    else:
        timers = {name: GraphTimer(call, inputs, budget) for name, call in calls.items()}
        timed = race_on_cuda(timers, budget.rounds)
    return {name: time.us for name, time in timed.items()}


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--backend", choices=("cpu", "cuda"), required=True)
    parser.add_argument("--only", default="", help="a part of a case's name")
    parser.add_argument("--quick", action="store_true", help="few rows, short timing")
    parser.add_argument("--output", type=Path, help="a JSON file to write")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Measures and prints a line per adapter."""
    options = parse_arguments(arguments)
    results: dict[str, Any] = {"environment": describe(options.backend), "lines": []}
    for case in CASES:
        if options.only not in case.name:
            continue
        if options.quick:
            case = replace(case, shape=replace(case.shape, rows=min(case.shape.rows, 8)))
        times = measure(case, torch.device(options.backend), QUICK if options.quick else Budget())
        text = "  ".join(f"{name} {us:9.2f} us" for name, us in times.items())
        print(f"{case.name:40} {case.shape.name:28} {text}", flush=True)
        results["lines"].append({"name": case.name, **vars(case.shape), **times})
        if options.output is not None:
            options.output.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
