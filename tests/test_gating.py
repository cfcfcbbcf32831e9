"""topk_gate against its statement in plain torch."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import Tensor

import deepselect
from deepselect import reference, testing
from deepselect.gating import Routing, topk_gate

INF = float("inf")


def stated(
    logits: Tensor,
    k: int,
    *,
    scoring: str,
    renormalize: bool,
    bias: Tensor | None = None,
    num_groups: int | None = None,
    topk_group: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The weights in float64 of a stable sort's choice, and the choice, int32."""
    scores = logits.double().softmax(-1) if scoring == "softmax" else logits.double().sigmoid()
    choice = scores if bias is None else scores + bias
    if num_groups is not None and topk_group is not None:
        groups = choice.unflatten(-1, (num_groups, -1))
        by_size = groups.sort(dim=-1, descending=True).values
        group_scores = by_size[..., 0] if bias is None else by_size[..., :2].sum(-1)
        best = group_scores.sort(dim=-1, descending=True, stable=True).indices[..., :topk_group]
        kept = torch.zeros_like(group_scores, dtype=torch.bool).scatter(-1, best, True)
        choice = groups.masked_fill(~kept[..., None], -INF).flatten(-2)
    experts = choice.sort(dim=-1, descending=True, stable=True).indices[..., :k]
    weights = scores.gather(-1, experts)
    if renormalize:
        weights = weights / weights.sum(-1, keepdim=True)
    return weights, experts.int()


def logits_of(tokens: int, experts: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Scores apart by more than their rounding: steps of 1/32 within [-4, 4], shuffled."""
    generator = torch.Generator().manual_seed(tokens + experts)
    steps = torch.stack([torch.randperm(experts, generator=generator) for _ in range(tokens)])
    return ((steps - experts // 2) / 32).to(device, dtype)


def bias_of(experts: int, device: torch.device) -> Tensor:
    """Beside multiples of 1e-4, so that no two biased scores are near each other by design."""
    generator = torch.Generator().manual_seed(experts)
    return (torch.rand(experts, generator=generator) * 0.2).to(device)


def check(got: Routing, wanted: tuple[Tensor, Tensor]) -> None:
    testing.assert_same_bits(got.experts.cpu(), wanted[1].cpu())
    assert got.weights.dtype == torch.float32
    torch.testing.assert_close(got.weights.cpu().double(), wanted[0].cpu(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("renormalize", [True, False])
@pytest.mark.parametrize("scoring", ["softmax", "sigmoid"])
@pytest.mark.parametrize("is_biased", [False, True])
@pytest.mark.parametrize("experts", [8, 16, 60, 64, 128, 160, 256])
def test_without_groups(
    experts: int, is_biased: bool, scoring: str, renormalize: bool, device: torch.device
) -> None:
    for dtype in (torch.float32, torch.bfloat16):
        logits = logits_of(40, experts, dtype, device)
        options: dict[str, Any] = {"scoring": scoring, "renormalize": renormalize}
        if is_biased:
            options["bias"] = bias_of(experts, device)
        for k in (1, 2, 6, 8):
            check(topk_gate(logits, k, **options), stated(logits, k, **options))


# Rows enough for the forms that a device has for many: ties, NaN, infinities and zeros of both
# signs among them, rows that no vector load is aligned to.
@pytest.mark.parametrize("weights", ["none", "softmax", "softmax_selected", "sigmoid"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("experts", [1, 3, 7, 8, 13, 16, 31, 33, 64, 100, 128])
def test_many_rows(experts: int, dtype: torch.dtype, weights: str, device: torch.device) -> None:
    generator = torch.Generator().manual_seed(experts)
    logits = torch.randint(-6, 7, (4500, experts), generator=generator).to(dtype)
    logits[::7] = torch.randn(logits[::7].shape, generator=generator).to(dtype)
    special = torch.tensor([float("nan"), INF, -INF, 0.0, -0.0], dtype=dtype)
    logits[::11, 0] = special[torch.arange(logits[::11].shape[0]) % len(special)]
    for stride in {experts, experts + 3, -(-experts // 8) * 8}:
        storage = torch.zeros(logits.shape[0], stride, dtype=dtype, device=device)
        scores = storage[:, :experts]
        scores.copy_(logits)
        for k in sorted({1, min(2, experts), min(6, experts), min(8, experts)}):
            arguments: dict[str, Any] = {"weights": weights, "order": "value"}
            wanted_values, wanted_indices = reference.topk(logits, k, **arguments)
            got = deepselect.topk(scores, k, **arguments)
            testing.assert_same_bits(got.indices.cpu(), wanted_indices)
            if weights == "none":
                testing.assert_same_bits(got.values.cpu(), wanted_values)
            else:
                torch.testing.assert_close(
                    got.values.cpu(), wanted_values, rtol=1e-5, atol=1e-7, equal_nan=True
                )


@pytest.mark.parametrize("renormalize", [True, False])
@pytest.mark.parametrize("scoring", ["softmax", "sigmoid"])
@pytest.mark.parametrize("is_biased", [False, True])
@pytest.mark.parametrize(("experts", "groups", "kept"), [(256, 8, 4), (160, 8, 3), (64, 1, 1)])
def test_with_groups(
    experts: int,
    groups: int,
    kept: int,
    is_biased: bool,
    scoring: str,
    renormalize: bool,
    device: torch.device,
) -> None:
    logits = logits_of(40, experts, torch.float32, device)
    options: dict[str, Any] = {
        "scoring": scoring,
        "renormalize": renormalize,
        "num_groups": groups,
        "topk_group": kept,
    }
    if is_biased:
        options["bias"] = bias_of(experts, device)
    for k in (1, 6, 8):
        check(topk_gate(logits, k, **options), stated(logits, k, **options))


def test_groups_change_the_choice(device: torch.device) -> None:
    logits = torch.tensor([[3.0, -9, -9, -9, 2, 1, 0, -9]], device=device)
    got = topk_gate(logits, 2, scoring="sigmoid", num_groups=2, topk_group=1)
    assert got.experts.tolist() == [[0, 1]]
    # With a bias a group counts for its best two: 0 and -9 lose to 2 and 1.
    zero = torch.zeros(8, device=device)
    got = topk_gate(logits, 2, scoring="sigmoid", num_groups=2, topk_group=1, bias=zero)
    assert got.experts.tolist() == [[4, 5]]


def test_leading_dimensions_stay(device: torch.device) -> None:
    logits = logits_of(12, 64, torch.float32, device)
    flat = topk_gate(logits, 6)
    got = topk_gate(logits.view(3, 4, 64), 6)
    assert got.experts.shape == got.weights.shape == (3, 4, 6)
    testing.assert_same_bits(got.experts.view(12, 6), flat.experts)
    testing.assert_same_bits(got.weights.view(12, 6), flat.weights)
    grouped = topk_gate(logits.view(3, 4, 64), 6, num_groups=8, topk_group=2)
    assert grouped.experts.shape == (3, 4, 6)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"scoring": "sigmoid", "renormalize": False},
        {"renormalize": False},
        {"scoring": "sigmoid", "bias": True},
        {"scoring": "softmax", "bias": True},
        {"scoring": "sigmoid", "bias": True, "num_groups": 8, "topk_group": 4},
    ],
)
def test_gradient_is_that_of_the_statement(options: dict[str, Any], device: torch.device) -> None:
    options = {"scoring": "softmax", "renormalize": True, **options}
    if "bias" in options:
        options["bias"] = bias_of(64, device)
    x = logits_of(10, 64, torch.float32, device).requires_grad_()
    exact = x.detach().double().requires_grad_()
    gradient = torch.linspace(-1, 2, 60, device=device).view(10, 6)
    (got,) = torch.autograd.grad(topk_gate(x, 6, **options).weights, x, gradient)
    (wanted,) = torch.autograd.grad(stated(exact, 6, **options)[0], exact, gradient.double())
    torch.testing.assert_close(got.double(), wanted, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("num_groups", [None, 8])
def test_compile_fullgraph(num_groups: int | None, device: torch.device) -> None:
    options: dict[str, Any] = {"scoring": "sigmoid", "bias": bias_of(64, device)}
    if num_groups is not None:
        options |= {"num_groups": num_groups, "topk_group": 4}
    logits = logits_of(10, 64, torch.float32, device)
    torch.compiler.reset()
    compiled = torch.compile(topk_gate, fullgraph=True, backend="aot_eager")
    got, eager = compiled(logits, 6, **options), topk_gate(logits, 6, **options)
    testing.assert_same_bits(got.experts, eager.experts)
    testing.assert_same_bits(got.weights, eager.weights)


REJECTED: list[tuple[dict[str, Any], str]] = [
    ({"k": 65}, "k must be at most 64, the experts, got 65"),
    ({"scoring": "relu"}, "scoring must be 'softmax' or 'sigmoid', got 'relu'"),
    ({"num_groups": 8}, "num_groups and topk_group must be given together; pass both"),
    ({"topk_group": 8}, "num_groups and topk_group must be given together; pass both"),
    (
        {"num_groups": 7, "topk_group": 1},
        "num_groups must divide 64, the experts, got 7",
    ),
    ({"num_groups": 0, "topk_group": 1}, "num_groups must divide 64, the experts, got 0"),
    ({"num_groups": 8, "topk_group": 9}, "topk_group must be from 1 to 8, the groups, got 9"),
    (
        {"num_groups": 16, "topk_group": 1, "k": 6},
        "k must be at most 4, the experts of 1 groups, got 6",
    ),
    (
        {"num_groups": 64, "topk_group": 8, "bias": torch.zeros(64)},
        "groups must have 2 experts where a bias is given; omit groups",
    ),
]


@pytest.mark.parametrize(("options", "text"), REJECTED)
def test_rejected(options: dict[str, Any], text: str) -> None:
    options = dict(options)
    with pytest.raises(ValueError, match=re.escape(f"deepselect.gating.topk_gate: {text}")):
        topk_gate(torch.zeros(4, 64), options.pop("k", 6), **options)


def test_the_ops_own_errors_come_through() -> None:
    with pytest.raises(TypeError, match=r"weights must not be given for an int32 input"):
        topk_gate(torch.zeros(4, 64, dtype=torch.int32), 6)
    with pytest.raises(TypeError, match="logits must be floating-point, got"):
        topk_gate(torch.zeros(4, 64, dtype=torch.int32), 6, num_groups=8, topk_group=1)
    with pytest.raises(TypeError, match=r"bias must be float32, got float64"):
        topk_gate(torch.zeros(4, 64), 6, scoring="sigmoid", bias=torch.zeros(64).double())
