"""What is wanted of the numbers: every target, as data, and the verdict of a run on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from harness.results import Measurement, Results
from harness.shapes import CLASSES, KI

# What is judged: a label and its value, for everything that a target covers.
Points = list[tuple[str, float]]

# Two timings of one thing differ by this much.
NOISE = 0.03


@dataclass(frozen=True)
class Target:
    """A bound on a ratio.

    Attributes:
        name: class of shapes, or group of comparisons.
        claim: the ratio in words.
        sense: whether the ratio must be at least or at most ``bound``.
        points: the ratio of everything that the target covers, from a run.
        combine: whether the worst point must keep the bound or the geometric mean.
    """

    name: str
    claim: str
    sense: Literal[">=", "<="]
    bound: float
    points: Callable[[Results], Points]
    combine: Literal["worst", "mean"] = "worst"


@dataclass(frozen=True)
class Verdict:
    """How a run stands to a target.

    Attributes:
        name, claim, sense, bound: of the target.
        reached: the worst ratio, or the geometric mean where that is the target's; None where
            nothing was measured.
        mean: the geometric mean.
        worst: label of the worst point.
        num_points, num_kept: points measured, points that keep the bound.
        is_met: None where nothing was measured.
    """

    name: str
    claim: str
    sense: str
    bound: float
    reached: float | None
    mean: float | None
    worst: str | None
    num_points: int
    num_kept: int
    is_met: bool | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def geometric_mean(values: Iterable[float]) -> float:
    """Of positive numbers.

    Raises:
        ValueError: there are none.
    """
    logarithms = [math.log(value) for value in values]
    if not logarithms:
        raise ValueError("geometric_mean: values must not be empty")
    return math.exp(math.fsum(logarithms) / len(logarithms))


def judge(target: Target, results: Results) -> Verdict:
    """The verdict of a run on one target."""
    points = target.points(results)
    at_least = target.sense == ">="

    def keeps(value: float) -> bool:
        return value >= target.bound if at_least else value <= target.bound

    if not points:
        return Verdict(
            target.name, target.claim, target.sense, target.bound, None, None, None, 0, 0, None
        )
    pick = min if at_least else max
    worst, worst_value = pick(points, key=lambda point: point[1])
    mean = geometric_mean(value for _, value in points)
    reached = mean if target.combine == "mean" else worst_value
    return Verdict(
        name=target.name,
        claim=target.claim,
        sense=target.sense,
        bound=target.bound,
        reached=reached,
        mean=mean,
        worst=worst,
        num_points=len(points),
        num_kept=sum(keeps(value) for _, value in points),
        is_met=keeps(reached),
    )


# ---- Ratios of a measurement: None where one of the times is missing ---------------------------

Ratio = Callable[[Measurement], "float | None"]


def _ratio(numerator: str, denominator: str) -> Ratio:
    def ratio(m: Measurement) -> float | None:
        upper, lower = getattr(m, numerator), getattr(m, denominator)
        return None if upper is None or lower is None else float(upper / lower)

    return ratio


torch_over_ours = _ratio("torch_us", "ours_us")
peer_over_ours = _ratio("best_peer_us", "ours_us")
ours_over_peer = _ratio("ours_us", "best_peer_us")
floor_share = _ratio("read_floor_us", "ours_us")
read_write_floor_share = _ratio("read_write_floor_us", "ours_us")
ours_over_deepselect = _ratio("ours_us", "deepselect_peer_us")
ours_over_amax = _ratio("ours_us", "amax_us")


def _shapes(ratio: Ratio, *conditions: Callable[[Measurement], bool]) -> Callable[..., Points]:
    """The ratio of every measurement on normal data that satisfies all conditions."""

    def points(results: Results) -> Points:
        return [
            (m.shape.name, value)
            for m in results.measurements
            if m.distribution == "normal"
            and all(holds(m) for holds in conditions)
            and (value := ratio(m)) is not None
        ]

    return points


def _comparisons(group: str) -> Callable[[Results], Points]:
    def points(results: Results) -> Points:
        return [(c.label, c.ratio) for c in results.comparisons if c.group == group]

    return points


def _of(class_name: str) -> Callable[[Measurement], bool]:
    return lambda m: CLASSES[class_name](m.shape)


def _k(k: int) -> Callable[[Measurement], bool]:
    return lambda m: m.k == k


def _is_floating(m: Measurement) -> bool:
    return m.dtype != "int32"


def _has_dtype(m: Measurement) -> bool:
    return m.dtype in ("bfloat16", "float32")


CUDA_TARGETS: Sequence[Target] = (
    Target(
        "every shape",
        "best peer / ours (3 % for noise)",
        ">=",
        1 - NOISE,
        _shapes(peer_over_ours),
    ),
    Target("every shape", "torch.topk / ours", ">=", 1.0, _shapes(torch_over_ours)),
    Target(
        "every shape", "torch.topk / ours, mean", ">=", 4.0, _shapes(torch_over_ours), "mean"
    ),
    Target(
        "but int32",
        "best peer / ours, mean",
        ">=",
        1.7,
        _shapes(peer_over_ours, _is_floating),
        "mean",
    ),
    Target(
        "huge_batch k=512", "read floor / ours", ">=", 0.93,
        _shapes(floor_share, _of("huge_batch"), _k(512)),
    ),
    Target(
        "huge_batch k=2048", "read floor / ours", ">=", 0.85,
        _shapes(floor_share, _of("huge_batch"), _k(2048)),
    ),
    Target("one_row", "read floor / ours", ">=", 0.90, _shapes(floor_share, _of("one_row"))),
    Target(
        "long_batch k=512", "read floor / ours", ">=", 0.80,
        _shapes(floor_share, _of("long_batch"), _k(512)),
    ),
    Target(
        "long_batch k=2048", "read floor / ours", ">=", 0.70,
        _shapes(floor_share, _of("long_batch"), _k(2048)),
    ),
    Target(
        "short_rows", "read-write floor / ours", ">=", 0.50,
        _shapes(read_write_floor_share, _of("short_rows")),
    ),
    Target(
        "few_long", "ours / best peer", "<=", 0.60, _shapes(ours_over_peer, _of("few_long"))
    ),
    Target("few_mid", "ours / best peer", "<=", 0.85, _shapes(ours_over_peer, _of("few_mid"))),
    Target(
        "sampler k=512, <= 768 rows", "ours / DeepSelect (unsorted)", "<=", 0.75,
        _shapes(ours_over_deepselect, _of("sampler"), _k(512), lambda m: m.rows <= 768),
    ),
    Target(
        "sampler k=512, 4096 rows", "read floor / ours", ">=", 0.80,
        _shapes(floor_share, _of("sampler"), _k(512), lambda m: m.rows == 4096),
    ),
    Target(
        "sampler k=50", "ours / ours at k = 512 (3 % for noise)", "<=", 1 + NOISE,
        _comparisons("sampler k=50"),
    ),
    Target("large k", "ours / torch.topk", "<=", 1.0, _comparisons("large k")),
    Target(
        "ragged uniform", "ours / same bytes in equal rows", "<=", 1.25,
        _comparisons("ragged uniform"),
    ),
    Target(
        "ragged one_long", "ours / max(long row alone, equal rows)", "<=", 1.25,
        _comparisons("ragged one_long"),
    ),
    Target("ties and NaN", "ours / ours without", "<=", 1.02, _comparisons("ties and NaN")),
    Target("hostile", "ours / ours on normal data", "<=", 1.3, _comparisons("hostile")),
    Target(
        "host, inference_mode", "ours / torch.topk", "<=", 1.0, _comparisons("host inference_mode")
    ),
)  # fmt: skip


def _is_shape(rows: int, cols: int) -> Callable[[Measurement], bool]:
    return lambda m: (m.rows, m.cols) == (rows, cols) and _has_dtype(m)


CPU_TARGETS: Sequence[Target] = (
    *(
        Target(name, "torch.topk / ours", ">=", bound, _shapes(torch_over_ours, is_shape))
        for name, bound, is_shape in (
            ("8x1M k=512", 5.0, _is_shape(8, 1024 * KI)),
            ("64x128K k=512", 5.0, _is_shape(64, 128 * KI)),
            ("4096x4K k=512", 4.0, _is_shape(4096, 4 * KI)),
            ("1x64M k=32", 20.0, _is_shape(1, 65536 * KI)),
        )
    ),
    Target(
        ">= 128K columns", "ours / x.amax(-1)", "<=", 3.0,
        _shapes(ours_over_amax, lambda m: m.cols >= 128 * KI and _has_dtype(m)),
    ),
    Target(
        "4096x4K k=512", "ours / x.amax(-1)", "<=", 6.0,
        _shapes(ours_over_amax, _is_shape(4096, 4 * KI)),
    ),
)  # fmt: skip


def judge_all(results: Results) -> list[Verdict]:
    """The verdict on every target of the run's backend."""
    targets = CPU_TARGETS if results.backend == "cpu" else CUDA_TARGETS
    return [judge(target, results) for target in targets]


def losing_shapes(results: Results) -> list[tuple[Measurement, float]]:
    """Shapes slower than the best peer beyond noise, worst first, with ours / best peer."""
    losing = [
        (m, ratio)
        for m in results.measurements
        if m.distribution == "normal"
        and (ratio := ours_over_peer(m)) is not None
        and ratio > 1 + NOISE
    ]
    return sorted(losing, key=lambda pair: -pair[1])
