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
    *,
    page_size: int = 1,
    order: str = "any",
    largest: bool = True,
    nan: str = "largest",
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
    )
    shape = (*input.shape[:-1], k)
    values = input.new_empty(shape if return_values else (0,))
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
    input, _, begin, end, index_offset, page_table, _, _ = inputs
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
    # A poisoned row is the only one whose best value is a NaN under this rule: a window with a
    # NaN is poisoned, one without has none to select.
    is_poison = keyword_only_inputs["nan"] == "poison" and values.shape[-1] > 0
    poisoned = values[..., :1].isnan() if is_poison else None
    ctx.save_for_backward(indices, begin, end, index_offset, poisoned)
    ctx.input_shape = input.shape


def _backward(ctx: Any, grad_values: Tensor | None, grad_indices: None) -> tuple[Any, ...]:
    no_gradients = (None,) * 7
    if grad_values is None or not ctx.is_differentiable:
        return (None, *no_gradients)
    indices, begin, end, index_offset, poisoned = ctx.saved_tensors
    cols = ctx.input_shape[-1]
    per_row = (*ctx.input_shape[:-1], 1)

    def clamp_or(bound: Tensor | None, absent: int, low: Tensor | int) -> Tensor:
        if bound is None:
            bound = indices.new_full((1,), absent, dtype=torch.int64).expand(per_row)
        bound = bound.to(torch.int64).reshape(per_row)
        return bound.clamp(max=cols).maximum(torch.as_tensor(low, device=bound.device))

    first = clamp_or(begin, 0, 0)
    last = clamp_or(end, cols, first)
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
    # Pads add zero to position 0: scatter_add leaves what the selection wrote there.
    grad_input = gradient.new_zeros(ctx.input_shape)
    if cols > 0:
        grad_input = grad_input.scatter_add(-1, positions, gradient)
    return (grad_input, *no_gradients)


torch.library.register_autograd("deepselect::topk", _backward, setup_context=_setup_context)
