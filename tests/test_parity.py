"""Every case of the table on every backend and variant, exactly as the reference answers it."""

from __future__ import annotations

from functools import lru_cache

from cases import AXES, Case, all_cases, pairwise_cases
from checking import check_call, check_refused, refusal
from deepselect import reference, testing


@lru_cache(maxsize=1)
def _expected(case: Case) -> reference.Selection:
    call = case.build()
    return reference.select(call.input, call.k, **call.arguments)


def test_case(case: Case, backend: testing.Backend, variant: str | None) -> None:
    call = case.build(backend.device, alignment_bytes=backend.limits.row_alignment_bytes)
    if error := refusal(case, backend):
        check_refused(call, error, testing.topk_of_variant(backend.device_type, variant))
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
