"""How the Ascend kernels lay out the unified buffer, from ``csrc/ascend/ub_plan.h``.

    python -m deepselect.ascend_plan [--architecture dav-2201] [--item-bytes 2] [--max-k 512]

prints the plan of every configuration, or of those asked for. No device is needed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass

try:
    from deepselect._contract import ASCEND_UB_PLANS as _PLANS
except ImportError:  # built for another Python; the op libraries work all the same
    _PLANS = ()


@dataclass(frozen=True)
class Buffer:
    """One buffer of a plan: ``bytes`` from ``offset`` on, and what for."""

    name: str
    offset: int
    bytes: int
    note: str


@dataclass(frozen=True)
class UbPlan:
    """The unified buffer of one configuration.

    Attributes:
        architecture: ``"dav-3510"`` or ``"dav-2201"``.
        item_bytes: 2 for bfloat16 and float16, 4 for float32.
        max_k: the tier: the plan serves calls with ``k`` up to this.
        ub_bytes: usable bytes of the architecture's unified buffer.
        num_candidates: entries of the candidate area.
        batch_items: elements that one stage of the scan takes.
        num_stages: stages that copies arrive in.
        buffers: those of the scan, one behind the other; last the epilogue's area, which lies over
            buffers that hold nothing by then.
    """

    architecture: str
    item_bytes: int
    max_k: int
    ub_bytes: int
    num_candidates: int
    batch_items: int
    num_stages: int
    buffers: tuple[Buffer, ...]

    @property
    def used_bytes(self) -> int:
        """Where the last buffer ends."""
        return max(buffer.offset + buffer.bytes for buffer in self.buffers)

    def __str__(self) -> str:
        lines = [
            f"{self.architecture}, {8 * self.item_bytes}-bit values, k <= {self.max_k}: "
            f"{self.used_bytes} of {self.ub_bytes} bytes, {self.num_candidates} candidates, "
            f"{self.num_stages} stages of {self.batch_items}"
        ]
        lines += [f"  {b.offset:6}  {b.bytes:6}  {b.name:11} {b.note}" for b in self.buffers]
        return "\n".join(lines)


def ub_plans() -> tuple[UbPlan, ...]:
    """The plan of every configuration that is built: architecture, width of values, tier of ``k``.

    Raises:
        ImportError: ``deepselect._contract`` was built for another Python.
    """
    if not _PLANS:
        raise ImportError(
            "deepselect._contract was built for another Python; run: python -m pip install ."
        )
    return tuple(
        UbPlan(
            architecture=entry["architecture"],
            item_bytes=entry["item_bytes"],
            max_k=entry["max_k"],
            ub_bytes=entry["ub_bytes"],
            num_candidates=entry["num_candidates"],
            batch_items=entry["batch_items"],
            num_stages=entry["num_stages"],
            buffers=tuple(Buffer(*buffer) for buffer in entry["buffers"]),
        )
        for entry in _PLANS
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the plans asked for; returns the exit status, 1 where there is none."""
    parser = argparse.ArgumentParser(prog="python -m deepselect.ascend_plan", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--architecture", help="dav-3510 or dav-2201")
    parser.add_argument("--item-bytes", type=int, help="2 or 4")
    parser.add_argument("--max-k", type=int, help="the tier: 512, 1024 or 4096")
    asked = {k: v for k, v in vars(parser.parse_args(arguments)).items() if v is not None}
    plans = [p for p in ub_plans() if all(getattr(p, k) == v for k, v in asked.items())]
    print("\n\n".join(str(plan) for plan in plans) if plans else "no such plan", flush=True)
    return 0 if plans else 1


if __name__ == "__main__":
    sys.exit(main())
