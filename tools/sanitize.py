"""Runs NVIDIA's compute-sanitizer over the CUDA backend: memcheck, racecheck, initcheck, synccheck.

A reduced set of the case table, every variant forced, each answer compared exactly with the
reference as well. Half of the cases have inputs whose last row ends where their memory ends;
torch's cache of allocations is off, so that the tools know where that is to the byte.
Needs a GPU and compute-sanitizer (part of the CUDA toolkit); exits 1 where a tool reports
anything or an answer is wrong.

    PYTHONPATH=python python tools/sanitize.py --cases 60 --logs build/sanitize
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
TOOLKIT = Path("/usr/local/cuda/bin/compute-sanitizer")
FOUND_SOMETHING = 9
# Sanitizers slow kernels down by two orders of magnitude.
MAX_ITEMS = 400_000


def run_cases(num_cases: int) -> int:
    """The inner process: runs the sampled cases on every variant; returns the number of calls."""
    sys.path.insert(0, str(ROOT / "tests"))
    import torch

    from cases import all_cases
    from checking import check_call
    from deepselect import reference, testing

    backend = next(b for b in testing.available_backends() if b.device_type == "cuda")
    small = [case for case in all_cases() if case.rows * case.cols <= MAX_ITEMS]
    at_end = [case for case in small if case.layout == "ends_with_storage"]
    half = max(num_cases // 2, 1)
    num_calls = 0
    for case in [*small[:: max(len(small) // half, 1)], *at_end[:: max(len(at_end) // half, 1)]]:
        expected_call = case.build()
        expected = reference.select(expected_call.input, expected_call.k, **expected_call.arguments)
        call = case.build(backend.device)
        for variant in testing.variants("cuda"):
            check_call(call, expected, backend, variant, case.outputs)
            num_calls += 1
    assert torch.cuda.memory_reserved() == 0, "torch cached allocations"
    return num_calls


def run_tool(sanitizer: str, tool: str, num_cases: int, logs: Path) -> tuple[str, int, str]:
    """One tool over the cases; returns its name, exit status and last lines."""
    command = [sanitizer, "--tool", tool, "--error-exitcode", str(FOUND_SOMETHING)]
    command += [sys.executable, __file__, "--inner", "--cases", str(num_cases)]
    environment = {**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    (logs / f"{tool}.log").write_text(done.stdout + done.stderr)
    return tool, done.returncode, "\n".join(done.stdout.splitlines()[-2:])


def main() -> int:
    """Runs the tools side by side; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=60, help="cases per tool")
    parser.add_argument("--tools", nargs="+", default=TOOLS, choices=TOOLS)
    parser.add_argument("--logs", type=Path, default=ROOT / "build" / "sanitize")
    parser.add_argument("--inner", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inner:
        print(f"{run_cases(options.cases)} calls")
        return 0
    sanitizer = shutil.which("compute-sanitizer") or (str(TOOLKIT) if TOOLKIT.exists() else None)
    if sanitizer is None:
        print("compute-sanitizer is not installed: it comes with the CUDA toolkit", file=sys.stderr)
        return 2
    options.logs.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(len(options.tools)) as pool:
        results = list(
            pool.map(
                lambda tool: run_tool(sanitizer, tool, options.cases, options.logs), options.tools
            )
        )
    for tool, status, text in results:
        print(f"== {tool}: {'clean' if status == 0 else f'exit status {status}'}\n{text}")
    return 1 if any(status for _, status, _ in results) else 0


if __name__ == "__main__":
    sys.exit(main())
