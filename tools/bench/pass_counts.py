"""What the streaming variants' filters let through on a device, held to a model on the CPU.

A sample of a row suggests a bound; one reading of the row collects the A elements that reach it.
Where they are fewer than k, or more than there is room for, the row is read once more: R such
readings. The kernels count A and R themselves, in a build with DEEPSELECT_COUNTERS; the model draws
samples as the kernels do, with the tuning values of csrc/cuda/tuning, but at random places, and
says between which bounds A must lie.

    PYTHONPATH=python python tools/bench/pass_counts.py --count   # on a GPU, into results/
    PYTHONPATH=python python tools/bench/pass_counts.py           # holds it to the model
    PYTHONPATH=python python tools/bench/pass_counts.py --write   # and puts the table into docs/
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from harness import exact
from harness.candidate import Candidate, build
from harness.environment import describe
from threshold_model import (
    INPUTS,
    PAGE,
    ROOT,
    Keys,
    Setting,
    composite_keys,
    paged_random,
    simulate,
)

_TABLE_BEGIN, _TABLE_END = "<!-- counters: begin -->\n", "<!-- counters: end -->\n"
_ITEMS_PER_SLOT = 4  # of float32, which everything here is
_SLOTS_PER_SEGMENT = 8
_NUM_ITEMS = 2**20
_NUM_ROWS = 8
_NUM_SEEDS = 256
_VARIANTS = ("row_stream", "split_stream")
_KS = (512, 2048)
_COUNTS = ROOT / "tools" / "bench" / "results" / "pass_counts_h200.json"


def tuning(variant: str, name: str) -> str:
    """A value of a variant's tuning header."""
    text = (ROOT / "csrc" / "cuda" / "tuning" / f"{variant}.h").read_text()
    found = re.findall(rf"\b{name} = ([^;]+);", text)
    assert len(found) == 1, f"{variant}.h: {len(found)} values of {name}"
    return str(found[0])


@dataclass(frozen=True)
class Prediction:
    """One sample's.

    Attributes:
        least, most: elements that reach the bound, if it is as high and as low as it may be.
        capacity: for how many there is room.
    """

    least: int
    most: int
    capacity: int


@dataclass(frozen=True)
class Row:
    """The keys of a row's elements, in the row and sorted."""

    keys: Keys
    ascending: Keys

    @staticmethod
    def of(values: NDArray[np.float32]) -> Row:
        keys = composite_keys(values.astype(np.float64))
        return Row(keys, np.sort(keys))

    def __len__(self) -> int:
        return len(self.keys)

    def num_reaching(self, key: np.int64) -> int:
        return len(self) - int(np.searchsorted(self.ascending, key))


Model = Callable[[Row, int, np.random.Generator], Prediction]


def _sample(
    num_items: int, num_segments: int, segment_slots: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Positions, (segments, slots, items): a segment anywhere in each of equal stretches."""
    segment_items = segment_slots * _ITEMS_PER_SLOT
    edges = np.arange(num_segments + 1) * (num_items // segment_items) // num_segments
    chosen = rng.integers(edges[:-1], edges[1:])
    return (chosen[:, None] * segment_items + np.arange(segment_items)).reshape(
        num_segments, segment_slots, _ITEMS_PER_SLOT
    )


def _prediction(row: Row, suggested: Keys, rank: int, slack: int, capacity: int) -> Prediction:
    """Of a bound that `rank` of the suggested keys reach, and up to `slack` more: it lies above the
    next of them.
    """
    ordered = np.sort(suggested)[::-1]
    if rank > len(ordered):
        return Prediction(len(row), len(row), capacity)
    next_rank = rank + slack
    most = row.num_reaching(ordered[next_rank] + 1) if next_rank < len(ordered) else len(row)
    return Prediction(row.num_reaching(ordered[rank - 1]), most, capacity)


def row_stream(row: Row, k: int, rng: np.random.Generator) -> Prediction:
    """As row_sample.cuh and sample_rank.h in csrc/cuda/common, planned by plan/row_stream.cpp."""
    threads = int(re.findall(r"\d+", tuning("row_stream", "RowStreamFew"))[0])
    max_vectors = int(tuning("row_stream", "kMaxSampleVectors"))
    items_per_sample = int(tuning("row_stream", "kItemsPerSample"))
    vectors = 1
    num_slots = len(row) // _ITEMS_PER_SLOT + 1
    while 2 * vectors <= max_vectors and num_slots / items_per_sample > threads * vectors:
        vectors *= 2
    num_segments = threads * vectors // _SLOTS_PER_SEGMENT
    positions = _sample(len(row), num_segments, _SLOTS_PER_SEGMENT, rng)
    # The slots of a segment stand for their stretch, at equal distances.
    slot = np.arange(num_segments * _SLOTS_PER_SEGMENT).reshape(num_segments, -1, 1)
    stands_for = slot * (len(row) // slot.size)
    suggested = row.keys[positions] + positions - stands_for
    fraction = positions.size / len(row)
    mean = k * fraction
    deviation = math.sqrt(mean * (1 - fraction))
    sigmas = float(tuning("row_stream", "kRankSigmas").rstrip("f"))
    rank = int(mean + sigmas * (deviation + 1)) + 1
    slack = rank // int(tuning("row_stream", "kRankSlackDivisor")) + 1
    capacity_sigmas = float(tuning("row_stream", "kCapacitySigmas").rstrip("f"))
    room = rank + slack + capacity_sigmas * math.sqrt(rank + slack)
    capacity = max(k, int(room / fraction)) + int(tuning("row_stream", "kSpareSurvivors"))
    capacity = max(capacity, threads * max_vectors * 2)  # the sample's bytes
    return _prediction(row, suggested.ravel(), rank, slack, capacity)


def split_stream(row: Row, k: int, rng: np.random.Generator) -> Prediction:
    """As csrc/cuda/kernels/split_stream.cuh: the bests of groups of segments are what is ranked."""

    def value(name: str) -> int:
        base, _, shift = tuning("split_stream", name).partition(" << ")
        return int(re.sub(r"std::int64_t\{(\d+)\}", r"\1", base)) << int(shift or 0)

    num_bytes = _NUM_ROWS * (len(row) // _ITEMS_PER_SLOT + 1) * 16
    segment_slots = 1 if num_bytes <= value("kSmallInputBytes") else 2
    row_segments = len(row) // (segment_slots * _ITEMS_PER_SLOT)
    wanted = max(row_segments * value("kSampledWinners") // k, value("kMinSegments"))
    most = min(row_segments // value("kSegmentsPerSample"), value("kMaxSegments"))
    num_segments = min(wanted, most)
    threads = value("kSampleThreads") // segment_slots
    planned = num_segments // (threads * value("kSampleInFlight"))
    ctas = min(1 << max(planned - 1, 0).bit_length(), value("kMaxSampleCtas"))
    cta_groups = min(value("kSampleThreads") // 2, value("kMaxGroups") // ctas)
    segment = np.arange(num_segments)
    group = segment % ctas * cta_groups + segment // ctas % threads % cta_groups
    bests = np.full(ctas * cta_groups, -1, dtype=np.int64)
    positions = _sample(len(row), num_segments, segment_slots, rng)
    np.maximum.at(bests, group, row.keys[positions].max(axis=(1, 2)))
    mean = k * num_segments / row_segments
    sigmas = float(tuning("split_stream", "kSigmas").rstrip("f"))
    rank = value("kSpareRank") + int(mean + sigmas * math.sqrt(mean))
    slack = rank // value("kRankSlackDivisor") + 1
    per_row = value("kSurvivorBuffers") // _NUM_ROWS
    capacity = min(max(per_row, value("kMinSurvivorBuffer")), value("kMaxSurvivorBuffer"))
    return _prediction(row, bests, rank, slack, capacity)


class _Counts(ctypes.Structure):
    """PassCounts of csrc/cuda/common/pass_counts.cuh."""

    _fields_ = (("passes", ctypes.c_ulonglong), ("accepted", ctypes.c_ulonglong))


def rows_of(name: str, k: int) -> NDArray[np.float32]:
    """The rows of one input, the same on every machine."""
    rng = np.random.default_rng(k)
    # Rounded as the device reads them: what is distinct in float64 may be a tie in float32.
    return np.stack([INPUTS[name](_NUM_ITEMS, rng) for _ in range(_NUM_ROWS)]).astype(np.float32)


def count_all() -> dict[str, Any]:
    """Elements accepted by all readings, and readings, per row, of every variant, k and input.

    Raises:
        AssertionError: a wrong selection, or the counts cannot be read.
    """
    architecture = "sm_{}{}".format(*torch.cuda.get_device_capability())
    counts: dict[str, Any] = {"environment": describe("cuda")}
    for variant in _VARIANTS:
        topk = Candidate(build(variant, (), architecture, ("DEEPSELECT_COUNTERS",)).path)
        take = topk.library.take_pass_counts
        for k in _KS:
            of_k = counts[f"{variant} k={k}"] = {}
            for name in INPUTS:
                x = torch.from_numpy(rows_of(name, k)).cuda()
                counted = _Counts()
                assert take(ctypes.byref(counted)) == 0
                _, indices = topk(x, k)
                assert take(ctypes.byref(counted)) == 0
                fault = exact.find_fault(x, indices)
                assert fault is None, f"{variant}, k = {k}, {name}: {fault}"
                of_k[name] = {
                    "accepted": counted.accepted / _NUM_ROWS,
                    "readings": counted.passes / _NUM_ROWS,
                }
    return counts


def table(model: Model, k: int, counts: dict[str, Any]) -> tuple[str, list[str]]:
    """Markdown, and what disagrees."""
    variant = model.__name__
    setting = Setting(k=k, block=max(k, 1024), slack=max(k, 1024), page=max(k, 1024))
    lines = [
        f"{variant}, N = {_NUM_ITEMS:,}, k = {k}, float32; {_NUM_ROWS} rows on the device, "
        f"{_NUM_SEEDS} samples in the model.",
        "",
        "| input | A, model | A, device | readings, device | A of a running threshold |",
        "|---|---:|---:|---:|---:|",
    ]
    faults = []
    for name in INPUTS:
        row = Row.of(rows_of(name, k)[0])
        predictions = [model(row, k, np.random.default_rng(s)) for s in range(_NUM_SEEDS)]
        least = min(prediction.least for prediction in predictions)
        most = max(prediction.most for prediction in predictions)
        counted = counts[f"{variant} k={k}"][name]
        accepted, readings = counted["accepted"], counted["readings"]
        running = simulate(row.keys, paged_random(len(row), setting.page, 0), setting).accepted
        predicted = f"{least:,} to {most:,}"
        lines.append(f"| {name} | {predicted} | {accepted:,.0f} | {readings:.2f} | {running:,} |")
        about = f"{variant}, k = {k}, {name}"
        if readings == 1 and not least <= accepted <= most:
            faults.append(f"{about}: {accepted:.0f} accepted, predicted {predicted}")
        if k <= least and most <= predictions[0].capacity and readings != 1:
            faults.append(f"{about}: {readings:.2f} readings, predicted 1")
    return "\n".join(lines), faults


def main(arguments: Sequence[str] | None = None) -> int:
    """Counts, or prints the tables and disagreements; returns 1 where there are any."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", action="store_true", help="on the GPU, and nothing else")
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.relative_to(ROOT)}")
    parser.add_argument("--counts", type=Path, default=_COUNTS, help="the file of --count")
    options = parser.parse_args(arguments)
    if options.count:
        options.counts.write_text(json.dumps(count_all(), indent=1) + "\n")
        return 0
    counts = json.loads(options.counts.read_text())
    results = [table(model, k, counts) for model in (row_stream, split_stream) for k in _KS]
    text = "\n\n".join(markdown for markdown, _ in results)
    faults = [fault for _, found in results for fault in found]
    print(text, *faults, sep="\n")
    if options.write:
        page = PAGE.read_text()
        before, rest = page.split(_TABLE_BEGIN)
        after = rest.split(_TABLE_END)[1]
        PAGE.write_text(f"{before}{_TABLE_BEGIN}\n{text}\n\n{_TABLE_END}{after}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
