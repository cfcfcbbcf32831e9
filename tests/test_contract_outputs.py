"""docs/contract.md sentence by sentence, with answers written out by hand: what is returned.

Every test runs on the reference and on every backend, with tiny inputs. Rows are allocated by
``empty_rows``, so that backends with aligned rows take part.
"""

from __future__ import annotations

import pytest
import torch

import deepselect
from by_hand import (
    BF16,
    FP16,
    FP32,
    INT32,
    MAX_INT32,
    MAX_INT64,
    MIN_INT32,
    MIN_INT64,
    indices_of,
    rows,
    values_of,
    vector,
)
from conftest import Engine

# ---- Indices -----------------------------------------------------------------------------------


@pytest.mark.parametrize("vector_dtype", [torch.int32, torch.int64])
def test_offsets_are_added_to_positions_relative_to_begin(
    engine: Engine, vector_dtype: torch.dtype
) -> None:
    x = rows(engine, [[1, 5, 3, 4]] * 3, engine.dtypes[0])
    begin = vector(engine, [0, 1, 2])
    offset = vector(engine, [100, -10, 0], vector_dtype)
    got = indices_of(engine, x, 3, begin=begin, index_offset=offset)
    assert got == [[101, 103, 102], [-10, -8, -9], [1, 0, -1]]


def test_offsets_are_64_bit_and_then_cut(engine: Engine) -> None:
    x = rows(engine, [[0, 9]] * 5, engine.dtypes[0])
    offsets = [MAX_INT32, MAX_INT64, MIN_INT64, 2**32, 5 * 2**32 - 3]
    offset = vector(engine, offsets, torch.int64)
    wide = indices_of(engine, x, 1, index_offset=offset, index_dtype=torch.int64)
    assert wide == [[2**31], [MIN_INT64], [MIN_INT64 + 1], [2**32 + 1], [5 * 2**32 - 2]]
    assert indices_of(engine, x, 1, index_offset=offset) == [[MIN_INT32], [0], [1], [1], [-2]]


def test_offset_of_int32_does_not_overflow_in_int64(engine: Engine) -> None:
    x = rows(engine, [[0, 9]], engine.dtypes[0])
    offset = vector(engine, [MAX_INT32])
    got = indices_of(engine, x, 1, index_offset=offset, index_dtype=torch.int64)
    assert got == [[2**31]]


def test_pads_are_not_offset(engine: Engine) -> None:
    x = rows(engine, [[4]], engine.dtypes[0])
    assert indices_of(engine, x, 2, index_offset=vector(engine, [50]), pad_index=-3) == [[50, -3]]


def test_page_table(engine: Engine) -> None:
    x = rows(engine, [[1, 8, 2, 7, 3, 6], [6, 3, 7, 2, 8, 1]], engine.dtypes[0])
    table = vector(engine, [[10, 20, 30], [5, 4, 3]])
    got = indices_of(engine, x, 3, page_table=table, page_size=2)
    assert got == [[21, 41, 61], [6, 8, 10]]
    assert indices_of(engine, x[:, :3], 3, page_table=table) == [[20, 30, 10], [3, 5, 4]]


def test_pages_count_from_begin_of_the_window(engine: Engine) -> None:
    x = rows(engine, [[0, 8, 2, 7, 3, 6]], engine.dtypes[0])
    table = vector(engine, [[10, 20, 30]])
    got = indices_of(engine, x, 2, page_table=table, page_size=2, begin=vector(engine, [1]))
    assert got == [[20, 40]]


def test_page_table_row(engine: Engine) -> None:
    x = rows(engine, [[1, 2]] * 5, engine.dtypes[0])
    table = vector(engine, [[100, 200], [300, 400]])
    row = vector(engine, [1, 0, 2, -1, MIN_INT32])
    got = indices_of(engine, x, 2, page_table=table, page_table_row=row)
    assert got == [[400, 300], [200, 100], [-1, -1], [-1, -1], [-1, -1]]


def test_page_table_begin(engine: Engine) -> None:
    x = rows(engine, [[3, 4, 2, 1]] * 6, engine.dtypes[0])
    table = vector(engine, [[7, 8, 9]] * 6)
    first = vector(engine, [0, 1, 2, 3, 4, -1])
    got = indices_of(engine, x, 3, page_table=table, page_table_begin=first)
    # The window ends where the table does: after 3, 2, 1 and 0 columns.
    assert got == [[8, 7, 9], [9, 8, -1], [9, -1, -1], [-1] * 3, [-1] * 3, [-1] * 3]
    got = indices_of(engine, x, 2, page_table=table, page_table_begin=first, page_size=2)
    assert got[:4] == [[15, 14], [17, 16], [19, 18], [-1, -1]]


def test_a_short_table_ends_the_window(engine: Engine) -> None:
    x = rows(engine, [[1, 2, 3, 4, 5]] * 2, engine.dtypes[0])
    table = vector(engine, [[50, 60]] * 2)
    begin = vector(engine, [0, 2])
    got = indices_of(engine, x, 3, page_table=table, page_size=2, begin=begin, pad_index=-9)
    assert got == [[121, 120, 101], [120, 101, 100]]
    got = indices_of(engine, x, 3, page_table=table, begin=begin, pad_index=-9)
    assert got == [[60, 50, -9], [60, 50, -9]]


@pytest.mark.parametrize(("tables", "pages"), [(2, 0), (0, 3), (0, 0)])
def test_an_empty_table_covers_nothing(engine: Engine, tables: int, pages: int) -> None:
    x = rows(engine, [[1, 2]] * 2, engine.dtypes[0])
    table = torch.zeros(tables, pages, dtype=torch.int32, device=engine.device)
    row = vector(engine, [0, 1])
    got = indices_of(engine, x, 2, page_table=table, page_table_row=row)
    assert got == [[-1, -1], [-1, -1]]


def test_table_entries_are_not_interpreted(engine: Engine) -> None:
    x = rows(engine, [[4, 3, 2, 1]], engine.dtypes[0])
    table = vector(engine, [[-1, MIN_INT32, MAX_INT32, 0]])
    wide = indices_of(engine, x, 4, page_table=table, index_dtype=torch.int64)
    assert wide == [[-1, MIN_INT32, MAX_INT32, 0]]
    table = table[:, :2]
    size = 2**30
    wide = indices_of(engine, x, 4, page_table=table, page_size=size, index_dtype=torch.int64)
    assert wide == [[-size, -size + 1, -size + 2, -size + 3]]
    first = vector(engine, [1])
    wide = indices_of(
        engine,
        x,
        2,
        page_table=table,
        page_size=size,
        page_table_begin=first,
        index_dtype=torch.int64,
    )
    assert wide == [[MIN_INT32 * size, MIN_INT32 * size + 1]]


def test_page_tables_of_any_strides(engine: Engine) -> None:
    x = rows(engine, [[1, 2, 3]] * 2, engine.dtypes[0])
    table = vector(engine, [[1, 2], [3, 4], [5, 6]])
    assert indices_of(engine, x, 3, page_table=table.t()) == [[5, 3, 1], [6, 4, 2]]
    assert indices_of(engine, x, 2, page_table=table[::2]) == [[2, 1], [6, 5]]
    shared = table[:1].expand(2, 2)
    assert indices_of(engine, x, 2, page_table=shared) == [[2, 1], [2, 1]]


def test_pads_are_not_mapped(engine: Engine) -> None:
    x = rows(engine, [[1, 2]], engine.dtypes[0])
    table = vector(engine, [[10, 20, 30]])
    got = indices_of(engine, x, 4, page_table=table, pad_index=1)
    assert got == [[20, 10, 1, 1]]


def test_raw_indices_stand_in_the_same_places(engine: Engine) -> None:
    x = rows(engine, [[1, 5, 3, 4]] * 2, engine.dtypes[0])
    begin = vector(engine, [1, 3])
    offset = vector(engine, [100, 200])
    for order, expected in (
        ("value", [[0, 2, 1], [0, -4, -4]]),
        ("index", [[0, 1, 2], [0, -4, -4]]),
    ):
        arguments = {"begin": begin, "order": order, "pad_index": -4}
        raw = engine.raw_indices(x, 3, index_offset=offset, **arguments)
        assert raw.dtype == torch.int32
        assert raw.tolist() == expected
        table = vector(engine, [[9, 8, 7, 6]] * 2)
        raw = engine.raw_indices(x, 3, page_table=table, **arguments)
        assert raw.tolist() == expected


# ---- Order of the results ----------------------------------------------------------------------


def test_orders(engine: Engine) -> None:
    x = rows(engine, [[2, 9, 2, 5, 9]], engine.dtypes[0])
    assert indices_of(engine, x, 4, order="value") == [[1, 4, 3, 0]]
    assert indices_of(engine, x, 4, order="index") == [[0, 1, 3, 4]]
    assert sorted(indices_of(engine, x, 4, order="any")[0]) == [0, 1, 3, 4]
    assert values_of(engine, x, 4, order="value") == [[9, 9, 5, 2]]
    assert values_of(engine, x, 4, order="index") == [[2, 9, 5, 9]]


def test_index_order_is_by_position_before_any_mapping(engine: Engine) -> None:
    x = rows(engine, [[7, 8, 9, 1]], engine.dtypes[0])
    table = vector(engine, [[30, 20, 10, 0]])
    assert indices_of(engine, x, 3, order="index", page_table=table) == [[30, 20, 10]]


def test_values_stand_beside_their_indices_in_any_order(engine: Engine) -> None:
    x = rows(engine, [[float(i * 37 % 101) for i in range(101)]] * 2, engine.dtypes[0])
    values, indices = engine.topk(x, 40, order="any")
    assert values is not None
    assert torch.equal(values, x.gather(1, indices.long()))
    assert sorted(values[1].tolist()) == list(range(61, 101))


# ---- The front and the op ----------------------------------------------------------------------


def test_the_op_alone_is_a_complete_call() -> None:
    x = torch.tensor([[1.0, 3.0, 2.0]])
    values, indices = torch.ops.deepselect.topk(x, 2)
    assert sorted(zip(values[0].tolist(), indices[0].tolist(), strict=True)) == [(2, 2), (3, 1)]
    values, indices = torch.ops.deepselect.topk(x, 2, return_values=False)
    assert values.shape == (0,)
    assert values.dtype == torch.float32
    assert sorted(indices[0].tolist()) == [1, 2]


def test_the_front_returns_a_named_tuple() -> None:
    result = deepselect.topk(torch.tensor([1.0, 2.0]), 1)
    assert result._fields == ("values", "indices")
    assert isinstance(result, deepselect.TopK)


def test_out_takes_views_and_returns_them() -> None:
    x = torch.tensor([[1.0, 3.0, 2.0], [6.0, 5.0, 4.0]])
    values = torch.zeros(2, 5)
    indices = torch.zeros(2, 7, dtype=torch.int64)
    result = deepselect.topk(x, 2, order="value", out=(values[:, 1:3], indices[:, 2:4]))
    assert values.tolist() == [[0, 3, 2, 0, 0], [0, 6, 5, 0, 0]]
    assert indices.tolist() == [[0, 0, 1, 2, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0]]
    assert result.indices.data_ptr() == indices[:, 2:].data_ptr()
    result = deepselect.topk(x, 1, out=(None, indices[:, :1]))
    assert result.values is None
    assert indices[:, 0].tolist() == [1, 0]


def test_empty_rows_are_aligned_for_every_backend() -> None:
    alignment = deepselect.contract.row_alignment_bytes()
    for dtype in (BF16, FP16, FP32, INT32):
        for shape in ((5,), (3, 7), (2, 3, 17), (4, 0), (0, 9)):
            x = deepselect.empty_rows(shape, dtype)
            assert (x.shape, x.dtype) == (shape, dtype)
            if x.numel() > 0:
                assert x.data_ptr() % alignment == 0
                assert all(s * dtype.itemsize % alignment == 0 for s in x.stride()[:-1])
            assert deepselect.topk(x.zero_(), 1)[1].shape == (*shape[:-1], 1)
