"""The printed plans of Ascend's unified buffer: every configuration, without overlaps."""

from __future__ import annotations

import subprocess
import sys

import pytest

from deepselect import ascend_plan

UB_BYTES = {"dav-3510": 253_952, "dav-2201": 188_160}


def test_every_configuration_has_a_plan() -> None:
    found = [(p.architecture, p.item_bytes, p.max_k) for p in ascend_plan.ub_plans()]
    expected = [(a, b, k) for a in UB_BYTES for b in (2, 4) for k in (512, 1024, 4096)]
    assert found == expected


@pytest.mark.parametrize(
    "plan", ascend_plan.ub_plans(), ids=lambda p: f"{p.architecture}-{p.item_bytes}-{p.max_k}"
)
def test_buffers_are_aligned_and_do_not_overlap(plan: ascend_plan.UbPlan) -> None:
    *scan, epilogue = plan.buffers
    past = 0
    for buffer in scan:
        assert buffer.offset == past
        assert buffer.offset % 32 == 0
        past += buffer.bytes
    assert past <= plan.used_bytes <= plan.ub_bytes == UB_BYTES[plan.architecture]
    named = {buffer.name: buffer for buffer in plan.buffers}
    assert named["stages"].bytes == plan.num_stages * plan.batch_items * plan.item_bytes
    assert named["values"].bytes == plan.num_candidates * plan.item_bytes
    assert named["positions"].bytes == plan.num_candidates * 4
    # What was selected outlives the epilogue's work.
    for kept in (named["values"], named["positions"]):
        overlaps = epilogue.offset < kept.offset + kept.bytes
        assert not (overlaps and kept.offset < epilogue.offset + epilogue.bytes)


def test_command_prints_the_plans_asked_for() -> None:
    command = [sys.executable, "-m", "deepselect.ascend_plan"]
    run = subprocess.run([*command, "--max-k", "1024"], capture_output=True, text=True, check=True)
    plans = [plan for plan in ascend_plan.ub_plans() if plan.max_k == 1024]
    assert run.stdout == "\n\n".join(map(str, plans)) + "\n"
    assert "dav-2201, 16-bit values, k <= 1024: " in run.stdout
    run = subprocess.run([*command, "--max-k", "7"], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (1, "no such plan\n")
