"""What torch needs beside the kernels: shapes without data, and the gradient of ``values``."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def _check_devices(input: Tensor, **others: Tensor | None) -> None:
    """One meta tensor is enough to bring a call here: without this check it would return tensors
    that nobody writes.
    """
    for name, tensor in others.items():
        if tensor is not None and tensor.device != input.device:
            raise RuntimeError(
                f"deepselect.topk: ValueError: {name} must be on input's device, {input.device}, "
                f"got {tensor.device}; move it with .to(input.device)"
            )


@torch.library.register_fake("deepselect::topk")
def _topk_fake(
    input: Tensor,
    k: int,
    begin: Tensor | None = None,
    end: Tensor | None = None,
    index_offset: Tensor | None = None,
    page_table: Tensor | None = None,
    page_table_row: Tensor | None = None,
    page_table_begin: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    page_size: int = 1,
    order: str = "any",
    largest: bool = True,
    nan: str = "largest",
    weights: str = "none",
    return_values: bool = True,
    index_dtype: torch.dtype | None = None,
    pad_index: int = -1,
    pad_value: float | None = None,
) -> tuple[Tensor, Tensor]:
    torch._check(input.dim() >= 1, lambda: "deepselect.topk: input must have at least 1 dimension")
    torch._check(k >= 0, lambda: f"deepselect.topk: k must be >= 0, got {k}")
    _check_devices(
        input,
        begin=begin,
        end=end,
        index_offset=index_offset,
        page_table=page_table,
        page_table_row=page_table_row,
        page_table_begin=page_table_begin,
        bias=bias,
    )
    shape = (*input.shape[:-1], k)
    values_dtype = input.dtype if weights == "none" else torch.float32
    values = input.new_empty(shape if return_values else (0,), dtype=values_dtype)
    indices = input.new_empty(shape, dtype=index_dtype or torch.int32)
    return values, indices


@torch.library.register_fake("deepselect::topk.out")
def _topk_out_fake(
    input: Tensor,
    k: int,
    begin: Tensor | None = None,
    end: Tensor | None = None,
    index_offset: Tensor | None = None,
    page_table: Tensor | None = None,
    page_table_row: Tensor | None = None,
    page_table_begin: Tensor | None = None,
    bias: Tensor | None = None,
    *,
    indices: Tensor,
    values: Tensor | None = None,
    raw_indices: Tensor | None = None,
    **options: Any,
) -> None:
    """Writes into given tensors: no shape to infer. Arguments are checked when it runs."""
    _check_devices(
        input,
        begin=begin,
        end=end,
        index_offset=index_offset,
        page_table=page_table,
        page_table_row=page_table_row,
        page_table_begin=page_table_begin,
        bias=bias,
        indices=indices,
        values=values,
        raw_indices=raw_indices,
    )


def _setup_context(
    ctx: Any,
    inputs: tuple[Any, ...],
    keyword_only_inputs: dict[str, Any],
    output: tuple[Tensor, Tensor],
) -> None:
    input, _, begin, end, index_offset, page_table, _, _, bias = inputs
    values, indices = output
    ctx.set_materialize_grads(False)
    ctx.is_differentiable = keyword_only_inputs["return_values"]
    if not ctx.is_differentiable:
        ctx.mark_non_differentiable(values)
        return
    if page_table is not None and ctx.needs_input_grad[0]:
        raise RuntimeError(
            "deepselect.topk: ValueError: page_table must not be given where input requires grad, "
            "got both: positions cannot be recovered from pages; detach input or map the indices "
            "afterwards"
        )
    ctx.weights = keyword_only_inputs["weights"]
    ctx.is_poison = keyword_only_inputs["nan"] == "poison"
    poisoned = scores = weights = None
    if ctx.weights != "none":
        scores, weights = input, values
    elif ctx.is_poison and values.shape[-1] > 0:
        # A poisoned row is the only one whose best value is a NaN under this rule: a window with a
        # NaN is poisoned, one without has none to select.
        poisoned = values[..., :1].isnan()
    ctx.save_for_backward(indices, begin, end, index_offset, bias, poisoned, scores, weights)
    ctx.input_shape = input.shape
    ctx.input_dtype = input.dtype


def _backward(ctx: Any, grad_values: Tensor | None, grad_indices: None) -> tuple[Any, ...]:
    no_gradients = (None,) * 8
    if grad_values is None or not ctx.is_differentiable:
        return (None, *no_gradients)
    indices, begin, end, index_offset, bias, poisoned, scores, weights = ctx.saved_tensors
    cols = ctx.input_shape[-1]
    per_row = (*ctx.input_shape[:-1], 1)

    def clamp_or(bound: Tensor | None, absent: int, low: Tensor | int) -> Tensor:
        if bound is None:
            bound = indices.new_full((1,), absent, dtype=torch.int64).expand(per_row)
        bound = bound.to(torch.int64).reshape(per_row)
        return bound.clamp(max=cols).maximum(torch.as_tensor(low, device=bound.device))

    first = clamp_or(begin, 0, 0)
    last = clamp_or(end, cols, first)
    inside = None
    if scores is not None:
        column = torch.arange(cols, device=indices.device)
        inside = (first <= column) & (column < last)
        if ctx.is_poison:
            poisoned = _is_poisoned(ctx.weights, scores, bias, inside)
    rank = torch.arange(indices.shape[-1], device=indices.device)
    selected = rank < last - first
    if poisoned is not None:
        selected = selected & ~poisoned
    positions = indices.to(torch.int64)
    if index_offset is not None:
        positions = positions - index_offset.to(torch.int64).reshape(per_row)
    if indices.dtype == torch.int32:
        positions = positions & 0xFFFFFFFF  # the sum was cut to 32 bits; a position fits in 31
    positions = torch.where(selected, positions + first, 0)
    gradient = torch.where(selected, grad_values, 0)
    share = None
    if scores is not None and cols > 0:
        gradient, share = _gradient_of_scores(
            ctx.weights, gradient, weights, scores, positions, selected
        )
    # Pads add zero to position 0: scatter_add leaves what the selection wrote there.
    grad_input = gradient.new_zeros(ctx.input_shape)
    if cols > 0:
        grad_input = grad_input.scatter_add(-1, positions, gradient)
    if share is not None and inside is not None:
        grad_input = grad_input - share * _softmax(scores, inside, poisoned)
    return (grad_input.to(ctx.input_dtype), *no_gradients)


def _is_poisoned(kind: str, scores: Tensor, bias: Tensor | None, inside: Tensor) -> Tensor:
    compared = scores
    if bias is not None:
        is_sigmoid = kind in ("sigmoid", "sigmoid_selected")
        compared = (scores.float().sigmoid() if is_sigmoid else scores.float()) + bias
    return (compared.isnan() & inside).any(-1, keepdim=True)


def _softmax(scores: Tensor, inside: Tensor, poisoned: Tensor | None) -> Tensor:
    """Over the window of every row, zero outside and where nothing is selected."""
    counts = inside if poisoned is None else inside & ~poisoned
    is_empty = ~counts.any(-1, keepdim=True)
    masked = torch.where(counts, scores.float(), torch.where(is_empty, 0.0, float("-inf")))
    return torch.where(counts, masked.softmax(-1), 0)


def _gradient_of_scores(
    kind: str,
    gradient: Tensor,
    weights: Tensor,
    scores: Tensor,
    positions: Tensor,
    selected: Tensor,
) -> tuple[Tensor, Tensor | None]:
    """From the gradient of the weights, zero at pads, to that of the selected scores; and, for a
    softmax over the window, what every score of the row gets less, in proportion to its softmax.
    """
    weights = torch.where(selected, weights, 0)
    total = (gradient * weights).sum(-1, keepdim=True)
    if kind == "softmax":
        return gradient * weights, total
    if kind == "softmax_selected":
        return weights * (gradient - total), None
    if kind == "sigmoid":
        return gradient * weights * (1 - weights), None
    rest = torch.where(selected, torch.sigmoid(-scores.float().gather(-1, positions)), 0)
    return weights * rest * (gradient - total), None


torch.library.register_autograd("deepselect::topk", _backward, setup_context=_setup_context)
