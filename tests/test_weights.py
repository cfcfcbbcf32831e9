"""Weights and bias: their own case table on every backend and variant, then docs/contract.md
sentence by sentence with answers written out by hand.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import pytest
import torch
from torch import Tensor

import deepselect
from biases import WEIGHTS
from by_hand import (
    BF16,
    FP32,
    INF,
    NAN,
    QUIET_NAN,
    indices_of,
    patterns,
    rows,
    values_of,
    vector,
)
from cases import Case
from checking import check_call, check_refused, refusal
from conftest import Engine
from deepselect import reference, testing

KINDS = [kind for kind in WEIGHTS if kind != "none"]


@lru_cache(maxsize=1)
def _expected(case: Case) -> reference.Selection:
    call = case.build()
    return reference.select(call.input, call.k, **call.arguments)


def test_case(weighted_case: Case, backend: testing.Backend, variant: str | None) -> None:
    case = weighted_case
    call = case.build(backend.device, alignment_bytes=backend.limits.row_alignment_bytes)
    if error := refusal(case, backend):
        if variant is None:
            check_refused(call, error, deepselect.topk)
        return
    check_call(call, _expected(case), backend, variant, case.outputs)


@pytest.fixture
def weighing(engine: Engine) -> Engine:
    if engine.name != "reference" and not deepselect.contract.limits(engine.name).has_weights:
        pytest.skip(f"{engine.name} serves no weights")
    return engine


def weights_of(engine: Engine, x: Tensor, k: int, kind: str, **arguments: Any) -> Tensor:
    values, _ = engine.topk(x, k, weights=kind, **{"order": "value", **arguments})
    assert values is not None
    assert values.dtype == FP32
    return values.cpu()


# ---- Weights -----------------------------------------------------------------------------------


def test_formulas(weighing: Engine) -> None:
    scores = [1.0, -2.0, 0.5, 3.0]
    exp = [math.exp(score) for score in scores]
    sigmoid = [1 / (1 + math.exp(-score)) for score in scores]
    expected = {
        "softmax": [exp[3] / sum(exp), exp[0] / sum(exp)],
        "softmax_selected": [exp[3] / (exp[3] + exp[0]), exp[0] / (exp[3] + exp[0])],
        "sigmoid": [sigmoid[3], sigmoid[0]],
        "sigmoid_selected": [
            sigmoid[3] / (sigmoid[3] + sigmoid[0]),
            sigmoid[0] / (sigmoid[3] + sigmoid[0]),
        ],
    }
    for dtype in weighing.float_dtypes:
        x = rows(weighing, [scores], dtype)
        for kind in KINDS:
            testing.assert_same_weights(
                weights_of(weighing, x, 2, kind), torch.tensor([expected[kind]])
            )


def test_softmax_is_over_the_window(weighing: Engine) -> None:
    x = rows(weighing, [[NAN, 0.0, 0.0, 0.0, 0.0, INF]], FP32)
    window = {"begin": vector(weighing, [1]), "end": vector(weighing, [5])}
    assert weights_of(weighing, x, 2, "softmax", **window).tolist() == [[0.25, 0.25]]
    assert weights_of(weighing, x, 2, "softmax_selected", **window).tolist() == [[0.5, 0.5]]


def test_direction_chooses_elements_and_not_weights(weighing: Engine) -> None:
    x = rows(weighing, [[0.0, math.log(3.0)]], FP32)
    got = weights_of(weighing, x, 1, "softmax", largest=False)
    testing.assert_same_weights(got, torch.tensor([[0.25]]))


def test_large_and_small_scores_do_not_overflow(weighing: Engine) -> None:
    for big in (100.0, 1e4, 3e38):
        x = rows(weighing, [[big, big, -big], [-big, -big, -3.4e38]], FP32)
        for kind in ("softmax", "softmax_selected"):
            assert weights_of(weighing, x, 2, kind).tolist() == [[0.5, 0.5]] * 2
        assert weights_of(weighing, x, 2, "sigmoid_selected").tolist() == [[0.5, 0.5]] * 2
        sigmoid = weights_of(weighing, x, 2, "sigmoid")
        testing.assert_same_weights(sigmoid, torch.tensor([[1.0, 1.0], [0.0, 0.0]]))


def test_differences_are_not_rounded_away(weighing: Engine) -> None:
    """exp(-80.7) of float32 scores whose difference is no float32."""
    scores = torch.tensor([[16.000001907, -64.7000007629]])
    exact = (scores.double() - scores.double().logsumexp(1)).exp().float()
    x = rows(weighing, scores.tolist(), FP32)
    testing.assert_same_weights(weights_of(weighing, x, 2, "softmax"), exact)


def test_sigmoid_has_the_same_bits_everywhere(weighing: Engine) -> None:
    every = torch.arange(2**16, dtype=torch.int32).to(torch.int16).view(BF16)
    every = torch.where(every.isnan(), 0, every).reshape(-1, 256)
    x = deepselect.empty_rows(every.shape, BF16, weighing.device).copy_(every)
    got, at = weighing.topk(x, 256, weights="sigmoid", order="index")
    assert got is not None
    assert at[0].tolist() == list(range(256))
    wanted = reference.sigmoid(every.float())
    if weighing.name != "reference":  # which answers from float64
        testing.assert_same_bits(got.cpu(), wanted)
    testing.assert_same_weights(wanted, every.double().sigmoid().float())


@pytest.mark.parametrize("order", ["value", "index"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_run_has_the_same_bits(kind: str, order: str, weighing: Engine) -> None:
    for cols, k in ((64, 6), (3000, 100), (40_000, 700)):
        x = torch.randn(33, cols, generator=torch.Generator().manual_seed(1)).to(weighing.device)
        first = weights_of(weighing, x, k, kind, order=order)
        for _ in range(3):
            testing.assert_same_bits(weights_of(weighing, x, k, kind, order=order), first)


# Scores, kind, weights of the best two.
SPECIAL: list[tuple[list[float], str, list[float]]] = [
    ([NAN, 1.0, 0.0], "softmax", [NAN, NAN]),
    ([NAN, 1.0, 0.0], "softmax_selected", [NAN, NAN]),
    ([NAN, 1.0, 0.0], "sigmoid_selected", [NAN, NAN]),
    ([NAN, 0.0, -1.0], "sigmoid", [NAN, 0.5]),
    ([INF, 1.0, 0.0], "softmax", [NAN, NAN]),
    ([INF, 1.0, 0.0], "softmax_selected", [NAN, NAN]),
    ([INF, INF, 0.0], "sigmoid_selected", [0.5, 0.5]),
    ([INF, 0.0, -1.0], "sigmoid", [1.0, 0.5]),
    ([0.0, 0.0, -INF], "softmax", [0.5, 0.5]),
    ([0.0, -INF, -INF], "softmax_selected", [1.0, 0.0]),
    ([0.0, -INF, -INF], "sigmoid_selected", [1.0, 0.0]),
    ([0.0, -INF, -INF], "sigmoid", [0.5, 0.0]),
    ([-INF, -INF, -INF], "softmax", [NAN, NAN]),
    ([-INF, -INF, -INF], "softmax_selected", [NAN, NAN]),
    ([-INF, -INF, -INF], "sigmoid_selected", [NAN, NAN]),
    ([-INF, -INF, -INF], "sigmoid", [0.0, 0.0]),
]


@pytest.mark.parametrize(("scores", "kind", "expected"), SPECIAL)
def test_infinities_and_nans(
    scores: list[float], kind: str, expected: list[float], weighing: Engine
) -> None:
    for dtype in weighing.float_dtypes:
        got = weights_of(weighing, rows(weighing, [scores], dtype), 2, kind)
        testing.assert_same_weights(got, torch.tensor([expected]))
        nans = [bits for bits in patterns(got)[0] if bits > 0x7F800000]
        assert set(nans) <= {QUIET_NAN[FP32]}


def test_a_nan_outside_the_selection_reaches_the_softmax_of_the_window_alone(
    weighing: Engine,
) -> None:
    x = rows(weighing, [[NAN, 1.0, 1.0]], FP32)
    got = {kind: weights_of(weighing, x, 2, kind, nan="smallest") for kind in KINDS}
    assert got["softmax"].isnan().all()
    assert got["softmax_selected"].tolist() == [[0.5, 0.5]]
    assert got["sigmoid_selected"].tolist() == [[0.5, 0.5]]


def test_pads_weigh_nothing_unless_told(weighing: Engine) -> None:
    x = rows(weighing, [[0.0, 0.0, 9.0]] * 2, FP32)
    end = vector(weighing, [2, 0])
    for kind in KINDS:
        got = weights_of(weighing, x, 3, kind, end=end)
        assert got.tolist() == [[0.5, 0.5, 0.0], [0.0] * 3]
        got = weights_of(weighing, x, 3, kind, end=end, pad_value=-2.5)
        assert got.tolist() == [[0.5, 0.5, -2.5], [-2.5] * 3]


def test_a_poisoned_row_has_nan_weights(weighing: Engine) -> None:
    x = rows(weighing, [[0.0, NAN], [INF, 0.0], [0.0, 0.0]], FP32)
    for kind in KINDS:
        weights, indices = weighing.topk(x, 1, weights=kind, nan="poison", order="value")
        assert weights is not None
        assert indices.tolist() == [[-1], [0], [0]]
        assert patterns(weights)[0] == [QUIET_NAN[FP32]]
        assert weights[1].isnan().item() == kind.startswith("softmax")


# ---- Bias --------------------------------------------------------------------------------------


def bias_of(engine: Engine, data: list[float]) -> Tensor:
    return torch.tensor(data, dtype=FP32, device=engine.device)


def test_bias_chooses_and_is_not_returned(weighing: Engine) -> None:
    bias = bias_of(weighing, [0.0, 3.0, 0.0])
    for dtype in weighing.float_dtypes:
        x = rows(weighing, [[2.0, 1.0, 0.0]], dtype)
        assert indices_of(weighing, x, 3, bias=bias) == [[1, 0, 2]]
        assert values_of(weighing, x, 3, bias=bias) == [[1.0, 2.0, 0.0]]
        assert indices_of(weighing, x, 2, bias=bias, largest=False) == [[2, 0]]


def test_bias_is_of_columns_whatever_the_window(weighing: Engine) -> None:
    x = rows(weighing, [[0.0] * 4] * 2, FP32)
    bias = bias_of(weighing, [0.0, 1.0, 2.0, 1.5])
    begin = vector(weighing, [1, 3])
    assert indices_of(weighing, x, 3, bias=bias, begin=begin) == [[1, 2, 0], [0, -1, -1]]


def test_biased_ties_go_to_the_lower_position(weighing: Engine) -> None:
    x = rows(weighing, [[1.0, 0.5, 0.0]], FP32)
    bias = bias_of(weighing, [0.0, 0.5, 1.0])
    assert indices_of(weighing, x, 3, bias=bias) == [[0, 1, 2]]
    # 2^24 + 1 is no float32: the sum rounds to even.
    x = rows(weighing, [[1.0, 0.0, 2.0]], FP32)
    bias = bias_of(weighing, [2.0**24] * 3)
    assert indices_of(weighing, x, 3, bias=bias) == [[2, 0, 1]]


def test_the_bias_of_a_sigmoid_is_added_to_the_sigmoid(weighing: Engine) -> None:
    """Scores 5 and 9 differ by 0.0066 in their sigmoids: a bias of 0.1 outweighs that."""
    x = rows(weighing, [[5.0, 9.0]], FP32)
    bias = bias_of(weighing, [0.1, 0.0])
    chosen = {kind: weighing.topk(x, 1, weights=kind, bias=bias)[1].tolist() for kind in WEIGHTS}
    assert chosen == {kind: [[0 if kind.startswith("sigmoid") else 1]] for kind in WEIGHTS}
    weight = weights_of(weighing, x, 1, "sigmoid", bias=bias)
    testing.assert_same_weights(weight, torch.tensor([[1 / (1 + math.exp(-5.0))]]))


def test_nan_rules_are_of_the_sums(weighing: Engine) -> None:
    x = rows(weighing, [[INF, 1.0, 0.0]], FP32)
    bias = bias_of(weighing, [-INF, 0.0, 0.0])
    assert indices_of(weighing, x, 1, bias=bias) == [[0]]
    assert indices_of(weighing, x, 1, bias=bias, nan="smallest") == [[1]]
    assert indices_of(weighing, x, 1, bias=bias, nan="poison") == [[-1]]
    assert patterns(weighing.topk(x, 1, bias=bias, nan="poison")[0]) == [[QUIET_NAN[FP32]]]  # type: ignore[arg-type]
    # The sigmoid of +inf is 1, and 1 - inf is no NaN.
    got = weighing.topk(x, 1, bias=bias, nan="poison", weights="sigmoid")[1]
    assert got.tolist() == [[1]]


def test_bias_of_an_empty_row(weighing: Engine) -> None:
    x = rows(weighing, [[], []], FP32)
    assert indices_of(weighing, x, 2, bias=bias_of(weighing, [])) == [[-1, -1]] * 2
