"""The benchmark of adapters times calls that select the same."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import deepselect
from compat_statements import canonical

sys.path.append(str(Path(__file__).resolve().parent.parent / "tools" / "bench"))

import adapters
from harness.inputs import make_input


@pytest.mark.parametrize("timed", adapters.CASES, ids=lambda timed: timed.name)
def test_adapter_and_plain_call_select_the_same(timed: adapters.Case, device: torch.device) -> None:
    shape = replace(timed.shape, rows=4, cols=600, k=50)
    operands = adapters.Operands(shape, device)
    x = make_input(shape, device, seed=0)
    result = timed.call(timed.adapter, x, operands)
    indices = operands.out if result is None else result
    if isinstance(indices, tuple):
        indices = indices[1]
    plain = deepselect.topk(x, operands.k, **timed.plain(operands)).indices
    assert torch.equal(canonical(indices), canonical(plain))


def test_a_short_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    output = tmp_path / "adapters.json"
    arguments = ["--backend", "cpu", "--quick", "--only", "torch", "--output", str(output)]
    assert adapters.main(arguments) == 0
    assert "original" in capsys.readouterr().out
    assert output.exists()
