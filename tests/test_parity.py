"""Every case of the table on every backend and variant, exactly as the reference answers it."""

from __future__ import annotations

from functools import lru_cache

import torch

import deepselect
from cases import AXES, Call, Case, all_cases, pairwise_cases
from checking import check_call, check_refused, refusal
from deepselect import reference, testing


@lru_cache(maxsize=1)
def _expected(case: Case) -> reference.Selection:
    call = case.build()
    return reference.select(call.input, call.k, **call.arguments)


@lru_cache(maxsize=2)
def _call(case: Case, device: torch.device, alignment_bytes: int) -> Call:
    """Built once for all variants, which come one after the other and leave inputs alone."""
    return case.build(device, alignment_bytes=alignment_bytes)


def test_case(case: Case, backend: testing.Backend, variant: str | None) -> None:
    call = _call(case, backend.device, backend.limits.row_alignment_bytes)
    if error := refusal(case, backend):
        if variant is None:
            check_refused(call, error, deepselect.topk)
        return
    check_call(call, _expected(case), backend, variant, case.outputs)


def test_names_are_unique() -> None:
    cases = all_cases()
    assert len({case.name for case in cases}) == len(cases)
    assert len(pairwise_cases()) <= 4000


def test_every_value_of_every_axis_occurs() -> None:
    """With sizes and row counts as the table resolves them."""
    cases = all_cases()
    for axis, values in AXES.items():
        present = {getattr(case, axis) for case in cases}
        assert {
            value for value in values if value not in ("k-1", "k", "k+1", "2k", "cols+1")
        } <= present


def test_building_a_case_twice_gives_the_same_bits() -> None:
    for case in pairwise_cases()[::50]:
        first, second = case.build(), case.build()
        testing.assert_same_bits(first.input, second.input, case.name)
        assert first.arguments.keys() == second.arguments.keys()
