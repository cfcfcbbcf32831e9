"""Targets that are no single shape's time: ragged rows, hostile inputs, small and large k, host
cost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

import deepselect
from deepselect import testing
from harness import exact, report
from harness.candidate import BuildError, Candidate, Replacement, build
from harness.cuda_run import CudaRun, ours
from harness.results import Comparison
from harness.shapes import (
    HOSTILE,
    HOSTILE_SHAPES,
    LARGE_K_SHAPES,
    RAGGED_CASES,
    SAMPLER_ROWS,
    RaggedCase,
    Shape,
    sampler_shape,
)
from harness.timing import GraphTimer, host_us, race_on_cuda

# Row lengths are rounded to this for the equal rows, which are then aligned as usual.
_EQUAL_COLS_MULTIPLE = 64


def _note(cuda_run: CudaRun, comparison: Comparison, fault: str | None = None) -> None:
    if fault is not None:
        cuda_run.results.skipped[f"{comparison.group} {comparison.label}"] = f"WRONG: {fault}"
    else:
        cuda_run.results.comparisons.append(comparison)
    print(report.comparison_row(comparison, fault), flush=True)


def hostile(cuda_run: CudaRun) -> None:
    """Hostile distributions against normal data, timed in turns."""
    for shape in HOSTILE_SHAPES:
        normal_inputs = cuda_run.inputs(shape)
        normal = GraphTimer(ours(shape), normal_inputs, cuda_run.budget)
        for distribution in HOSTILE:
            hostile_shape = replace(shape, distribution=distribution)
            inputs = cuda_run.inputs(hostile_shape)
            timer = GraphTimer(ours(hostile_shape), inputs, cuda_run.budget)
            times = race_on_cuda({"hostile": timer, "normal": normal}, cuda_run.budget.rounds)
            comparison = Comparison(
                "hostile",
                hostile_shape.name,
                times["hostile"].us,
                times["normal"].us,
                "ours on normal data",
            )
            fault = cuda_run.fault_of(hostile_shape, inputs, timer.outputs)
            _note(cuda_run, comparison, fault)


def _lengths(case: RaggedCase, device: torch.device) -> Tensor:
    shape = case.shape
    generator = torch.Generator(device).manual_seed(shape.rows * 7 + shape.k)
    if case.kind == "uniform":
        size = (shape.rows,)
        lengths = torch.randint(1, shape.cols + 1, size, generator=generator, device=device)
    else:
        lengths = torch.full((shape.rows,), case.short_cols, device=device)
        lengths[0] = shape.cols
    return lengths.int()


def ragged(cuda_run: CudaRun) -> None:
    """Rows of different lengths against the same bytes in equal rows, and the longest row alone."""
    for case in RAGGED_CASES:
        shape = case.shape
        inputs = cuda_run.inputs(shape)
        end = _lengths(case, cuda_run.device)
        mean_cols = round(end.double().mean().item() / _EQUAL_COLS_MULTIPLE) * _EQUAL_COLS_MULTIPLE
        equal = replace(shape, cols=max(mean_cols, _EQUAL_COLS_MULTIPLE))
        timers = {
            "ragged": GraphTimer(ours(shape, end=end), inputs, cuda_run.budget),
            "equal": GraphTimer(ours(equal), cuda_run.inputs(equal), cuda_run.budget),
        }
        if case.kind == "one_long":
            alone = replace(shape, rows=1)
            timers["alone"] = GraphTimer(ours(alone), cuda_run.inputs(alone), cuda_run.budget)
        times = race_on_cuda(timers, cuda_run.budget.rounds)
        yardstick = max(("equal", "alone"), key=lambda name: times[name].us if name in times else 0)
        comparison = Comparison(
            f"ragged {case.kind}",
            f"{shape.name} in {shape.rows}x{equal.cols}",
            times["ragged"].us,
            times[yardstick].us,
            {"equal": "same bytes in equal rows", "alone": "long row alone"}[yardstick],
        )
        fault = cuda_run.fault_of(shape, inputs, timers["ragged"].outputs, end)
        _note(cuda_run, comparison, fault)


def sampler(cuda_run: CudaRun) -> None:
    """A k of 50 against k = 512, sorted with values, on the same inputs."""
    for rows in SAMPLER_ROWS:
        small, large = sampler_shape(rows, 50), sampler_shape(rows, 512)
        inputs = cuda_run.inputs(small)
        times = cuda_run.time({"small": (ours(small), inputs), "large": (ours(large), inputs)})
        comparison = Comparison(
            "sampler k=50", small.name, times["small"].us, times["large"].us, "ours at k = 512"
        )
        _note(cuda_run, comparison)


def large_k(cuda_run: CudaRun) -> None:
    """A k beyond 4096 against torch.topk, which sorts where we do; values returned by both."""
    for shape in LARGE_K_SHAPES:
        inputs = cuda_run.inputs(shape)
        timers = {
            "ours": GraphTimer(ours(shape), inputs, cuda_run.budget),
            "torch": GraphTimer(
                partial(torch.topk, k=shape.k, sorted=shape.order == "value"),
                inputs,
                cuda_run.budget,
            ),
        }
        times = race_on_cuda(timers, cuda_run.budget.rounds)
        label = f"{shape.name} {shape.order}"
        comparison = Comparison("large k", label, times["ours"].us, times["torch"].us, "torch.topk")
        _note(cuda_run, comparison, cuda_run.fault_of(shape, inputs, timers["ours"].outputs))


# What the filters do for two rules of the contract, taken out: the NaN rule (and -0.0 = +0.0) is an
# instruction per word; the tie rule makes a bound of value and position, where one of the value
# lets every equal element through. The finish, which sees the survivors alone, stays as it is.
WITHOUT_NAN_RULE = tuple(
    Replacement("cuda/common/key_map.cuh", f"ptx::{fma}(word, sign_, 0u)", "word")
    for fma in ("fma_f32", "fma_bf16x2", "fma_f16x2")
)
WITHOUT_TIES = {
    "cluster_row": (
        Replacement(
            "cuda/kernels/cluster_row.cuh",
            "const Composite bound = Composite{bound_key} << 32 | bound_low;",
            "const Composite bound = Composite{bound_key} << 32;",
        ),
    ),
    "row_registers": (),
    "row_stream": (
        Replacement(
            "cuda/kernels/row_stream.cuh", "bound = found.low;", "bound = found.low >> 32 << 32;"
        ),
    ),
    "split_stream": (
        Replacement(
            "cuda/kernels/split_stream.cuh",
            "const Composite bound = found.bound;",
            "const Composite bound = found.bound >> 32 << 32;",
        ),
    ),
}


def ties(cuda_run: CudaRun) -> None:
    """Our op against the same variant compiled without lowest-index ties and the NaN rule."""
    architecture = "sm_{}{}".format(*torch.cuda.get_device_capability())
    for shape in HOSTILE_SHAPES:
        inputs = cuda_run.inputs(shape)
        variant = testing.chosen_variant(inputs[0], shape.k, order=shape.order)
        label = f"{shape.name}, {variant}"
        if variant not in WITHOUT_TIES:
            cuda_run.results.skipped[f"ties and NaN, {label}"] = "no policy without them"
            continue
        try:
            built = build(variant, WITHOUT_NAN_RULE + WITHOUT_TIES[variant], architecture)
        except BuildError as error:
            cuda_run.results.skipped[f"ties and NaN, {label}"] = str(error)
            continue
        options = {"order": shape.order, "return_values": shape.return_values}
        bare = partial(Candidate(built.path), k=shape.k, **options)
        fault = exact.find_fault(inputs[0], bare(inputs[0])[1], lowest_ties=False)
        times = cuda_run.time({"ours": (ours(shape), inputs), "bare": (bare, inputs)})
        comparison = Comparison(
            "ties and NaN", label, times["ours"].us, times["bare"].us, "ours without"
        )
        _note(cuda_run, comparison, fault)


def host(cuda_run: CudaRun) -> None:
    """Host time of a call against torch.topk's: like with like, then what else is called."""
    shape = Shape("indexer", "bfloat16", 8, 4096, 512)
    x = cuda_run.inputs(shape)[0]
    _host(cuda_run, "inference_mode", x, shape.k)
    with torch.inference_mode(False), torch.no_grad():
        _host(cuda_run, "no_grad", x.clone(), shape.k)  # x itself stays of inference mode


def _host(cuda_run: CudaRun, mode: str, x: Tensor, k: int) -> None:
    op = torch.ops.deepselect.topk.default
    torch_us = host_us(lambda: torch.topk(x, k))
    for label, call in (
        ("op", lambda: op(x, k)),
        ("op, indices only", lambda: op(x, k, return_values=False)),
        ("deepselect.topk", lambda: deepselect.topk(x, k)),
    ):
        group = f"host {mode}" if label == "op" else f"host {mode}, other"
        _note(cuda_run, Comparison(group, label, host_us(call), torch_us, "torch.topk"))


EXTRAS: dict[str, Callable[[CudaRun], None]] = {
    function.__name__: function for function in (hostile, ragged, sampler, large_k, ties, host)
}
