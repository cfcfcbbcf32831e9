"""Routing of tokens to the experts of a mixture: the best of each token, with their weights."""

from __future__ import annotations

from typing import Literal, NamedTuple, cast

import torch
from torch import Tensor

from deepselect.api import Weights, topk

__all__ = ["Routing", "topk_gate"]


class Routing(NamedTuple):
    """Result of :func:`topk_gate`: float32 ``weights`` and int32 ``experts``, each ``(..., k)``."""

    weights: Tensor
    experts: Tensor


torch.utils._pytree._register_namedtuple(Routing, serialized_type_name="deepselect.Routing")


def topk_gate(
    logits: Tensor,
    k: int,
    *,
    scoring: Literal["softmax", "sigmoid"] = "softmax",
    renormalize: bool = True,
    bias: Tensor | None = None,
    num_groups: int | None = None,
    topk_group: int | None = None,
) -> Routing:
    """Chooses the ``k`` best experts of every token, best first, ties to the lower number.

    The scores are ``logits.float().softmax(-1)`` or ``.sigmoid()``. Experts are chosen by score,
    or by ``score + bias``; their weights are their scores without bias, divided by their sum where
    ``renormalize`` is set. With groups, neighbouring experts form ``num_groups`` groups of equal
    size, and only those of the best ``topk_group`` groups are eligible; a group is as good as its
    best expert, or, with a bias, as the sum of its best two.

    It is one call of the op, without groups, unless ``scoring="softmax"`` has a bias. Weights are
    differentiable with respect to ``logits``; the bias only decides and gets no gradient.

    Args:
        logits: ``(..., experts)``, bfloat16, float16 or float32, in a layout that
            :func:`deepselect.topk` takes.
        k: experts a token, at most ``experts``.
        scoring: ``"softmax"`` or ``"sigmoid"``.
        renormalize: whether the weights of a token add up to 1.
        bias: ``(experts,)`` float32.
        num_groups, topk_group: both or neither.

    Returns:
        ``(weights, experts)``.

    Raises:
        TypeError: a wrong type or dtype.
        ValueError: a wrong value, shape, layout or device.
    """
    if scoring not in ("softmax", "sigmoid"):
        raise ValueError(f"{_NAME}: scoring must be 'softmax' or 'sigmoid', got {scoring!r}")
    num_experts = logits.shape[-1]
    if k > num_experts:
        raise ValueError(f"{_NAME}: k must be at most {num_experts}, the experts, got {k}")
    if (num_groups is None) != (topk_group is None):
        raise ValueError(f"{_NAME}: num_groups and topk_group must be given together; pass both")
    is_grouped = num_groups is not None and topk_group is not None
    if not is_grouped and (bias is None or scoring == "sigmoid"):
        kind = cast("Weights", f"{scoring}_selected" if renormalize else scoring)
        weights, experts = topk(logits, k, weights=kind, bias=bias, order="value")
        return Routing(cast("Tensor", weights), experts)

    if not logits.dtype.is_floating_point:
        raise TypeError(f"{_NAME}: logits must be floating-point, got {logits.dtype}")
    scores = logits.float().softmax(-1) if scoring == "softmax" else logits.float().sigmoid()
    if is_grouped:
        choice = scores if bias is None else scores + bias
        choice = _within_groups(choice, k, num_groups, topk_group, bias is not None)  # type: ignore[arg-type]
        experts = topk(choice.detach(), k, order="value", return_values=False).indices
    else:
        experts = topk(scores.detach(), k, bias=bias, order="value", return_values=False).indices
    weights = scores.gather(-1, experts.long())
    if renormalize:
        weights = weights / weights.sum(-1, keepdim=True)
    return Routing(weights, experts)


_NAME = "deepselect.gating.topk_gate"


def _within_groups(
    choice: Tensor, k: int, num_groups: int, topk_group: int, is_biased: bool
) -> Tensor:
    """`choice` with ``-inf`` for the experts of all but the best groups."""
    num_experts = choice.shape[-1]
    if num_groups < 1 or num_experts % num_groups != 0:
        raise ValueError(
            f"{_NAME}: num_groups must divide {num_experts}, the experts, got {num_groups}"
        )
    if not 1 <= topk_group <= num_groups:
        raise ValueError(
            f"{_NAME}: topk_group must be from 1 to {num_groups}, the groups, got {topk_group}"
        )
    group_size = num_experts // num_groups
    if k > topk_group * group_size:
        raise ValueError(
            f"{_NAME}: k must be at most {topk_group * group_size}, the experts of {topk_group} "
            f"groups, got {k}"
        )
    if is_biased and group_size < 2:
        raise ValueError(f"{_NAME}: groups must have 2 experts where a bias is given; omit groups")
    groups = choice.detach().unflatten(-1, (num_groups, group_size))
    if is_biased:
        best_two = topk(groups.contiguous(), 2, order="value").values
        group_scores = cast("Tensor", best_two).sum(-1)
    else:
        group_scores = groups.amax(-1)
    kept = topk(group_scores, topk_group, order="index", return_values=False).indices
    is_kept = torch.zeros_like(group_scores, dtype=torch.bool).scatter(-1, kept.long(), True)
    eligible: Tensor = groups.masked_fill(~is_kept.unsqueeze(-1), -torch.inf).flatten(-2)
    return eligible
