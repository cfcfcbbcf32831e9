"""Runs the Ascend kernels on the twin without one of their synchronisations after the other and
shows that each absence is noticed. Omitted is a barrier, or a flag's `set` together with the `wait`
right after it.

Needs a build of the preset `twin`. Prints a line per omission; exits 1 if one goes unnoticed.

    python tools/mutate_ascend.py [--build build/twin] [--cases 60]
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KERNELS = ROOT / "csrc/ascend/kernels"
CALL = re.compile(r"\s*simd::(set|wait|barrier)(<.*>\(.*\));")


def omissions() -> list[tuple[Path, list[int]]]:
    """Kernel files and the lines of the calls to omit together."""
    found = []
    for file in sorted([*KERNELS.glob("row_paged*.asc"), *KERNELS.glob("*/*.h")]):
        calls = [CALL.match(line) for line in file.read_text().splitlines()]
        for i, call in enumerate(calls):
            if call is None:
                continue
            following = calls[i + 1] if i + 1 < len(calls) else None
            if call[1] == "barrier":
                found.append((file, [i + 1]))
            elif call[1] == "set" and following and following[1] == "wait":
                found.append((file, [i + 1, i + 2]))
    return found


def architectures_of(file: Path) -> list[str]:
    """The architectures that a kernel file is for."""
    found = [dav for dav in ("3510", "2201") if dav in f"{file.parent.name}/{file.name}"]
    return found or ["3510", "2201"]


def verdict_of(file: Path, lines: list[int], dav: str, build: Path, cases: int) -> str:
    """What the twin says of one omission; empty where it says nothing."""
    program = build / "tests/cpp/twin_row_paged_test"
    sites = [f"{file.name}:{line}" for line in lines]
    run = subprocess.run(
        [program, str(cases), dav, *sites], capture_output=True, text=True, check=False
    )
    faults = [line for line in run.stderr.splitlines() if line.startswith("twin:")]
    return faults[0] if faults else ("wrong results" if run.returncode else "")


def main() -> int:
    """Runs every omission; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build/twin")
    parser.add_argument("--cases", type=int, default=60)
    arguments = parser.parse_args()
    num_unnoticed = 0
    for file, lines in omissions():
        for dav in architectures_of(file):
            verdict = verdict_of(file, lines, dav, arguments.build, arguments.cases)
            num_unnoticed += not verdict
            place = f"{file.parent.name}/{file.name}:{lines[0]}"
            print(f"dav-{dav} {place}: {verdict or 'NOT NOTICED'}", flush=True)
    return 1 if num_unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
