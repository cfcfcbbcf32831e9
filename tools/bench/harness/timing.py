"""How times are taken.

On the CPU: the least wall-clock time of interleaved runs. On CUDA: device time. Calls are captured
in a graph, rotating over the inputs; the graph is replayed, each replay between two events, and the
median is divided by the calls in it: launch gaps and the host's speed stay out. Contenders take
turns, so that each sees the same machine.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

# Runs the call on one of the inputs.
Call = Callable[[Tensor], Any]

CPU_METHOD = (
    "least wall-clock time of interleaved runs after a warm-up; one thread count for all; normal "
    "values unless a distribution is named; ours and torch.topk return values and indices, unsorted"
)
CUDA_METHOD = (
    "median device time a call over replays of a CUDA graph, contenders in turn, inputs rotating "
    "over up to 8 buffers (256 MiB in all where the shape allows; l2 says whether they stay in "
    "L2); standard normal values unless a distribution is named; ours: indices only and any order, "
    "but for the sampler (sorted, with values); torch.topk unsorted, with values; the first and "
    "last buffer's outputs checked for the exact set, ties included"
)


# Interleaved runs go on for this long even where `rounds` of them are done: short ones need more
# to meet a quiet moment of the machine.
_MIN_CPU_S = 2.0


@dataclass(frozen=True)
class Timed:
    """A contender's time.

    Attributes:
        us: microseconds a call: the least run on the CPU, the median of the rounds on CUDA.
        spread: how much more the median run took (CPU), or the slowest round than the fastest
            (CUDA), as a share of the lesser.
    """

    us: float
    spread: float


def race_on_cpu(runners: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, Timed]:
    """The least time of each of at least `rounds` interleaved runs."""
    for run in runners.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in runners}
    begin = time.perf_counter()
    for i in itertools.count():
        if i >= rounds and time.perf_counter() - begin > _MIN_CPU_S:
            break
        for name, run in runners.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    return {
        name: Timed(min(runs) * 1e6, statistics.median(runs) / min(runs) - 1)
        for name, runs in times.items()
    }


@dataclass(frozen=True)
class Budget:
    """How long one contender may be timed, in microseconds of device time.

    Attributes:
        graph_us: what a graph is to take; more calls for shorter ones.
        total_us: what all replays are to take.
        min_replays, max_replays: bounds on their number, in all rounds together.
        rounds: turns of every contender.
    """

    graph_us: float = 1_000
    total_us: float = 60_000
    min_replays: int = 4
    max_replays: int = 40
    rounds: int = 2


QUICK = Budget(graph_us=500, total_us=15_000, min_replays=2, max_replays=16)

# More calls in a graph make capturing slower, not times better.
_MAX_CALLS = 256

# The device sleeps so long while the host enqueues calls whose time is to be estimated.
_HEAD_START_CYCLES = 1_000_000


@dataclass
class GraphTimer:
    """Replays one contender's graph.

    Attributes:
        outputs: of the last call on each input; hold the last replay's results.
    """

    call: Call
    inputs: Sequence[Tensor]
    budget: Budget
    outputs: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Warms up, estimates and captures."""
        estimate_us = self._estimate_us()
        count = len(self.inputs)
        rounds = max(1, round(self.budget.graph_us / (estimate_us * count)))
        self.num_calls = min(rounds, max(1, _MAX_CALLS // count)) * count
        self.outputs = [None] * count
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            for i in range(self.num_calls):
                self.outputs[i % count] = None  # its memory serves the next call
                self.outputs[i % count] = self.call(self.inputs[i % count])
        graph_us = estimate_us * self.num_calls
        replays = self.budget.total_us / graph_us
        replays = min(max(replays, self.budget.min_replays), self.budget.max_replays)
        self.replays_per_round = max(1, round(replays / self.budget.rounds))
        self._graph.replay()

    def sample(self) -> float:
        """Microseconds a call: the median over this round's replays."""
        events = [torch.cuda.Event(enable_timing=True) for _ in range(self.replays_per_round + 1)]
        events[0].record()
        for event in events[1:]:
            self._graph.replay()
            event.record()
        torch.cuda.synchronize()
        times = [a.elapsed_time(b) for a, b in itertools.pairwise(events)]
        return float(statistics.median(times)) * 1e3 / self.num_calls

    def _estimate_us(self) -> float:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        with torch.cuda.stream(stream):
            for x in self.inputs:
                self.call(x)
            torch.cuda._sleep(_HEAD_START_CYCLES)
            start.record()
            for x in self.inputs:
                self.call(x)
            end.record()
        torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.synchronize()
        return max(float(start.elapsed_time(end)) * 1e3 / len(self.inputs), 1.0)


def race_on_cuda(timers: Mapping[str, GraphTimer], rounds: int) -> dict[str, Timed]:
    """Each contender's time, taking turns."""
    samples: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(rounds):
        for name, timer in timers.items():
            samples[name].append(timer.sample())
    return {
        name: Timed(statistics.median(times), (max(times) - min(times)) / min(times))
        for name, times in samples.items()
    }


def time_by_events(call: Call, inputs: Sequence[Tensor], *, num_calls: int = 24) -> float:
    """Microseconds a call, between two events round each, in the median.

    The device first sleeps while the host enqueues everything, so that no call waits for the host.
    An event costs about a microsecond, which is in the figure.
    """
    for x in inputs:
        call(x)
    pairs = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(num_calls)]
    torch.cuda.synchronize()
    start = time.perf_counter()
    call(inputs[0])
    host_s = time.perf_counter() - start
    torch.cuda.synchronize()
    cycles_per_s = 2e9
    torch.cuda._sleep(int(min(2 * host_s * num_calls + 1e-3, 0.02) * cycles_per_s))
    for i, (begin, end) in enumerate(pairs):
        begin.record()
        call(inputs[i % len(inputs)])
        end.record()
    torch.cuda.synchronize()
    return float(statistics.median(a.elapsed_time(b) for a, b in pairs)) * 1e3


def host_us(call: Callable[[], object], *, calls: int = 200, bursts: int = 20) -> float:
    """Host microseconds a call: the least of several bursts, each begun on an idle device.

    A burst is shorter than the launch queue, so that no call waits for the device.
    """
    least = float("inf")
    for _ in range(bursts):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        least = min(least, time.perf_counter() - start)
    torch.cuda.synchronize()
    return least / calls * 1e6
