"""Measures the CUDA backend against torch.topk, the read floor and other kernels."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

import deepselect  # noqa: F401  registers the op
from deepselect import testing
from harness import exact, report
from harness.environment import describe, read_clocks
from harness.floor import Floor
from harness.inputs import make_inputs
from harness.peers import PeersFile, best_peer, importable_peers
from harness.results import Measurement, Results
from harness.shapes import CLASSES, Shape
from harness.timing import (
    CUDA_METHOD,
    Budget,
    Call,
    GraphTimer,
    Timed,
    race_on_cuda,
    time_by_events,
)


def ours(shape: Shape, **arguments: Any) -> Call:
    """Our op on one input, by its overload: no Python of ours in between."""
    topk = torch.ops.deepselect.topk.default
    options = {"order": shape.order, "return_values": shape.return_values, **arguments}
    return lambda x: topk(x, shape.k, **options)


class CudaRun:
    """One run: the device, its floor, the other kernels, and what was found so far.

    Attributes:
        budget: of every contender.
        results: grows as shapes are measured.
    """

    def __init__(self, budget: Budget, peers: PeersFile | None) -> None:
        """Prepares what can be had; what cannot is in ``results.skipped``."""
        # Every graph capture collects garbage; it need not walk all of torch each time.
        gc.freeze()
        self.budget = budget
        self.device = torch.device("cuda", torch.cuda.current_device())
        self.results = Results("cuda", describe("cuda"), CUDA_METHOD)
        self._peers = peers
        self._live_peers, absent = importable_peers()
        self.results.skipped |= absent
        self._floor: Floor | None = None
        try:
            self._floor = Floor()
            self._floor.check()
        except RuntimeError as error:
            self._floor = None
            self.results.skipped["read floor"] = str(error)
        self._seeds = itertools.count()
        self.note_clocks("start")

    def note_clocks(self, when: str) -> None:
        self.results.environment["clocks"][when] = read_clocks()

    def inputs(self, shape: Shape) -> list[Tensor]:
        """Fresh inputs of a shape."""
        return make_inputs(shape, self.device, seed=next(self._seeds))

    def time(self, calls: dict[str, tuple[Call, Sequence[Tensor]]]) -> dict[str, Timed]:
        """Times calls on their inputs, in turns."""
        timers = {name: GraphTimer(call, x, self.budget) for name, (call, x) in calls.items()}
        return race_on_cuda(timers, self.budget.rounds)

    def measure(self, shape: Shape) -> Measurement:
        """One shape against everything there is."""
        inputs = self.inputs(shape)
        timers = {"ours": GraphTimer(ours(shape), inputs, self.budget)}
        timers["torch"] = GraphTimer(
            lambda x: torch.topk(x, shape.k, sorted=False), inputs, self.budget
        )
        timers |= self._floor_timers(shape, inputs)
        live_timers = self._live_timers(shape, inputs)
        times = race_on_cuda(timers | live_timers, self.budget.rounds)
        us = {name: timed.us for name, timed in times.items()}

        fault = self.fault_of(shape, inputs, timers["ours"].outputs)
        live_us = {name: us[name] for name in live_timers}
        peer_times = self._peers.of(shape) if self._peers else None
        peer, peer_us = best_peer(peer_times, us["torch"], live_us)
        deepselect_us = live_us.get("DeepSelect")
        if deepselect_us is None and peer_times and "DeepSelect" in peer_times.peers_us:
            scale = us["torch"] / peer_times.torch_us
            deepselect_us = peer_times.peers_us["DeepSelect"] * scale
        l2_bytes = torch.cuda.get_device_properties(self.device).L2_cache_size
        measurement = Measurement(
            **vars(shape),
            ours_us=us["ours"],
            ours_spread=times["ours"].spread,
            ours_events_us=time_by_events(ours(shape), inputs),
            torch_us=us["torch"],
            read_floor_us=us.get("read_floor"),
            read_write_floor_us=us.get("read_write_floor"),
            best_peer=peer,
            best_peer_us=peer_us,
            best_peer_file_us=peer_times.best_peer_us if peer_times else None,
            peers_us=live_us,
            deepselect_peer_us=deepselect_us,
            num_buffers=len(inputs),
            l2="warm" if len(inputs) * shape.input_bytes <= l2_bytes else "cold",
            variant=testing.chosen_variant(inputs[0], shape.k, order=shape.order),
            is_exact=fault is None,
            fault=fault,
        )
        self.results.measurements.append(measurement)
        return measurement

    def fault_of(
        self,
        shape: Shape,
        inputs: Sequence[Tensor],
        outputs: Sequence[tuple[Tensor, Tensor]],
        end: Tensor | None = None,
    ) -> str | None:
        """What is wrong with the outputs on the first and the last input, None if nothing."""
        for i in {0, len(inputs) - 1}:
            values, indices = outputs[i]
            fault = exact.find_fault(
                inputs[i],
                indices,
                values if shape.return_values else None,
                order=shape.order,
                end=end,
            )
            if fault is not None:
                return fault
        return None

    def _floor_timers(self, shape: Shape, inputs: Sequence[Tensor]) -> dict[str, GraphTimer]:
        floor = self._floor
        if floor is None:
            return {}
        timers = {"read_floor": GraphTimer(floor.read, inputs, self.budget)}
        if CLASSES["short_rows"](shape):
            indices = torch.empty(shape.rows, shape.k, dtype=torch.int32, device=self.device)
            timers["read_write_floor"] = GraphTimer(
                lambda x: floor.read_write(x, indices), inputs, self.budget
            )
        return timers

    def _live_timers(self, shape: Shape, inputs: Sequence[Tensor]) -> dict[str, GraphTimer]:
        timers = {}
        for peer, module in self._live_peers:
            if not peer.takes(shape):
                continue
            try:
                run = peer.prepare(module, shape, self.device)
                fault = exact.find_fault(inputs[0], run(inputs[0]), lowest_ties=False)
                if fault is None:
                    timers[peer.name] = GraphTimer(run, inputs, self.budget)
            except Exception as error:  # another library's errors are of any type
                fault = f"{type(error).__name__}: {error}"
            if fault is not None:
                self.results.skipped[f"{peer.name} at {shape.name}"] = fault
        return timers


def run(
    shapes: Sequence[Shape],
    extras: Sequence[Callable[[CudaRun], None]],
    budget: Budget,
    peers: PeersFile | None,
    keep: Callable[[Results], None],
) -> Results:
    """Measures every shape, then the extras, and prints a line for each.

    A failure is noted and the run goes on, unless the device is lost. `keep` is called after each
    step with what there is, so that a run which is cut off leaves that much.
    """
    with torch.inference_mode():
        cuda_run = CudaRun(budget, peers)
        results = cuda_run.results
        print(report.environment_line(results))
        print(report.CUDA_HEADER)
        steps: list[tuple[str, Callable[[], object]]] = [
            *((shape.name, partial(_measure_and_print, cuda_run, shape)) for shape in shapes),
            ("clocks", partial(cuda_run.note_clocks, "after shapes")),
            *((extra.__name__, partial(extra, cuda_run)) for extra in extras),
            ("clocks", partial(cuda_run.note_clocks, "end")),
        ]
        for name, step in steps:
            try:
                step()
            except (RuntimeError, OSError) as error:  # OSError: a library that does not load
                results.skipped[name] = f"failed: {str(error).splitlines()[0]}"
                print(f"{name}: {results.skipped[name]}", flush=True)
                if _is_device_lost():
                    results.skipped["the rest"] = f"the device was lost at {name}"
                    break
            keep(results)
    return results


def _measure_and_print(cuda_run: CudaRun, shape: Shape) -> None:
    print(report.cuda_row(cuda_run.measure(shape)), flush=True)


def _is_device_lost() -> bool:
    """Whether an error stays: nothing measured after it would mean anything."""
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return True
    return False
