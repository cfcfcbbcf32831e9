"""Wall-clock times that wait for the device."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from tqdm import tqdm


class Stopwatch:
    """Seconds spent in each named stage; a stage entered again adds up."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Times the body, and what it left running on the device."""
        self._wait()
        start = time.perf_counter()
        yield
        self._wait()
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def race(self, runners: dict[str, Callable[[], object]], *, rounds: int) -> None:
        """Records the shortest of several runs of each, interleaved to see the same machine."""
        shortest = dict.fromkeys(runners, float("inf"))
        for _ in tqdm(range(rounds), desc="top-k", delay=2, leave=False, disable=None):
            for name, run in runners.items():
                self._wait()
                start = time.perf_counter()
                run()
                self._wait()
                shortest[name] = min(shortest[name], time.perf_counter() - start)
        self.seconds |= shortest

    def _wait(self) -> None:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
