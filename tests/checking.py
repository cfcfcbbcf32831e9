"""Runs one call of the op and judges everything about it: results, canaries, inputs."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from cases import Call, Case
from deepselect import reference, testing

# Inputs above this size are not compared with a copy after the call.
MAX_COPIED_ITEMS = 100_000


def refusal(case: Case, backend: testing.Backend) -> tuple[type[Exception], str] | None:
    """The error that this backend owes for a case beyond its limits, None for one within."""
    limits = backend.limits
    if case.torch_dtype not in limits.value_dtypes:
        return TypeError, "input must have one of the dtypes"
    if case.cols > limits.max_cols:
        return ValueError, "input must have at most"
    needs_alignment = limits.row_alignment_bytes > case.torch_dtype.itemsize
    if needs_alignment and not case.is_aligned and case.rows > 0 and case.cols > 0:
        return ValueError, "input must have its base address and row stride aligned"
    if case.k > limits.max_k:
        return ValueError, "k must be"
    if (case.weights, case.bias) != ("none", "none") and not limits.has_weights:
        return ValueError, "must not be given on"
    return None


def check_call(
    call: Call,
    expected: reference.Selection,
    backend: testing.Backend,
    variant: str | None = None,
    outputs: str = "new",
) -> None:
    """Runs `call` and asserts that it selected `expected`, and did nothing else.

    Args:
        call: on the backend's device.
        expected: the reference's answer.
        backend: the backend to run on.
        variant: the kernel variant to force, None for the backend's choice. Where it says that
            it is not made for the call, there is nothing to judge.
        outputs: one of `cases.OUTPUTS`.
    """
    topk = testing.topk_of_variant(backend.device_type, variant)
    arguments = dict(call.arguments)
    given = [call.input, *(a for a in arguments.values() if isinstance(a, Tensor))]
    copies = [_copy(tensor) for tensor in given] if call.input.numel() < MAX_COPIED_ITEMS else []

    raw_indices: Tensor | None = None
    guards: dict[str, testing.GuardedTensor] = {}
    try:
        if outputs.startswith("new"):
            values, indices = topk(call.input, call.k, **arguments)
        else:
            values, indices, raw_indices, guards = _call_out(topk, call, arguments, outputs)
    except RuntimeError as error:
        if variant is not None and "cannot serve this call" in str(error):
            return
        raise
    testing.assert_same_selection(
        values,
        indices,
        expected,
        order=arguments["order"],
        raw_indices=raw_indices,
        has_weights="weights" in arguments,
    )
    for name, guard in guards.items():
        guard.assert_intact(name)
    for tensor, copy in zip(given, copies, strict=False):
        testing.assert_same_bits(tensor, copy, "an input after the call")


def _copy(x: Tensor) -> Tensor:
    """Copied as integers: a float copy may quieten a signalling NaN."""
    as_bits = testing.bits_type(x.dtype)
    return x.view(as_bits).clone().view(x.dtype)


def _call_out(
    topk: Any, call: Call, arguments: dict[str, Any], outputs: str
) -> tuple[Tensor | None, Tensor, Tensor | None, dict[str, testing.GuardedTensor]]:
    shape = (*call.input.shape[:-1], call.k)
    device = call.input.device
    index_dtype = arguments.pop("index_dtype", torch.int32)
    # Gaps and offsets that no vector width divides, different for each output.
    guards = {"indices": testing.GuardedTensor(shape, index_dtype, device)}
    if arguments.pop("return_values"):
        dtype = torch.float32 if "weights" in arguments else call.input.dtype
        guards["values"] = testing.GuardedTensor(shape, dtype, device, gap_items=1, offset_items=3)
    if outputs.endswith("raw"):
        guards["raw_indices"] = testing.GuardedTensor(
            shape, torch.int32, device, gap_items=5, offset_items=2
        )
    views = {name: guard.view for name, guard in guards.items()}
    values, indices = topk(
        call.input,
        call.k,
        **arguments,
        out=(views.get("values"), views["indices"]),
        raw_indices=views.get("raw_indices"),
    )
    assert indices is views["indices"]
    assert values is views.get("values")
    return values, indices, views.get("raw_indices"), guards


def check_refused(call: Call, error: tuple[type[Exception], str], topk: Any) -> None:
    """Asserts that a call beyond a backend's limits is refused by name."""
    with pytest.raises(error[0], match=error[1]):
        topk(call.input, call.k, **call.arguments)
