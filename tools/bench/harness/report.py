"""The run as text: a line per shape, the targets with pass or miss, the means, the losses."""

from __future__ import annotations

from harness.results import Comparison, Measurement, Results
from harness.targets import (
    Verdict,
    floor_share,
    geometric_mean,
    judge_all,
    losing_shapes,
    ours_over_amax,
    peer_over_ours,
    torch_over_ours,
)

_SHAPE_WIDTH = 38


def _number(value: float | None, width: int = 9, digits: int = 2) -> str:
    return f"{'-':>{width}}" if value is None else f"{value:{width}.{digits}f}"


def environment_line(results: Results) -> str:
    """The machine and the versions, in a line."""
    environment = results.environment
    commit = (environment.get("commit") or "unknown")[:10]
    changes = " with uncommitted changes" if environment.get("uncommitted_changes") else ""
    parts = [str(environment["device"]), f"torch {environment['torch']}"]
    if results.backend == "cuda":
        parts += [f"CUDA {environment['cuda']}", f"driver {environment['driver']}"]
    return f"{', '.join(parts)}, commit {commit}{changes}, {environment['date']}"


CPU_HEADER = (
    f"{'shape':{_SHAPE_WIDTH}}{'ours':>11}{'spread':>8}{'torch.topk':>12}{'amax':>10}   (us)"
    f"{'torch/ours':>12}{'ours/amax':>11}"
)


def cpu_row(m: Measurement) -> str:
    row = f"{m.shape.name:{_SHAPE_WIDTH}}{_number(m.ours_us, 11, 1)}{_spread(m)}"
    row += f"{_number(m.torch_us, 12, 1)}{_number(m.amax_us, 10, 1)}"
    row += f"       {_number(torch_over_ours(m), 12)}"
    return row + _number(ours_over_amax(m), 11) + _fault(m.fault)


CUDA_HEADER = (
    f"{'shape':{_SHAPE_WIDTH}}{'ours':>9}{'events':>9}{'spread':>8}{'torch':>10}{'floor':>9}"
    f"{'peer':>9} (us){'torch/':>8}{'peer/':>7}{'floor/':>8}  L2    variant, best peer"
)


def cuda_row(m: Measurement) -> str:
    row = f"{m.shape.name:{_SHAPE_WIDTH}}{_number(m.ours_us)}{_number(m.ours_events_us)}"
    row += f"{_spread(m)}{_number(m.torch_us, 10)}{_number(m.read_floor_us)}"
    row += f"{_number(m.best_peer_us)}     {_number(torch_over_ours(m), 8)}"
    row += f"{_number(peer_over_ours(m), 7)}{_number(floor_share(m), 8)}  {m.l2 or '-':5} "
    return row + f"{m.variant or '-'}, {m.best_peer or '-'}" + _fault(m.fault)


def comparison_row(c: Comparison, fault: str | None = None) -> str:
    label = f"{c.group}: {c.label}"
    row = f"{label:64}{_number(c.ours_us)} us{_number(c.yardstick_us)} us ({c.yardstick})"
    return row + f"{_number(c.ratio, 8)}" + _fault(fault)


def _spread(m: Measurement) -> str:
    return f"{_number(None if m.ours_spread is None else m.ours_spread * 100, 7, 1)}%"


def _fault(fault: str | None) -> str:
    return "" if fault is None else f"  WRONG: {fault}"


def verdict_table(verdicts: list[Verdict]) -> str:
    """Every target with what was reached."""
    lines = [
        f"{'class':28}{'ratio':44}{'target':>9}{'reached':>9}{'mean':>8}{'kept':>9}{'':>6}  worst"
    ]
    for v in verdicts:
        status = {True: "pass", False: "MISS", None: "-"}[v.is_met]
        kept = f"{v.num_kept}/{v.num_points}"
        lines.append(
            f"{v.name:28}{v.claim:44}{f'{v.sense} {v.bound:g}':>9}{_number(v.reached)}"
            f"{_number(v.mean, 8)}{kept:>9}{status:>6}  {v.worst or 'not measured'}"
        )
    return "\n".join(lines)


def summary(results: Results) -> str:
    """Targets, geometric means, losing shapes, and what was skipped."""
    parts = ["", verdict_table(judge_all(results)), ""]
    normal = [m for m in results.measurements if m.distribution == "normal"]
    for title, ratio in (
        ("torch.topk / ours", torch_over_ours),
        ("best peer / ours", peer_over_ours),
        ("read floor / ours", floor_share),
    ):
        values = [value for m in normal if (value := ratio(m)) is not None]
        if values:
            mean = geometric_mean(values)
            parts.append(f"geometric mean of {title}: {mean:.3f} over {len(values)} shapes")
    unscaled = [m.best_peer_file_us / m.ours_us for m in normal if m.best_peer_file_us is not None]
    if unscaled:
        parts.append(
            f"geometric mean of the file's best peer / ours, not scaled by torch.topk's time: "
            f"{geometric_mean(unscaled):.3f} over {len(unscaled)} shapes"
        )
    if any(m.best_peer_us is not None for m in normal):
        losing = losing_shapes(results)
        parts.append(f"shapes slower than the best peer by more than 3 %: {len(losing)}")
        parts += [
            f"  {m.shape.name:{_SHAPE_WIDTH}}{_number(m.ours_us)} us, "
            f"{m.best_peer} {m.best_peer_us:.2f} us: {ratio:.2f}x"
            for m, ratio in losing
        ]
    wrong = [m for m in results.measurements if not m.is_exact]
    parts += [f"WRONG: {m.shape.name}: {m.fault}" for m in wrong]
    parts += [f"skipped: {what}: {why}" for what, why in results.skipped.items()]
    return "\n".join(parts)
