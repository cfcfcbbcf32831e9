"""Searches the tuning values of a CUDA variant on the GPU at hand.

One value after another is varied over its declared range, the best is kept, and so round again
until nothing improves. A candidate is the variant's translation unit compiled with other text in
its tuning header (tools/bench/harness/candidate.py); those of one step are compiled side by side,
timed in turns by graph replay with the best so far, and their answers are proved right. What a
policy's is_valid() refuses, spills, or answers wrongly is out. Nothing is changed in the sources:
the best values are printed, and everything measured goes into a JSON file.

    PYTHONPATH=python python tools/tune.py row_stream --output tune.json
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import torch

sys.path.append(str(Path(__file__).resolve().parent / "bench"))

from harness import exact
from harness.candidate import BuildError, Candidate, Replacement, build
from harness.environment import describe, read_clocks
from harness.inputs import make_inputs
from harness.shapes import Shape
from harness.targets import geometric_mean
from harness.timing import QUICK, GraphTimer, race_on_cuda
from harness.tunables import TUNABLES

ROOT = Path(__file__).resolve().parent.parent

# Less than this is noise, not an improvement.
MIN_GAIN = 0.01
SPILL = re.compile(r"([1-9]\d*) bytes spill")

# Values by name, as they stand in the header.
Values = dict[str, str]


def present_values(text: str, names: Sequence[str]) -> Values:
    """What a header says.

    Raises:
        ValueError: a name has no value, or two.
    """
    values = {}
    for name in names:
        found = re.findall(rf"\b{name} = ([^;]+);", text)
        if len(found) != 1:
            raise ValueError(f"{name}: {len(found)} values in the header, wanted 1")
        values[name] = found[0]
    return values


class Search:
    """One variant's search.

    Attributes:
        best: values found so far; at first those of the sources.
        tried: a record of every candidate.
    """

    def __init__(self, variant: str, jobs: int) -> None:
        self.variant = variant
        self.header = f"cuda/tuning/{variant}.h"
        self._jobs = jobs
        self._tunable = TUNABLES[variant]
        text = (ROOT / "csrc" / self.header).read_text()
        self.present = present_values(text, list(self._tunable.ranges))
        self.best = dict(self.present)
        self.tried: list[dict[str, Any]] = []

    @cached_property
    def _architecture(self) -> str:
        major, minor = torch.cuda.get_device_capability()
        return f"sm_{major}{minor}"

    def _build(self, values: Values) -> Candidate | str:
        """A candidate, or what is wrong with it."""
        changes = [
            Replacement(self.header, f"{name} = {self.present[name]};", f"{name} = {value};")
            for name, value in values.items()
            if value != self.present[name]
        ]
        try:
            built = build(self.variant, changes, self._architecture)
        except BuildError as error:
            return str(error)
        if spill := SPILL.search(built.log):
            return f"spills {spill[1]} bytes"
        return Candidate(built.path)

    def step(self, name: str) -> bool:
        """Varies one value; returns whether a better one was found."""
        others = [value for value in self._tunable.ranges[name] if value != self.best[name]]
        choices = [self.best[name], *others]
        with ThreadPoolExecutor(self._jobs) as pool:
            built = list(pool.map(lambda v: self._build({**self.best, name: v}), choices))
        records = [{"values": {**self.best, name: value}, "us": {}} for value in choices]
        for record, candidate in zip(records, built, strict=True):
            if isinstance(candidate, str):
                record["fault"] = candidate
        if "fault" in records[0]:
            raise RuntimeError(f"{self.variant} as it is: {records[0]['fault']}")
        for shape in self._tunable.shapes:
            self._time(shape, built, records)
        ratios = {
            value: geometric_mean(
                [records[0]["us"][shape] / us for shape, us in record["us"].items()]
            )
            for value, record in zip(choices, records, strict=True)
            if "fault" not in record
        }
        self.tried += records
        winner = max(ratios, key=lambda value: ratios[value])
        print(f"{name}:", *(f"[{v}] {ratio:.3f}" for v, ratio in ratios.items()), flush=True)
        for value, record in zip(choices, records, strict=True):
            if "fault" in record:
                print(f"  [{value}] {record['fault']}", flush=True)
        if ratios[winner] < 1 + MIN_GAIN:
            return False
        self.best[name] = winner
        return True

    def _time(
        self, shape: Shape, built: Sequence[Candidate | str], records: list[dict[str, Any]]
    ) -> None:
        """Adds a time to every record without a fault."""
        inputs = make_inputs(shape, torch.device("cuda", torch.cuda.current_device()))
        options = {"order": shape.order, "return_values": shape.return_values}
        timers = {}
        for i, (candidate, record) in enumerate(zip(built, records, strict=True)):
            if isinstance(candidate, str) or "fault" in record:
                continue
            try:
                timers[str(i)] = GraphTimer(partial(candidate, k=shape.k, **options), inputs, QUICK)
            except RuntimeError as error:
                record["fault"] = str(error)
        for i, timed in race_on_cuda(timers, QUICK.rounds).items():
            record = records[int(i)]
            record["us"][shape.name] = timed.us
            values, indices = timers[i].outputs[0]
            fault = exact.find_fault(inputs[0], indices, values, order=shape.order)
            if fault is not None:
                record["fault"] = f"WRONG at {shape.name}: {fault}"

    def as_dict(self) -> dict[str, Any]:
        environment = describe("cuda")
        environment["clocks"] = read_clocks()
        return {
            "variant": self.variant,
            "environment": environment,
            "present": self.present,
            "best": self.best,
            "tried": self.tried,
        }


def main() -> int:
    """Searches, prints and saves."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("variant", choices=TUNABLES)
    parser.add_argument("--values", nargs="+", metavar="NAME", help="to vary; default: all")
    parser.add_argument("--sweeps", type=int, default=2, help="rounds of all values, at most")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compilers at once")
    parser.add_argument("--output", type=Path, help="where the JSON goes, after every step")
    options = parser.parse_args()
    ranges = TUNABLES[options.variant].ranges
    names = options.values or list(ranges)
    if unknown := set(names) - ranges.keys():
        parser.error(f"--values must be of {', '.join(ranges)}, got {', '.join(unknown)}")
    search = Search(options.variant, options.jobs)
    with torch.inference_mode():
        for _ in range(options.sweeps):
            is_better = False
            for name in names:
                is_better |= search.step(name)
                if options.output is not None:
                    options.output.write_text(json.dumps(search.as_dict(), indent=1) + "\n")
            if not is_better:
                break
    for name, value in search.best.items():
        was = search.present[name]
        print(f"{name} = {value};" + (f"  // was {was}" if value != was else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
