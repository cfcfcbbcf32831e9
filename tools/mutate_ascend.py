"""Takes every synchronisation of the Ascend kernels away, one at a time, and shows that the twin
notices: a barrier, or a flag's `set` together with the `wait` right after it.

Needs a build of the preset `twin`. Prints a line per mutation; exits 1 if one goes unnoticed.

    python tools/mutate_ascend.py [--build build/twin] [--cases 60]
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KERNELS = Path("csrc/ascend/kernels")
CALL = re.compile(r"\s*simd::(set|wait|barrier)(<.*>\(.*\));")


def mutations() -> list[tuple[Path, list[int]]]:
    """Kernel files and the lines to blank."""
    found = []
    files = [*sorted((ROOT / KERNELS).glob("row_paged*.asc")), *(ROOT / KERNELS).glob("*/*.h")]
    for file in files:
        name = file if not file.is_absolute() else file.relative_to(ROOT)
        calls = [CALL.match(line) for line in (ROOT / name).read_text().splitlines()]
        for i, call in enumerate(calls):
            if call is None:
                continue
            following = calls[i + 1] if i + 1 < len(calls) else None
            if call[1] == "barrier":
                found.append((name, [i]))
            elif call[1] == "set" and following and following[1] == "wait":
                found.append((name, [i, i + 1]))
    return found


def verdict_of(file: Path, lines: list[int], build: Path, cases: int) -> str:
    """What the twin says of one mutation; empty where it says nothing."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        shutil.copytree(ROOT / "csrc", copy / "csrc")
        text = (copy / file).read_text().splitlines()
        for line in lines:
            text[line] = ""
        (copy / file).write_text("\n".join(text) + "\n")
        program = copy / "mutant"
        sources = ["csrc/ascend/twin/launch_twin.cpp", "csrc/ascend/twin/machine.cpp"]
        command = ["g++", "-std=c++17", "-O1", "-w", "-fno-strict-aliasing", "-DDEEPSELECT_TWIN"]
        command += [f"-I{copy / 'csrc'}", f"-I{copy / 'csrc/include'}", f"-I{ROOT / 'tests/cpp'}"]
        command += [str(copy / source) for source in sources]
        command += [str(ROOT / "tests/cpp/twin_row_paged_test.cpp")]
        command += [str(build / "csrc/cpu/libdeepselect_cpu_kernels.a"), "-o", str(program)]
        subprocess.run(command, check=True)
        run = subprocess.run([program, str(cases)], capture_output=True, text=True, check=False)
        faults = [line for line in run.stderr.splitlines() if line.startswith("twin:")]
        return faults[0] if faults else ("wrong results" if run.returncode else "")


def main() -> int:
    """Runs every mutation; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build/twin")
    parser.add_argument("--cases", type=int, default=60)
    arguments = parser.parse_args()
    num_unnoticed = 0
    for file, lines in mutations():
        verdict = verdict_of(file, lines, arguments.build, arguments.cases)
        num_unnoticed += not verdict
        print(f"{file.name}:{lines[0] + 1}: {verdict or 'NOT NOTICED'}", flush=True)
    return 1 if num_unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
