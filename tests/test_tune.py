"""The search for tuning values, as far as it goes without a device: what it would change."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parent.parent / "tools"))

import tune
from harness.candidate import Replacement, replaced
from harness.extras import WITHOUT_NAN_RULE, WITHOUT_TIES


@pytest.mark.parametrize("tunable", tune.TUNABLES)
def test_every_declared_value_is_in_its_header(tunable: str) -> None:
    search = tune.Search(tunable, jobs=1)
    for name, values in tune.TUNABLES[tunable].ranges.items():
        before = f"{name} = {search.present[name]};"
        for value in values:
            changed = replaced([Replacement(search.header, before, f"{name} = {value};")])
            assert tune.present_values(changed[search.header], [name]) == {name: value}


def test_values_that_are_not_there_once() -> None:
    with pytest.raises(ValueError, match="kNothing: 0 values"):
        tune.present_values("int kSomething = 1;", ["kNothing"])
    with pytest.raises(ValueError, match="kTwice: 2 values"):
        tune.present_values("kTwice = 1; kTwice = 2;", ["kTwice"])


def test_replacements_build_upon_each_other() -> None:
    name = "cuda/tuning/choice.h"
    twice = [Replacement(name, "#pragma once", "one"), Replacement(name, "one\n", "two\n")]
    changed = replaced(twice)[name]
    assert "two\n" in changed
    assert "#pragma once" not in changed
    with pytest.raises(ValueError, match="0 times 'no such text', wanted 1"):
        replaced([Replacement(name, "no such text", "")])


@pytest.mark.parametrize("tunable", WITHOUT_TIES)
def test_policies_without_ties_fit_the_sources(tunable: str) -> None:
    changed = replaced(WITHOUT_NAN_RULE + WITHOUT_TIES[tunable])
    assert "sign_, 0u" not in changed["cuda/common/key_map.cuh"]
