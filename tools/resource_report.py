"""What the CUDA kernels take, against tools/resource_budget.json.

Registers, spills, stack and static shared memory of every kernel come from what ptxas says during
a build; dynamic shared memory comes from the plans of one call of each kind (tests/cpp/
plan_report.cpp). Exits 1 where a kernel spills, where anything exceeds the budget, and where log
and budget do not speak of the same kernels. A spill that was measured and is worth it is entered
into the budget by hand, as `spill_bytes`.

    cmake --build --preset cuda-sm90 --clean-first 2>&1 | tee build/cuda-sm90/build.log
    python tools/resource_report.py            # judges
    python tools/resource_report.py --write    # makes what was built the budget
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "cuda-sm90"
BUDGET = ROOT / "tools" / "resource_budget.json"

# Registers are handed out to a warp in eights per thread, shared memory in 128 bytes: less than
# that makes no difference to what fits on a multiprocessor.
REGISTER_STEP = 8
SMEM_STEP_BYTES = 128

KERNEL = re.compile(
    r"Compiling entry function '(?P<name>\S+)' for '(?P<architecture>\w+)'\n"
    r".*Function properties for (?P=name)\n"
    r" *(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, "
    r"(?P<loads>\d+) bytes spill loads\n"
    r".*Used (?P<registers>\d+) registers(?P<rest>.*)"
)
STATIC_SMEM = re.compile(r"(\d+) bytes smem")
VALUE_TYPE = re.compile(r"\(deepselect::ValueType\)\d+(, )?")


@dataclass(frozen=True)
class Use:
    """What a kernel takes, at its most over the value types."""

    registers: int = 0
    static_smem_bytes: int = 0
    stack_bytes: int = 0
    spill_bytes: int = 0

    def at_most(self, other: Use) -> Use:
        """The greater of each."""
        return Use(*map(max, vars(self).values(), vars(other).values()))

    def rounded(self) -> Use:
        """As a budget: up to what the device hands out, and no spills."""
        return Use(
            _round_up(self.registers, REGISTER_STEP),
            _round_up(self.static_smem_bytes, SMEM_STEP_BYTES),
            self.stack_bytes,
        )


def _round_up(number: int, step: int) -> int:
    return -(-number // step) * step


def kernel_name(demangled: str) -> str:
    """Name and policy, without the value type."""
    signature = demangled.removeprefix("void ").replace("(anonymous namespace)::", "")
    template, is_template, _ = signature.partition(">(")
    name = template + ">" if is_template else signature.partition("(")[0]
    return VALUE_TYPE.sub("", name).replace("deepselect::cuda::", "").replace(" >", ">")


def demangle(names: Iterable[str]) -> list[str]:
    done = subprocess.run(
        ["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def read_log(log: str, architecture: str) -> dict[str, Use]:
    """Use by kernel; kernels of libraries are left out."""
    found = [match for match in KERNEL.finditer(log) if match["architecture"] == architecture]
    kernels: dict[str, Use] = {}
    for match, demangled in zip(found, demangle(m["name"] for m in found), strict=True):
        if "deepselect::" not in demangled.partition("<")[0]:
            continue
        smem = STATIC_SMEM.search(match["rest"])
        use = Use(
            int(match["registers"]),
            int(smem[1]) if smem else 0,
            int(match["stack"]),
            int(match["stores"]) + int(match["loads"]),
        )
        name = kernel_name(demangled)
        kernels[name] = kernels.get(name, Use()).at_most(use)
    return dict(sorted(kernels.items()))


def read_plans(program: Path) -> dict[str, int]:
    """Dynamic shared memory, in bytes, by variant and call."""
    lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    plans = {}
    print(f"{'plan (* chosen), H200':66} {'grid':>8} {'threads':>7} {'smem':>7} {'workspace':>12}")
    for line in lines.splitlines():
        name, is_chosen, grid, threads, smem_bytes, workspace_bytes = line.split("\t")
        print(
            f"{name + ' *' * int(is_chosen):66} {grid:>8} {threads:>7} {smem_bytes:>7} "
            f"{workspace_bytes:>12}"
        )
        plans[name] = int(smem_bytes)
    return plans


def faults(kernels: dict[str, Use], plans: dict[str, int], budget: dict[str, Any]) -> Iterable[str]:
    """What is wrong, a line each."""
    of_kernels = {name: Use(**limits) for name, limits in budget["kernels"].items()}
    of_plans: dict[str, int] = budget["dynamic_smem_bytes"]
    for name, use in kernels.items():
        if use.spill_bytes > of_kernels.get(name, Use()).spill_bytes:
            yield f"{name}: spills {use.spill_bytes} bytes"
        if name not in of_kernels:
            yield f"{name}: has no budget; add it with --write"
            continue
        for what, limit in vars(of_kernels[name]).items():
            taken = getattr(use, what)
            if what != "spill_bytes" and taken > limit:
                yield f"{name}: {what} {taken}, budget {limit}"
    for name, smem_bytes in plans.items():
        if name not in of_plans:
            yield f"plan {name}: has no budget; add it with --write"
        elif smem_bytes > of_plans[name]:
            yield f"plan {name}: dynamic_smem_bytes {smem_bytes}, budget {of_plans[name]}"
    for name in (of_kernels.keys() - kernels.keys()) | (of_plans.keys() - plans.keys()):
        yield f"{name}: in the budget, not in the build; build with --clean-first, or use --write"


def as_budget(
    architecture: str, kernels: dict[str, Use], plans: dict[str, int], spills: dict[str, int]
) -> dict[str, Any]:
    """What was built as a budget, with the spills that are allowed so far."""
    limits = {name: vars(use.rounded()) for name, use in kernels.items()}
    for name, limit in limits.items():
        if spills.get(name, 0) == 0:
            del limit["spill_bytes"]
        else:
            limit["spill_bytes"] = spills[name]
    return {"architecture": architecture, "kernels": limits, "dynamic_smem_bytes": plans}


def main() -> int:
    """Prints the table and the faults; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--log", type=Path, default=BUILD / "build.log", help="of a whole build")
    parser.add_argument("--plans", type=Path, default=BUILD / "tests" / "cpp" / "plan_report")
    parser.add_argument("--architecture", default="sm_90")
    parser.add_argument("--write", action="store_true", help=f"{BUDGET.relative_to(ROOT)}")
    options = parser.parse_args()
    kernels = read_log(options.log.read_text(), options.architecture)
    if not kernels:
        print(f"{options.log} speaks of no kernel for {options.architecture}", file=sys.stderr)
        return 1
    print(f"{'kernel':66} {'registers':>9} {'smem':>7} {'stack':>6} {'spilled':>8}")
    for name, use in kernels.items():
        print(
            f"{name:66} {use.registers:9} {use.static_smem_bytes:7} {use.stack_bytes:6} "
            f"{use.spill_bytes:8}"
        )
    plans = read_plans(options.plans)
    if options.write:
        before = json.loads(BUDGET.read_text())["kernels"]
        spills = {name: limits.get("spill_bytes", 0) for name, limits in before.items()}
        budget = as_budget(options.architecture, kernels, plans, spills)
        BUDGET.write_text(json.dumps(budget, indent=1) + "\n")
    found = sorted(faults(kernels, plans, json.loads(BUDGET.read_text())))
    print("\n".join(found) if found else "resources: within the budget, no spills")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
