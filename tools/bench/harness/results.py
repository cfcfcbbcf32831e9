"""What a run found, and its JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from harness.shapes import Shape

SCHEMA = 1


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """One shape's times, in microseconds a call. None: not measured.

    Attributes:
        regime, dtype, rows, cols, k, order, return_values, distribution: the shape.
        ours_us, torch_us: of this run.
        ours_spread: see ``timing.Timed``; smaller differences are noise.
        ours_events_us: by events round single calls rather than by graph replay.
        read_floor_us: one kernel that reads every input byte once.
        read_write_floor_us: the same, and writes every output byte once.
        amax_us: of ``x.amax(-1)``, CPU only.
        best_peer, best_peer_us: the fastest other kernel: of those in the peers file, their times
            scaled by the ratio of this run's torch_us to the file's, and those timed in this run.
        best_peer_file_us: the best time in the peers file as it stands.
        peers_us: those timed in this run.
        deepselect_peer_us: DeepSelect's time, scaled as above.
        num_buffers, l2: inputs that calls rotate over; ``warm`` where all of them fit in L2.
        variant: the kernel that served ours, where the backend tells.
        is_exact: whether the timed outputs passed the check.
        fault: what the check found.
    """

    regime: str
    dtype: str
    rows: int
    cols: int
    k: int
    order: str
    return_values: bool
    distribution: str
    ours_us: float
    torch_us: float | None = None
    ours_spread: float | None = None
    ours_events_us: float | None = None
    read_floor_us: float | None = None
    read_write_floor_us: float | None = None
    amax_us: float | None = None
    best_peer: str | None = None
    best_peer_us: float | None = None
    best_peer_file_us: float | None = None
    peers_us: dict[str, float] = field(default_factory=dict)
    deepselect_peer_us: float | None = None
    num_buffers: int = 1
    l2: str | None = None
    variant: str | None = None
    is_exact: bool = True
    fault: str | None = None

    @property
    def shape(self) -> Shape:
        return Shape(
            regime=self.regime,
            dtype=self.dtype,
            rows=self.rows,
            cols=self.cols,
            k=self.k,
            order=self.order,
            return_values=self.return_values,
            distribution=self.distribution,
        )

    @property
    def tb_per_s(self) -> float:
        """Input bytes over our time."""
        return self.shape.input_bytes / (self.ours_us * 1e6)


@dataclass(frozen=True)
class Comparison:
    """Two times of ours, or one of ours and one of torch, that a target sets in relation.

    Attributes:
        group: which target.
        label: what was compared.
        ours_us: the time under judgement.
        yardstick_us: what it is compared with.
        yardstick: what that was.
    """

    group: str
    label: str
    ours_us: float
    yardstick_us: float
    yardstick: str

    @property
    def ratio(self) -> float:
        return self.ours_us / self.yardstick_us


@dataclass
class Results:
    """A whole run.

    Attributes:
        backend: ``cpu`` or ``cuda``.
        environment: device, versions, commit, date, clocks; see ``harness.environment``.
        method: how times were taken, in words.
        skipped: what was not measured, and why.
        measurements: of shapes.
        comparisons: of other targets.
    """

    backend: str
    environment: dict[str, Any]
    method: str
    skipped: dict[str, str] = field(default_factory=dict)
    measurements: list[Measurement] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)

    def save(self, path: Path, verdicts: list[dict[str, Any]] | None = None) -> None:
        """Writes JSON; the verdicts on targets go along for readers without this program."""
        data = {
            "schema": SCHEMA,
            "backend": self.backend,
            "environment": self.environment,
            "method": self.method,
            "skipped": self.skipped,
            "targets": verdicts or [],
            "comparisons": [asdict(c) | {"ratio": round(c.ratio, 4)} for c in self.comparisons],
            "shapes": [_rounded(asdict(m)) for m in self.measurements],
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(data, indent=1) + "\n")

    @classmethod
    def load(cls, path: Path) -> Results:
        """Reads what :meth:`save` wrote.

        Raises:
            ValueError: the file has another schema.
        """
        data = json.loads(path.read_text())
        if data.get("schema") != SCHEMA:
            raise ValueError(f"{path}: schema must be {SCHEMA}, got {data.get('schema')}")
        comparisons = [
            Comparison(**{name: value for name, value in entry.items() if name != "ratio"})
            for entry in data["comparisons"]
        ]
        return cls(
            backend=data["backend"],
            environment=data["environment"],
            method=data["method"],
            skipped=data["skipped"],
            measurements=[Measurement(**entry) for entry in data["shapes"]],
            comparisons=comparisons,
        )


def _rounded(entry: dict[str, Any]) -> dict[str, Any]:
    """Times with the digits that mean something."""
    return {
        name: round(value, 4) if isinstance(value, float) else value
        for name, value in entry.items()
    }
