"""docs/contract.md sentence by sentence, with answers written out by hand: what is selected.

Every test runs on the reference and on every backend, with tiny inputs. Rows are allocated by
``empty_rows``, so that backends with aligned rows take part.
"""

from __future__ import annotations

import pytest
import torch

from by_hand import (
    BF16,
    FP16,
    FP32,
    INF,
    INT32,
    MAX_INT32,
    MAX_INT64,
    MIN_INT32,
    MIN_INT64,
    NAN,
    QUIET_NAN,
    bit_rows,
    indices_of,
    patterns,
    rows,
    values_of,
    vector,
)
from conftest import Engine

# ---- Shapes ------------------------------------------------------------------------------------


def test_one_dimension(engine: Engine) -> None:
    x = rows(engine, [3, 1, 4, 1, 5], engine.dtypes[0])
    values, indices = engine.topk(x, 2, order="value")
    assert values is not None
    assert (values.shape, indices.shape) == ((2,), (2,))
    assert (values.tolist(), indices.tolist()) == ([5, 4], [4, 2])


def test_two_dimensions_in_every_dtype(engine: Engine) -> None:
    for dtype in engine.dtypes:
        x = rows(engine, [[3, 1, 4], [2, 7, 1]], dtype)
        values, indices = engine.topk(x, 2, order="value")
        assert values is not None
        assert values.dtype == dtype
        assert (values.tolist(), indices.tolist()) == ([[4, 3], [7, 2]], [[2, 0], [1, 0]])


def test_leading_dimensions_stay(engine: Engine) -> None:
    x = rows(engine, [[[[1, 2], [4, 3]]], [[[5, 6], [8, 7]]], [[[9, 0], [0, 9]]]], engine.dtypes[0])
    assert x.shape == (3, 1, 2, 2)
    values, indices = engine.topk(x, 1)
    assert values is not None
    assert (values.shape, indices.shape) == ((3, 1, 2, 1), (3, 1, 2, 1))
    assert indices.flatten().tolist() == [1, 0, 1, 0, 0, 1]


def test_per_row_vectors_run_over_the_product_of_leading_dimensions(engine: Engine) -> None:
    x = rows(engine, [[[9, 1, 5]] * 2] * 2, engine.dtypes[0])
    begin = vector(engine, [0, 1, 2, 3])
    assert indices_of(engine, x, 1, begin=begin) == [[[0], [1]], [[0], [-1]]]


def test_index_dtype_is_int32_unless_asked(engine: Engine) -> None:
    x = rows(engine, [[1, 2]], engine.dtypes[0])
    assert engine.topk(x, 1)[1].dtype == torch.int32
    assert engine.topk(x, 1, index_dtype=torch.int32)[1].dtype == torch.int32
    assert engine.topk(x, 1, index_dtype=torch.int64)[1].dtype == torch.int64


def test_values_are_none_where_not_wanted(engine: Engine) -> None:
    x = rows(engine, [[1, 2]], engine.dtypes[0])
    values, indices = engine.topk(x, 1, return_values=False)
    assert values is None
    assert indices.tolist() == [[1]]


def test_last_stride_is_free_for_one_column(engine: Engine) -> None:
    x = rows(engine, [[7, 1], [8, 2]], engine.dtypes[0])
    single = x.as_strided((2, 1), (x.stride(0), 5))
    assert indices_of(engine, single, 1) == [[0], [0]]
    assert values_of(engine, single, 1) == [[7], [8]]


def test_rows_with_gaps_and_rows_that_are_one(engine: Engine) -> None:
    x = rows(engine, [[1, 9, 2], [8, 0, 0], [3, 4, 7]], engine.dtypes[0])
    assert indices_of(engine, x[::2], 1) == [[1], [2]]
    assert indices_of(engine, x[2].expand(4, 3), 1) == [[2]] * 4
    assert indices_of(engine, x[:2, None].expand(2, 1, 3), 1) == [[[1]], [[0]]]


def test_unit_dimensions_may_have_any_stride(engine: Engine) -> None:
    x = rows(engine, [[1, 9, 2], [8, 0, 0]], engine.dtypes[0])
    odd = x.as_strided((1, 2, 1, 3), (77, x.stride(0), 13, 1))
    assert indices_of(engine, odd, 1) == [[[[1]], [[0]]]]


def test_vectors_of_any_stride(engine: Engine) -> None:
    x = rows(engine, [[9, 1, 5, 7]] * 3, engine.dtypes[0])
    begin = vector(engine, [0, 50, 1, 50, 2, 50])[::2]
    end = vector(engine, [3]).expand(3)
    assert indices_of(engine, x, 1, begin=begin, end=end) == [[0], [1], [0]]


# ---- Windows -----------------------------------------------------------------------------------

WINDOWS = [
    # begin, end, positions of the window in a row of four
    (0, 4, [0, 1, 2, 3]),
    (1, 3, [1, 2]),
    (-5, 2, [0, 1]),
    (-5, -1, []),
    (2, 2, []),
    (3, 1, []),
    (3, 4, [3]),
    (4, 4, []),
    (2, 5, [2, 3]),
    (4, 9, []),
    (7, 9, []),
    (9, 7, []),
    (MIN_INT32, MAX_INT32, [0, 1, 2, 3]),
    (MAX_INT32, MIN_INT32, []),
]


@pytest.mark.parametrize("vector_dtype", [torch.int32, torch.int64])
def test_windows_are_clamped(engine: Engine, vector_dtype: torch.dtype) -> None:
    x = rows(engine, [[1, 2, 3, 4]] * len(WINDOWS), engine.dtypes[0])
    begin = vector(engine, [window[0] for window in WINDOWS], vector_dtype)
    end = vector(engine, [window[1] for window in WINDOWS], vector_dtype)
    # Values ascend, so the best are the last; indices are relative to the clamped begin.
    expected = []
    for _, _, positions in WINDOWS:
        relative = [position - positions[0] for position in positions]
        expected.append((relative[::-1] + [-1] * 4)[:4])
    assert indices_of(engine, x, 4, begin=begin, end=end) == expected
    assert indices_of(engine, x, 2, begin=begin, end=end) == [row[:2] for row in expected]


def test_window_bounds_of_the_whole_int64_range(engine: Engine) -> None:
    x = rows(engine, [[1, 2]] * 4, engine.dtypes[0])
    begin = vector(engine, [MIN_INT64, MAX_INT64, 2**32, -(2**32) + 1], torch.int64)
    end = vector(engine, [MAX_INT64, MIN_INT64, 2**33, 2**32], torch.int64)
    assert indices_of(engine, x, 1, begin=begin, end=end) == [[1], [-1], [-1], [1]]


def test_one_bound_alone(engine: Engine) -> None:
    x = rows(engine, [[5, 1, 3]] * 2, engine.dtypes[0])
    bound = vector(engine, [1, 2])
    assert indices_of(engine, x, 2, begin=bound) == [[1, 0], [0, -1]]
    assert indices_of(engine, x, 2, end=bound) == [[0, -1], [0, 1]]


def test_outside_of_the_window_has_no_influence(engine: Engine) -> None:
    begin, end = vector(engine, [1]), vector(engine, [4])
    for dtype in engine.float_dtypes:
        for bad in (NAN, -NAN, INF, -INF):
            x = rows(engine, [[bad, 1, 3, 2, bad]], dtype)
            for nan in ("largest", "smallest", "poison"):
                for largest, expected in ((True, [1, 2, 0]), (False, [0, 2, 1])):
                    got = indices_of(engine, x, 3, begin=begin, end=end, nan=nan, largest=largest)
                    assert got == [expected]


# ---- Order of elements -------------------------------------------------------------------------


@pytest.mark.parametrize("largest", [True, False])
def test_lower_position_wins_among_equals(engine: Engine, largest: bool) -> None:
    for dtype in engine.dtypes:
        x = rows(engine, [[5, 5, 5, 5, 5]], dtype)
        for order in ("any", "value", "index"):
            got = indices_of(engine, x, 3, order=order, largest=largest)
            assert sorted(got[0]) == [0, 1, 2]
            assert order == "any" or got == [[0, 1, 2]]


def test_ties_at_the_boundary(engine: Engine) -> None:
    for dtype in engine.dtypes:
        x = rows(engine, [[2, 1, 2, 3, 2, 1, 2]], dtype)
        assert indices_of(engine, x, 3) == [[3, 0, 2]]
        assert indices_of(engine, x, 3, order="index") == [[0, 2, 3]]
        assert indices_of(engine, x, 3, largest=False) == [[1, 5, 0]]
        assert indices_of(engine, x, 3, largest=False, order="index") == [[0, 1, 5]]


@pytest.mark.parametrize("largest", [True, False])
def test_zeros_of_both_signs_are_equal_and_keep_their_bits(engine: Engine, largest: bool) -> None:
    for dtype in engine.float_dtypes:
        minus_zero = 1 << (8 * dtype.itemsize - 1)
        x = bit_rows(
            engine, [[minus_zero, 0, minus_zero, 0], [0, minus_zero, 0, minus_zero]], dtype
        )
        values, indices = engine.topk(x, 3, order="value", largest=largest)
        assert values is not None
        assert indices.tolist() == [[0, 1, 2], [0, 1, 2]]
        assert patterns(values) == [[minus_zero, 0, minus_zero], [0, minus_zero, 0]]


def test_zero_lies_between_the_least_subnormals(engine: Engine) -> None:
    for dtype in engine.float_dtypes:
        sign = 1 << (8 * dtype.itemsize - 1)
        x = bit_rows(engine, [[sign | 1, sign, 0, 1, sign | 2, 2]], dtype)
        assert indices_of(engine, x, 6) == [[5, 3, 1, 2, 0, 4]]
        assert indices_of(engine, x, 6, largest=False) == [[4, 0, 1, 2, 3, 5]]


def test_int32_uses_its_whole_range(engine: Engine) -> None:
    if INT32 not in engine.dtypes:
        pytest.skip(f"{engine.name} takes no int32")
    x = rows(engine, [[0, MIN_INT32, -1, MAX_INT32, 1, MIN_INT32, MAX_INT32]], INT32)
    assert indices_of(engine, x, 7) == [[3, 6, 4, 0, 2, 1, 5]]
    assert indices_of(engine, x, 7, largest=False) == [[1, 5, 2, 0, 4, 3, 6]]


def test_float32_keeps_integers_beyond_its_precision_apart_in_int32(engine: Engine) -> None:
    if INT32 not in engine.dtypes:
        pytest.skip(f"{engine.name} takes no int32")
    x = rows(engine, [[2**24, 2**24 + 1, 2**30, 2**30 + 1]], INT32)
    assert indices_of(engine, x, 4) == [[3, 2, 1, 0]]


# ---- NaN ---------------------------------------------------------------------------------------

NAN_ORDERS = [
    # nan rule, largest, order of [1, nan, inf, -nan, -inf, -1]
    ("largest", True, [1, 3, 2, 0, 5, 4]),
    ("largest", False, [4, 5, 0, 2, 1, 3]),
    ("smallest", True, [2, 0, 5, 4, 1, 3]),
    ("smallest", False, [1, 3, 4, 5, 0, 2]),
]


@pytest.mark.parametrize(("nan", "largest", "expected"), NAN_ORDERS)
def test_rank_of_nan(engine: Engine, nan: str, largest: bool, expected: list[int]) -> None:
    for dtype in engine.float_dtypes:
        x = rows(engine, [[1, NAN, INF, -NAN, -INF, -1]], dtype)
        for k in range(7):
            assert indices_of(engine, x, k, nan=nan, largest=largest) == [expected[:k]]


@pytest.mark.parametrize(("nan", "largest"), [("largest", True), ("smallest", False)])
def test_nans_of_every_kind_are_equal_and_keep_their_bits(
    engine: Engine, nan: str, largest: bool
) -> None:
    for dtype in engine.float_dtypes:
        infinity = {BF16: 0x7F80, FP16: 0x7C00, FP32: 0x7F800000}[dtype]
        sign = 1 << (8 * dtype.itemsize - 1)
        # Signalling and quiet, least and greatest payload, both signs.
        nans = [infinity + 1, sign - 1, sign | (infinity + 1), 2 * sign - 1, QUIET_NAN[dtype]]
        x = bit_rows(engine, [[0, *nans, infinity]], dtype)
        values, indices = engine.topk(x, 5, order="value", nan=nan, largest=largest)
        assert values is not None
        assert indices.tolist() == [[1, 2, 3, 4, 5]]
        assert patterns(values) == [nans]


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("order", ["any", "value", "index"])
def test_poison(engine: Engine, largest: bool, order: str) -> None:
    end = vector(engine, [3, 3, 2, 0])
    for dtype in engine.float_dtypes:
        x = rows(engine, [[1, NAN, 2, 5], [1, 2, 3, NAN], [4, 4, NAN, 1], [NAN, 1, 2, 3]], dtype)
        values, indices = engine.topk(
            x, 3, end=end, nan="poison", largest=largest, order=order, pad_index=-7, pad_value=0.5
        )
        assert values is not None
        canonical = QUIET_NAN[dtype]
        pad = patterns(torch.tensor(0.5, dtype=dtype))
        assert patterns(values)[0] == [canonical] * 3
        assert patterns(values)[2][2] == pad
        assert patterns(values)[3] == [pad] * 3
        assert indices[0].tolist() == [-7] * 3
        assert sorted(indices[1].tolist()) == [0, 1, 2]
        assert (sorted(indices[2, :2].tolist()), indices[2, 2].item()) == ([0, 1], -7)
        assert indices[3].tolist() == [-7] * 3


def test_poison_fills_places_beyond_the_window_too(engine: Engine) -> None:
    x = rows(engine, [[NAN]], engine.float_dtypes[0])
    values, indices = engine.topk(x, 3, nan="poison")
    assert values is not None
    assert patterns(values) == [[QUIET_NAN[x.dtype]] * 3]
    assert indices.tolist() == [[-1] * 3]


def test_poison_means_nothing_to_integers(engine: Engine) -> None:
    if INT32 not in engine.dtypes:
        pytest.skip(f"{engine.name} takes no int32")
    x = rows(engine, [[0x7FC00000, -1, 3]], INT32)  # patterns that are NaN as floats
    assert indices_of(engine, x, 3, nan="poison") == [[0, 2, 1]]


# ---- k, pads -----------------------------------------------------------------------------------


def test_k_beyond_the_row(engine: Engine) -> None:
    for dtype in engine.float_dtypes:
        x = rows(engine, [[1, 3, 2]], dtype)
        assert indices_of(engine, x, 5) == [[1, 2, 0, -1, -1]]
        assert values_of(engine, x, 5) == [[3, 2, 1, -INF, -INF]]
        assert values_of(engine, x, 5, largest=False) == [[1, 2, 3, INF, INF]]


@pytest.mark.parametrize("order", ["any", "value", "index"])
def test_pads_come_last_in_every_order(engine: Engine, order: str) -> None:
    x = rows(engine, [[1, 3, 2, 9]], engine.dtypes[0])
    got = indices_of(engine, x, 5, end=vector(engine, [3]), order=order, pad_index=0)
    assert sorted(got[0][:3]) == [0, 1, 2]
    assert got[0][3:] == [0, 0]


def test_pads_of_int32(engine: Engine) -> None:
    if INT32 not in engine.dtypes:
        pytest.skip(f"{engine.name} takes no int32")
    x = rows(engine, [[7]], INT32)
    assert values_of(engine, x, 2) == [[7, MIN_INT32]]
    assert values_of(engine, x, 2, largest=False) == [[7, MAX_INT32]]
    for pad in (3.0, -0.0, float(MIN_INT32), float(MAX_INT32)):
        assert values_of(engine, x, 2, pad_value=pad) == [[7, int(pad)]]


def test_pad_values_round_as_torch_full_does(engine: Engine) -> None:
    pads = [0.1, 1 / 3, -0.0, 1e-50, 65519.0, 65520.0, 1e-7, 3.4e38, NAN, INF, -INF, 2.0**-149]
    for dtype in engine.float_dtypes:
        x = rows(engine, [[1]], dtype)
        for pad in pads:
            values = engine.topk(x, 2, pad_value=pad)[0]
            assert values is not None
            assert patterns(values)[0][1] == patterns(torch.full((), pad, dtype=dtype))


def test_pad_index(engine: Engine) -> None:
    x = rows(engine, [[1]], engine.dtypes[0])
    for pad in (0, 5, MIN_INT32, MAX_INT32):
        assert indices_of(engine, x, 2, pad_index=pad) == [[0, pad]]
    for pad in (MIN_INT64, MAX_INT64, 2**32):
        got = indices_of(engine, x, 2, pad_index=pad, index_dtype=torch.int64)
        assert got == [[0, pad]]


def test_empty_outputs_and_all_pads(engine: Engine) -> None:
    dtype = engine.float_dtypes[0]
    x = rows(engine, [[1, 2, 3], [4, 5, 6]], dtype)
    assert engine.topk(x, 0)[1].shape == (2, 0)
    assert engine.topk(x[:0], 2)[1].shape == (0, 2)
    assert engine.topk(x[:0], 0)[1].shape == (0, 0)
    assert engine.topk(x[:, :0], 0)[1].shape == (2, 0)
    assert indices_of(engine, x[:, :0], 2) == [[-1, -1], [-1, -1]]
    assert values_of(engine, x[:, :0], 1) == [[-INF], [-INF]]
    assert indices_of(engine, x[0, :0], 2) == [-1, -1]
    assert engine.topk(x[:, None][:, :0], 2)[1].shape == (2, 0, 2)
