"""``torch.vmap`` over the op: the batch becomes rows of one call.

Every row is selected from by itself, so a batch of calls is one call with more rows; what has a
value for each row is laid out likewise. ``k`` is an integer and cannot be batched.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from deepselect._strides import is_rows

_OP = torch.ops.deepselect.topk.default
_OPERANDS = [argument.name for argument in _OP._schema.arguments if not argument.kwarg_only]
_OF_ROWS = ("begin", "end", "index_offset", "page_table_row", "page_table_begin")


def _batch_rule(
    info: Any, in_dims: tuple[int | None, ...], input: Tensor, k: int, *others: Any, **options: Any
) -> tuple[tuple[Tensor, Tensor], tuple[int | None, int]]:
    """One call for ``info.batch_size`` of them.

    Args:
        info: torch's, holds the size of the batch.
        in_dims: the batch dimension of each operand, None where it has none.
        input, k, others: the op's operands, the batch dimension still in them.
        options: the op's keyword arguments.

    Returns:
        The op's outputs with the batch first, and where the batch dimension is in each.

    Raises:
        RuntimeError: a batched operand that all rows of a call share.
    """
    size: int = info.batch_size
    dims = dict(zip(_OPERANDS, in_dims, strict=False))
    given = dict(zip(_OPERANDS[2:], others, strict=False))

    def batched(name: str, operand: Tensor) -> Tensor:
        """With the batch first; a view that repeats an operand without one."""
        dim = dims[name]
        return operand.expand(size, *operand.shape) if dim is None else operand.movedim(dim, 0)

    rows = batched("input", input)
    if not is_rows(rows):
        rows = rows.contiguous()
    if given.get("page_table") is not None:
        tables = batched("page_table", given["page_table"])
        if given.get("page_table_row") is None:
            given["page_table_row"] = _own_rows(rows.shape[1:-1].numel(), tables)
            dims["page_table_row"] = None
        if dims["page_table"] is not None:
            row = batched("page_table_row", given["page_table_row"])
            given["page_table_row"] = _rows_of_all_tables(row, tables.shape[1])
            dims["page_table_row"] = 0
            given["page_table"] = tables.flatten(0, 1)
    for name, operand in given.items():
        if operand is None:
            continue
        if name in _OF_ROWS:
            given[name] = batched(name, operand).reshape(-1)
        elif name != "page_table" and dims[name] is not None:
            raise RuntimeError(
                f"deepselect.topk: ValueError: {name} must not be batched by vmap: all rows of a "
                "call share it"
            )
    values, indices = _OP(rows, k, **given, **options)
    # Without values the op gives an empty tensor, which belongs to no call in particular.
    return (values, indices), (0 if options.get("return_values", True) else None, 0)


def _own_rows(num_rows: int, tables: Tensor) -> Tensor:
    """The default of ``page_table_row`` in one call: each row's number."""
    if tables.shape[1] < num_rows:
        raise RuntimeError(
            "deepselect.topk: ValueError: page_table must have a row for each of input's "
            f"{num_rows} rows, got {tables.shape[1]}; pass page_table_row to share rows"
        )
    return torch.arange(num_rows, dtype=torch.int32, device=tables.device)


def _rows_of_all_tables(row: Tensor, tables_per_call: int) -> Tensor:
    """Rows in each call's table as rows in all tables; what was no row of its call's stays none."""
    call = torch.arange(row.shape[0], dtype=row.dtype, device=row.device)[:, None]
    is_row = (row >= 0) & (row < tables_per_call)
    return (row + call * tables_per_call).where(is_row, -1)


torch.library.register_vmap("deepselect::topk", _batch_rule)
