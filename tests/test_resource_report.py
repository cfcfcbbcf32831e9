"""The judge of the CUDA kernels' resources: what it reads, and that it can fail."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parent.parent / "tools"))

import resource_report
from resource_report import Use

MANGLED = (
    "_ZN10deepselect4cuda17row_stream_kernelILNS_9ValueTypeE{type}ENS0_15RowStreamPolicyILi512ELi2E"
    "Li2EEEEEvNS_10TopkParamsEjj"
)
NAME = "row_stream_kernel<RowStreamPolicy<512, 2, 2>>"


def entry(type_number: int, registers: int, spilled: int = 0, rest: str = "") -> str:
    name = MANGLED.format(type=type_number)
    return (
        f"ptxas info    : Compiling entry function '{name}' for 'sm_90'\n"
        f"ptxas info    : Function properties for {name}\n"
        f"    0 bytes stack frame, {spilled} bytes spill stores, 0 bytes spill loads\n"
        f"ptxas info    : Used {registers} registers, used 1 barriers{rest}\n"
    )


def test_a_kernels_use_is_the_most_of_its_types() -> None:
    log = entry(0, 60) + "[5/9] Building\n" + entry(3, 57, 8, ", 96 bytes smem")
    kernels = resource_report.read_log(log, "sm_90")
    assert kernels == {NAME: Use(registers=60, static_smem_bytes=96, spill_bytes=8)}
    assert resource_report.read_log(log, "sm_80") == {}


@pytest.mark.parametrize(
    ("demangled", "expected"),
    [
        ("void deepselect::cuda::a<(deepselect::ValueType)0, deepselect::cuda::P>(int)", "a<P>"),
        ("deepselect::cuda::plain(unsigned int, int)", "plain"),
        ("deepselect::cuda::(anonymous namespace)::hidden()", "hidden"),
    ],
)
def test_names_of_kernels(demangled: str, expected: str) -> None:
    assert resource_report.kernel_name(demangled) == expected


def test_what_is_found() -> None:
    use = Use(registers=60, static_smem_bytes=100, stack_bytes=8)
    plans = {"row_stream at some shape": 4000}
    budget = resource_report.as_budget("sm_90", {NAME: use}, plans, {})
    limits = {"registers": 64, "static_smem_bytes": 128, "stack_bytes": 8}
    assert budget["kernels"][NAME] == limits

    def found(use: Use, plans: dict[str, int] = plans, name: str = NAME) -> str:
        return "; ".join(resource_report.faults({name: use}, plans, budget))

    assert found(use) == ""
    assert found(replace(use, registers=64, static_smem_bytes=128)) == ""
    assert found(replace(use, registers=65)) == f"{NAME}: registers 65, budget 64"
    assert "static_smem_bytes 129" in found(replace(use, static_smem_bytes=129))
    assert "stack_bytes 9" in found(replace(use, stack_bytes=9))
    assert "spills 4 bytes" in found(replace(use, spill_bytes=4))
    allowed = resource_report.as_budget("sm_90", {NAME: use}, plans, {NAME: 4})
    assert not list(resource_report.faults({NAME: replace(use, spill_bytes=4)}, plans, allowed))
    assert list(resource_report.faults({NAME: replace(use, spill_bytes=8)}, plans, allowed))
    assert "dynamic_smem_bytes 4001" in found(use, {"row_stream at some shape": 4001})
    assert "plan other: has no budget" in found(use, {**plans, "other": 1})
    assert "other: has no budget" in found(use, name="other")
    assert f"{NAME}: in the budget, not in the build" in found(use, name="other")
