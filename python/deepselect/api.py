"""The Python front of the op."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from deepselect import contract

Weights = Literal["none", "softmax", "softmax_selected", "sigmoid", "sigmoid_selected"]


class TopK(NamedTuple):
    """Result of :func:`topk`: ``values`` (``None`` where they were not wanted) and ``indices``."""

    values: Tensor | None
    indices: Tensor


torch.utils._pytree._register_namedtuple(TopK, serialized_type_name="deepselect.TopK")


def topk(
    input: Tensor,
    k: int,
    *,
    begin: Tensor | None = None,
    end: Tensor | None = None,
    index_offset: Tensor | None = None,
    page_table: Tensor | None = None,
    page_table_row: Tensor | None = None,
    page_table_begin: Tensor | None = None,
    page_size: int = 1,
    order: Literal["any", "value", "index"] = "any",
    largest: bool = True,
    nan: Literal["largest", "smallest", "poison"] = "largest",
    weights: Weights = "none",
    bias: Tensor | None = None,
    return_values: bool = True,
    index_dtype: torch.dtype | None = None,
    pad_index: int = -1,
    pad_value: float | None = None,
    out: tuple[Tensor | None, Tensor] | None = None,
    raw_indices: Tensor | None = None,
) -> TopK:
    """Selects the ``k`` best elements of every row, exactly.

    Among equal values the lower position is selected first, so the selected set is unique: it does
    not depend on device, launch or run. ``-0.0`` equals ``+0.0``.

    Args:
        input: ``(..., cols)``, bfloat16, float16, float32 or int32; last stride 1, leading strides
            that collapse to one row stride, any base address. ``rows`` below is the product of the
            leading dimensions.
        k: number of elements to select, ``>= 0``. Where a window is shorter, the rest is padded.
        begin, end: ``(rows,)`` int32 or int64: the window ``[begin, end)`` of each row, clamped to
            the row; what lies outside never matters. Default: the whole row.
        index_offset: ``(rows,)`` int32 or int64, added to each row's indices.
        page_table: ``(tables, pages)`` int32: indices become
            ``table[first + i // page_size] * page_size + i % page_size``. Windows are clamped to
            what the table covers. Excludes ``index_offset``.
        page_table_row: ``(rows,)`` int32: the table's row for each row. Default: the row's number.
        page_table_begin: ``(rows,)`` int32: ``first`` for each row. Default: 0.
        page_size: elements per page, a power of two up to 2^30.
        order: ``"value"``: best first, ties by position. ``"index"``: ascending position.
            ``"any"``: unstated, the cheapest; becomes ``"index"`` under
            :func:`torch.use_deterministic_algorithms`.
        largest: whether greater values are better.
        nan: ``"largest"`` ranks every NaN above ``+inf``, ``"smallest"`` below ``-inf``;
            ``"poison"`` gives a row whose window holds a NaN pads as indices and NaN as values.
        weights: what ``values`` are: ``"none"``: the elements themselves; else float32 weights of
            floating-point input: ``"softmax"`` over the row's window, ``"sigmoid"``, or either
            normalised over the selection, ``"softmax_selected"`` and ``"sigmoid_selected"``.
        bias: ``(cols,)`` float32, added to each column's score where scores are compared, and
            nowhere else. A score is the element, or its sigmoid where ``weights`` is a sigmoid.
        return_values: whether ``values`` is wanted.
        index_dtype: ``torch.int32`` (default) or ``torch.int64``.
        pad_index, pad_value: what fills places beyond the window's length. ``pad_value=None`` is
            the worst value in this direction: ``-inf`` or ``+inf``, int32's minimum or maximum;
            0 for weights.
        out: ``(values or None, indices)`` to write into, of the exact shapes; not differentiable.
        raw_indices: int32, with ``out`` only: receives positions relative to the window's begin,
            without offset or page table.

    Returns:
        ``(values, indices)``, each of input's leading shape plus ``k``. Indices are relative to
        ``begin``. ``values`` is differentiable; its elements are input's exact bits, or weights.

    Raises:
        TypeError: a wrong type or dtype.
        ValueError: a wrong value, shape, stride, device or alignment.
        RuntimeError: no backend is built for input's device, or ``out`` is given where input
            requires grad.
    """
    if not isinstance(input, Tensor):
        raise TypeError(
            f"deepselect.topk: input must be of type Tensor, got {type(input).__name__}"
        )
    if order == "any" and torch.are_deterministic_algorithms_enabled():
        order = "index"
    if out is None and raw_indices is not None:
        raise ValueError("deepselect.topk: raw_indices must be given together with out; pass out")
    if out is not None:
        _check_out(out)
        if input.requires_grad and torch.is_grad_enabled():
            raise RuntimeError(
                "deepselect.topk: out must not be given where input requires grad: it is not "
                "differentiable; detach input or omit out"
            )
        if index_dtype is not None and out[1].dtype != index_dtype:
            raise TypeError(
                f"deepselect.topk: indices must have index_dtype, {index_dtype}, "
                f"got {out[1].dtype}; omit index_dtype"
            )

    arguments = (
        input,
        k,
        begin,
        end,
        index_offset,
        page_table,
        page_table_row,
        page_table_begin,
        bias,
    )
    options: dict[str, Any] = {
        "page_size": page_size,
        "order": order,
        "largest": largest,
        "nan": nan,
        "weights": weights,
        "pad_index": pad_index,
        "pad_value": pad_value,
    }
    if out is None:
        options |= {"return_values": return_values, "index_dtype": index_dtype}
    else:
        options |= {"values": out[0], "indices": out[1], "raw_indices": raw_indices}
    if torch.compiler.is_compiling():
        return _call(arguments, options, out)
    try:
        return _call(arguments, options, out)
    except RuntimeError as error:
        user_error = _user_error(str(error))
        if user_error is None:
            raise
        raise user_error from None


def _check_out(out: Any) -> None:
    """What the op's schema cannot say, since it takes the outputs one by one."""
    if not isinstance(out, (tuple, list)) or len(out) != 2:
        got = f"{len(out)} items" if isinstance(out, (tuple, list)) else type(out).__name__
        raise TypeError(
            f"deepselect.topk: out must be a pair, (values or None, indices), got {got}"
        )
    if not isinstance(out[1], Tensor):
        raise TypeError(
            f"deepselect.topk: indices must be of type Tensor, got {type(out[1]).__name__}"
        )


def _call(
    arguments: tuple[Any, ...], options: dict[str, Any], out: tuple[Tensor | None, Tensor] | None
) -> TopK:
    if out is not None:
        torch.ops.deepselect.topk.out(*arguments, **options)
        return TopK(*out)
    values, indices = torch.ops.deepselect.topk.default(*arguments, **options)
    return TopK(values if options["return_values"] else None, indices)


def empty_rows(
    shape: Sequence[int], dtype: torch.dtype, device: torch.device | str | None = None
) -> Tensor:
    """An uninitialised tensor whose rows are aligned for every backend.

    Args:
        shape: ``(..., cols)``, at least one dimension.
        dtype: any dtype.
        device: default as in :func:`torch.empty`.

    Returns:
        A tensor of that shape with last stride 1 and a row stride padded to the strictest
        alignment in :func:`deepselect.contract.limits` (32 bytes, for Ascend).

    Raises:
        ValueError: ``shape`` is empty.
        ImportError: ``deepselect._contract`` was built for another Python.
    """
    if len(shape) == 0:
        raise ValueError("deepselect.empty_rows: shape must have at least 1 dimension, got ()")
    *leading, cols = shape
    multiple = max(contract.row_alignment_bytes() // dtype.itemsize, 1)
    padded_cols = -(-cols // multiple) * multiple
    return torch.empty((*leading, padded_cols), dtype=dtype, device=device)[..., :cols]


_OP_ERROR = re.compile(r"deepselect\.topk: (TypeError|ValueError): (?P<text>[^\n]*)")
_SCHEMA_ERROR = re.compile(
    r"Expected a value of type '(?P<expected>[^']*)' for argument '(?P<name>\w+)' "
    r"but instead found type '(?P<got>[^']*)'"
)


def _user_error(message: str) -> TypeError | ValueError | None:
    """The exception that a RuntimeError of the op stands for, or None."""
    if found := _OP_ERROR.search(message):
        kind = TypeError if found[1] == "TypeError" else ValueError
        return kind(f"deepselect.topk: {found['text']}")
    if found := _SCHEMA_ERROR.search(message):
        return TypeError(
            f"deepselect.topk: {found['name']} must be of type {found['expected']}, "
            f"got {found['got']}"
        )
    return None
