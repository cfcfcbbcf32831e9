"""The benchmark's own parts: its data, its verdicts, its proof of exactness, its model."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import deepselect
from distributions import make_values

sys.path.append(str(Path(__file__).resolve().parent.parent / "tools" / "bench"))

import gating
import pass_counts
import tables
import threshold_model
import topk
from deepselect.gating import topk_gate
from harness import exact, inputs, peers, report, targets, timing
from harness.results import SCHEMA, Comparison, Measurement, Results
from harness.shapes import CLASSES, HOSTILE_SHAPES, MI, PEERS_PATH, Shape, peers_shapes, preset


def measurement(shape: Shape, **times: Any) -> Measurement:
    return Measurement(**vars(shape), **{"ours_us": 10.0, **times})


def run_of(*measurements: Measurement, backend: str = "cuda") -> Results:
    environment = {"device": "none", "torch": "", "cuda": "", "driver": "", "date": ""}
    return Results(backend, environment, "", measurements=list(measurements))


# ---- Shapes ------------------------------------------------------------------------------------


def test_peers_file_has_every_shape_once() -> None:
    shapes = peers_shapes()
    assert len(set(shapes)) == len(shapes) == 177
    times = peers.load_peers(PEERS_PATH)
    assert all(times.of(shape) is not None for shape in shapes)


def test_classes_hold_the_shapes_that_they_are_named_for() -> None:
    sizes = {name: sum(map(is_in, peers_shapes())) for name, is_in in CLASSES.items()}
    assert sizes == {
        "huge_batch": 16,
        "long_batch": 15,
        "one_row": 8,
        "short_rows": 21,
        "few_long": 18,
        "few_mid": 16,
        "sampler": 6,
    }
    assert all(preset(name, "cuda") for name in CLASSES)


def test_presets_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="must be one of smoke, targets, peers, huge_batch"):
        preset("nothing", "cuda")
    with pytest.raises(ValueError, match="must be smoke or targets"):
        preset("peers", "cpu")


def test_hostile_shapes_are_on_normal_data_until_replaced() -> None:
    assert {shape.distribution for shape in HOSTILE_SHAPES} == {"normal"}


@pytest.mark.parametrize(
    ("input_bytes", "expected"), [(1, 8), (32 * MI, 8), (64 * MI, 4), (256 * MI, 1), (2**33, 1)]
)
def test_number_of_rotated_buffers(input_bytes: int, expected: int) -> None:
    assert inputs.num_buffers(input_bytes) == expected


# ---- Verdicts ----------------------------------------------------------------------------------


def test_geometric_mean() -> None:
    assert targets.geometric_mean([1, 4, 16]) == pytest.approx(4)
    with pytest.raises(ValueError, match="must not be empty"):
        targets.geometric_mean([])


def verdict_of(results: Results, name: str, claim: str) -> targets.Verdict:
    found = [v for v in targets.judge_all(results) if (v.name, v.claim) == (name, claim)]
    assert len(found) == 1
    return found[0]


def test_a_class_is_judged_by_its_worst_shape() -> None:
    fast = Shape("indexer", "bfloat16", 256, MI, 512)
    slow = replace(fast, rows=1024)
    results = run_of(
        measurement(fast, read_floor_us=9.9),
        measurement(slow, read_floor_us=9.0),
        measurement(replace(slow, k=2048), read_floor_us=1.0),  # another target's
        measurement(replace(slow, distribution="relu"), read_floor_us=1.0),  # no normal data
    )
    verdict = verdict_of(results, "huge_batch k=512", "read floor / ours")
    assert verdict.reached == pytest.approx(0.9)
    assert (verdict.is_met, verdict.num_points, verdict.num_kept) == (False, 2, 1)
    assert verdict.worst == slow.name


def test_a_mean_is_judged_as_a_mean() -> None:
    shape = Shape("indexer", "bfloat16", 1, 4096, 512)
    results = run_of(
        measurement(shape, torch_us=20.0), measurement(replace(shape, rows=8), torch_us=160.0)
    )
    verdict = verdict_of(results, "every shape", "torch.topk / ours, mean")
    assert verdict.reached == pytest.approx((2 * 16) ** 0.5)
    assert verdict.is_met


def test_what_was_not_measured_is_neither_met_nor_missed() -> None:
    verdicts = targets.judge_all(run_of())
    assert {v.is_met for v in verdicts} == {None}
    assert "not measured" in report.verdict_table(verdicts)


def test_comparisons_are_judged_by_group() -> None:
    results = run_of()
    results.comparisons += [
        Comparison("hostile", "relu", 12.0, 10.0, "normal data"),
        Comparison("hostile", "ascending", 14.0, 10.0, "normal data"),
        Comparison("host inference_mode, other", "front", 99.0, 1.0, "torch.topk"),
    ]
    verdict = verdict_of(results, "hostile", "ours / ours on normal data")
    assert (verdict.is_met, verdict.worst, verdict.num_kept) == (False, "ascending", 1)
    assert verdict_of(results, "host, inference_mode", "ours / torch.topk").is_met is None


def test_losing_shapes_are_those_beyond_noise() -> None:
    shape = Shape("indexer", "bfloat16", 1, 4096, 512)
    results = run_of(
        measurement(shape, best_peer="a", best_peer_us=9.8),
        measurement(replace(shape, rows=8), best_peer="b", best_peer_us=5.0),
        measurement(replace(shape, rows=64), best_peer="c", best_peer_us=20.0),
    )
    assert [(m.rows, ratio) for m, ratio in targets.losing_shapes(results)] == [(8, 2.0)]
    assert "8x4K" in report.summary(results)


def test_a_files_peer_is_scaled_by_torch() -> None:
    times = peers.PeerTimes(10.0, "a", 4.0, {"a": 4.0})
    assert peers.best_peer(times, 20.0, {}) == ("a", 8.0)
    assert peers.best_peer(times, 20.0, {"b": 7.0}) == ("b", 7.0)
    assert peers.best_peer(times, 20.0, {"a": 9.0}) == ("a", 8.0)
    assert peers.best_peer(None, 20.0, {}) == (None, None)


# ---- Exactness ---------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["any", "value", "index"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.int32])
@pytest.mark.parametrize("distribution", ["normal", "few_distinct", "all_equal", "some_nans"])
def test_right_outputs_are_proved(distribution: str, dtype: torch.dtype, order: str) -> None:
    x = make_values(distribution, 5, 300, dtype)
    end = torch.tensor([300, 0, 20, 31, 999])
    values, indices = deepselect.topk(x, 31, end=end, order=order)
    assert exact.find_fault(x, indices, values, order=order, end=end) is None
    values, indices = deepselect.reference.topk(x, 31, order=order)
    assert exact.find_fault(x, indices, values, order=order) is None


def test_wrong_outputs_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "_CHUNK_ITEMS", 128)  # several pieces of every row
    x = make_values("few_distinct", 3, 300, torch.float32)
    values, indices = deepselect.topk(x, 16, order="value")

    def fault(indices: torch.Tensor, **arguments: Any) -> str:
        return exact.find_fault(x, indices, **arguments) or "none"

    assert fault(indices, values=values, order="value") == "none"
    best_left = deepselect.topk(x, 17, order="value").indices[:, 16:]
    other_tie = torch.cat((indices[:, :15], best_left), dim=1)
    assert "lowest positions" in fault(other_tie)
    assert fault(other_tie, lowest_ties=False) == "none"
    worst = deepselect.topk(x, 1, largest=False).indices
    assert "not the best" in fault(torch.cat((indices[:, :15], worst), dim=1), lowest_ties=False)
    assert "twice" in fault(torch.cat((indices[:, :15], indices[:, :1]), dim=1))
    assert "outside" in fault(indices.where(indices != indices[0, 3], 300))
    assert "no pad" in fault(indices, end=torch.tensor([300, 300, 15]))
    assert "order" in fault(indices.flip(-1), order="value")
    assert "order" in fault(indices, order="index")
    assert "value" in fault(indices, values=values + 1)


# ---- A run -------------------------------------------------------------------------------------


def test_smoke_run_prints_and_saves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(timing, "_MIN_CPU_S", 0.0)
    path = tmp_path / "results.json"
    assert topk.main(["--shapes", "smoke", "--output", str(path), "--commit", "abc"]) == 0
    printed = capsys.readouterr().out
    assert "bfloat16 8x4K k=512" in printed
    assert "WRONG" not in printed

    data = json.loads(path.read_text())
    assert data["schema"] == SCHEMA
    assert {"device", "torch", "commit", "date", "threads"} <= data["environment"].keys()
    assert data["environment"]["commit"] == "abc"
    wanted = ("dtype", "rows", "cols", "k", "distribution", "ours_us", "torch_us", "read_floor_us")
    assert all(name in data["shapes"][0] for name in wanted)
    assert len(data["shapes"]) == len(preset("smoke", "cpu"))
    assert len(data["targets"]) == len(targets.CPU_TARGETS)

    loaded = Results.load(path)
    assert [m.shape for m in loaded.measurements] == preset("smoke", "cpu")
    path.write_text(path.read_text().replace(f'"schema": {SCHEMA}', '"schema": 0'))
    with pytest.raises(ValueError, match="schema must be"):
        Results.load(path)


def test_too_few_rounds_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        topk.parse_arguments(["--rounds", "3"])
    assert "--rounds must be at least 7, got 3" in capsys.readouterr().err


# ---- The model of the running threshold --------------------------------------------------------


def test_model_walks_pages_as_the_kernels_do() -> None:
    # Printed by a program over scan_order.h.
    assert list(threshold_model.scan_order(10, 7)) == [0, 5, 4, 9, 6, 3, 2, 7, 8, 1]
    assert sorted(threshold_model.scan_order(1000, 3)) == list(range(1000))


def test_model_in_sequence_and_in_random_order() -> None:
    n, setting = 2**18, threshold_model.Setting()
    keys = threshold_model.composite_keys(np.arange(n, dtype=np.float64))
    in_sequence = threshold_model.simulate(keys, threshold_model.sequential(n), setting)
    assert (in_sequence.accepted, in_sequence.cuts, in_sequence.work) == (n, 255, 392_704)
    row = threshold_model.measure("ascending", n, setting, num_seeds=8)
    assert row.mean_work < 0.6 * setting.bound(n) < 0.05 * in_sequence.work


@pytest.mark.parametrize("model", [pass_counts.row_stream, pass_counts.split_stream])
def test_model_of_the_sampled_bounds(model: pass_counts.Model) -> None:
    k, n = 512, 2**17
    row = pass_counts.Row.of(np.random.default_rng(0).standard_normal(n).astype(np.float32))
    assert row.num_reaching(row.ascending[-k]) == k
    for seed in range(20):
        prediction = model(row, k, np.random.default_rng(seed))
        assert k < prediction.least < prediction.most < prediction.capacity


# ---- Gating ------------------------------------------------------------------------------------


@pytest.mark.parametrize("router", gating.ROUTERS)
def test_routers_of_the_gating_benchmark_are_the_same(router: str) -> None:
    x = make_values("normal", 50, 64, torch.float32, seed=3)
    options = dict(gating.ROUTERS[router])
    if options.get("bias"):
        options["bias"] = torch.linspace(-0.1, 0.1, 64)
    weights, experts = gating.in_plain_torch(x, 6, **{"bias": None, **options})
    ours = topk_gate(x, 6, **options)
    assert torch.equal(ours.experts, experts.int())
    torch.testing.assert_close(ours.weights, weights)
    assert gating._error(x, ours, options) < 1e-6
    with pytest.raises(AssertionError, match="a better expert was left out"):
        gating._error(x, (weights, (experts + 1) % 64), options)


# ---- The page of results -----------------------------------------------------------------------


def test_page_of_the_committed_results_is_theirs() -> None:
    root = Path(__file__).resolve().parent.parent
    source = "tools/bench/results/h200.json"
    page = tables.page(Results.load(root / source), source)
    assert page == (root / "docs/results_h200.md").read_text()
    assert page.count("| row_stream |") > 30
