"""The judges can condemn: each kind of wrong answer is seen by ``deepselect.testing``."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import deepselect
from deepselect import reference, testing
from deepselect.reference import Selection

X = torch.tensor([[4.0, 2.0, 4.0, 1.0, 3.0], [0.0, -0.0, 7.0, 7.0, 5.0]])
END = torch.tensor([5, 3])


def selected(order: str) -> Selection:
    """Row 0: positions 0, 2, 4, 1; row 1: positions 2, 0, 1 and a pad."""
    return reference.select(X, 4, end=END, order=order)


def outputs(order: str) -> tuple[Tensor, Tensor, Tensor]:
    s = selected(order)
    assert s.values is not None
    return s.values.clone(), s.indices.clone(), s.raw_indices.clone()


@pytest.mark.parametrize("order", ["any", "value", "index"])
def test_the_right_answer_passes(order: str) -> None:
    values, indices, raw = outputs(order)
    testing.assert_same_selection(values, indices, selected(order), order=order, raw_indices=raw)


def test_any_order_allows_permutations_of_valid_entries() -> None:
    values, indices, raw = outputs("value")
    shuffle = torch.tensor([[3, 1, 0, 2], [1, 2, 0, 3]])
    values, indices, raw = (x.gather(1, shuffle) for x in (values, indices, raw))
    expected = selected("any")
    testing.assert_same_selection(values, indices, expected, raw_indices=raw)
    testing.assert_same_selection(values, indices, expected)
    with pytest.raises(AssertionError, match="indices"):
        testing.assert_same_selection(values, indices, selected("value"), order="value")


def _set(x: Tensor, place: tuple[int, int], value: float) -> None:
    x[place] = value


def _swap(x: Tensor, row: int, a: int, b: int) -> None:
    x[row, [a, b]] = x[row, [b, a]]


WRONG: dict[str, tuple[str, Callable[[Tensor, Tensor, Tensor], None]]] = {
    "another position": ("indices", lambda v, i, r: _set(i, (0, 3), 3)),
    "a position twice": ("indices", lambda v, i, r: _set(i, (0, 1), 0)),
    "out of range": ("indices", lambda v, i, r: _set(i, (1, 0), 5)),
    "a pad too early": ("indices", lambda v, i, r: _swap(i, 1, 2, 3)),
    "another pad": ("indices", lambda v, i, r: _set(i, (1, 3), 0)),
    "the sign of a zero": ("values", lambda v, i, r: _set(v, (1, 1), -0.0)),
    "a value beside another index": ("values", lambda v, i, r: _swap(v, 0, 0, 3)),
    "another pad value": ("values", lambda v, i, r: _set(v, (1, 3), 0.0)),
    "another raw position": ("raw_indices", lambda v, i, r: _set(r, (0, 0), 1)),
    "raw positions swapped": ("raw_indices", lambda v, i, r: _swap(r, 0, 0, 1)),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("order", ["any", "value"])
def test_a_wrong_answer_fails(wrong: str, order: str) -> None:
    values, indices, raw = outputs("value")
    name, spoil = WRONG[wrong]
    spoil(values, indices, raw)
    # Entries are matched up by all outputs together, so any of them can be named then.
    named = "(values|indices|raw_indices)" if order == "any" else name
    with pytest.raises(AssertionError, match=f"^{named}: .+ entries differ"):
        testing.assert_same_selection(
            values, indices, selected(order), order=order, raw_indices=raw
        )


def test_shapes_dtypes_and_absence() -> None:
    values, indices, _ = outputs("value")
    expected = selected("value")
    with pytest.raises(AssertionError, match="indices: dtype"):
        testing.assert_same_selection(values, indices.long(), expected, order="value")
    with pytest.raises(AssertionError, match="indices: shape"):
        testing.assert_same_selection(values, indices[:, :3], expected, order="value")
    with pytest.raises(AssertionError, match="indices: shape"):
        testing.assert_same_selection(values, indices[:, :3], selected("any"))
    with pytest.raises(AssertionError, match="values: given and expected differ"):
        testing.assert_same_selection(None, indices, expected, order="value")


def test_bits_of_nans() -> None:
    quiet = torch.tensor([0x7FC00000, 0x7FC00001], dtype=torch.int32).view(torch.float32)
    testing.assert_same_bits(quiet, quiet.clone())
    with pytest.raises(AssertionError, match=r"1 of 2 entries differ, first at \[1\]"):
        testing.assert_same_bits(quiet, quiet[[0, 0]])


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 2, 3), (2, 0), (0, 3)])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.int32, torch.int64])
def test_a_guard_sees_every_item_round_its_view(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    guard = testing.GuardedTensor(shape, dtype)
    assert (guard.view.shape, guard.view.dtype) == (shape, dtype)
    guard.view.fill_(3)
    guard.assert_intact()
    num_items = guard.view.untyped_storage().nbytes() // dtype.itemsize
    inside = set()
    if guard.view.numel() > 0:
        rows = guard.view.flatten(0, -2) if guard.view.dim() > 1 else guard.view[None]
        for row in range(rows.shape[0]):
            first = rows.storage_offset() + row * rows.stride(0)
            inside |= set(range(first, first + rows.shape[1]))
    for item in set(range(num_items)) - inside:
        guard = testing.GuardedTensor(shape, dtype)
        guard.view.as_strided((1,), (1,), item).fill_(0)
        with pytest.raises(AssertionError, match=f"first at item {item} of"):
            guard.assert_intact()


def test_backends_and_variants(backend: testing.Backend) -> None:
    names = testing.variants(backend.device_type)
    assert names[0] is None
    assert len(set(names)) == len(names)
    assert testing.topk_of_variant(backend.device_type, None) is deepselect.topk
    with pytest.raises(ValueError, match=r"variant must be one of .+ got 'none such'"):
        testing.topk_of_variant(backend.device_type, "none such")


def test_the_cpu_is_always_there() -> None:
    assert testing.available_backends()[0].device_type == "cpu"


def test_a_choice_of_variants_is_made_on_cuda() -> None:
    with pytest.raises(ValueError, match="input must be on CUDA, got cpu"):
        testing.chosen_variant(torch.zeros(2, 3), 1)
