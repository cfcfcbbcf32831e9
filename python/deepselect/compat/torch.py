"""``torch.topk``, for bfloat16, float16, float32 and int32."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

import deepselect
from deepselect._strides import is_rows


class _Outputs(NamedTuple):
    values: Tensor
    indices: Tensor


def topk(
    input: Tensor,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
    *,
    out: tuple[Tensor, Tensor] | list[Tensor] | None = None,
) -> torch.return_types.topk:
    """As :func:`torch.topk`: the ``k`` best along ``dim``, indices in int64.

    Args:
        input: any shape, 0 dimensions included; bfloat16, float16, float32 or int32. Copied where
            ``dim`` does not have stride 1 or the other strides do not collapse to one.
        k: at most input's size along ``dim``.
        dim: the dimension to select along.
        largest: whether greater values are better; NaN counts as the greatest.
        sorted: best first. False leaves the order unstated.
        out: ``(values, indices)`` to write, of input's dtype and int64; resized where the shape
            differs.

    Returns:
        ``torch.return_types.topk``: contiguous ``values`` and ``indices``. ``values`` is
        differentiable unless ``out`` is given.

    Raises:
        IndexError: ``dim`` is out of range.
        RuntimeError: ``k`` is out of range, or ``out`` has a wrong dtype or is given where input
            requires grad.
        TypeError: another dtype of ``input``.
    """
    if input.dim() == 0:
        return _of_scalar(input, k, dim, largest, out)
    rows = input.movedim(dim, -1)
    if k < 0 or k > rows.shape[-1]:
        raise RuntimeError("selected index k out of range")
    if not is_rows(rows):
        rows = rows.contiguous()
    values, indices = deepselect.topk(
        rows,
        k,
        order="value" if sorted else "any",
        largest=largest,
        index_dtype=torch.int64,
    )
    assert values is not None  # return_values is on
    return _returned(
        _Outputs(values.movedim(-1, dim).contiguous(), indices.movedim(-1, dim).contiguous()),
        input,
        out,
    )


def _of_scalar(
    input: Tensor,
    k: int,
    dim: int,
    largest: bool,
    out: tuple[Tensor, Tensor] | list[Tensor] | None,
) -> torch.return_types.topk:
    if k not in (0, 1):
        raise RuntimeError("selected index k out of range")
    # torch gives the scalar for k = 0 too.
    values, indices = topk(input.reshape(1), 1, dim, largest)
    return _returned(_Outputs(values.reshape(()), indices.reshape(())), input, out)


def _returned(
    result: _Outputs, input: Tensor, out: tuple[Tensor, Tensor] | list[Tensor] | None
) -> torch.return_types.topk:
    if out is None:
        return torch.return_types.topk(result)
    if input.requires_grad and torch.is_grad_enabled():
        raise RuntimeError("topk(): out must not be given where input requires grad")
    for given, computed in zip(out, result, strict=True):
        if given.dtype != computed.dtype:
            raise RuntimeError(
                f"topk(): out must have dtypes {result.values.dtype} and torch.int64, "
                f"got {given.dtype}"
            )
    for given, computed in zip(out, result, strict=True):
        if given.shape != computed.shape:
            given.resize_(computed.shape)
        given.copy_(computed)
    return torch.return_types.topk((out[0], out[1]))
