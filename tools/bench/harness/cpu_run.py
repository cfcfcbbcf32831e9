"""Measures the CPU backend against torch.topk and x.amax(-1)."""

from __future__ import annotations

import os
from collections.abc import Sequence

import torch

import deepselect  # noqa: F401  registers the op
from harness import exact, report
from harness.environment import describe
from harness.inputs import make_input
from harness.results import Measurement, Results
from harness.shapes import Shape
from harness.timing import CPU_METHOD, race_on_cpu


def measure(shape: Shape, rounds: int) -> Measurement:
    """One shape; torch's two are timed on floats and int32 alike."""
    x = make_input(shape, torch.device("cpu"), seed=0)
    topk = torch.ops.deepselect.topk.default
    options = {"order": shape.order, "return_values": shape.return_values}
    times = race_on_cpu(
        {
            "ours": lambda: topk(x, shape.k, **options),
            "torch": lambda: torch.topk(x, shape.k, sorted=shape.order == "value"),
            "amax": lambda: x.amax(-1),
        },
        rounds,
    )
    values, indices = topk(x, shape.k, **options)
    fault = exact.find_fault(x, indices, values if shape.return_values else None, order=shape.order)
    return Measurement(
        **vars(shape),
        ours_us=times["ours"].us,
        ours_spread=times["ours"].spread,
        torch_us=times["torch"].us,
        amax_us=times["amax"].us,
        is_exact=fault is None,
        fault=fault,
    )


@torch.inference_mode()
def run(shapes: Sequence[Shape], rounds: int) -> Results:
    """Measures every shape and prints a line for each."""
    results = Results("cpu", describe("cpu"), f"{CPU_METHOD}; at least {rounds} rounds")
    print(report.environment_line(results))
    print(report.CPU_HEADER)
    for shape in shapes:
        measurement = measure(shape, rounds)
        results.measurements.append(measurement)
        print(report.cpu_row(measurement), flush=True)
    results.environment["load_average"].append(os.getloadavg()[0])
    return results
