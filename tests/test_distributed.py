"""``deepselect.distributed.topk`` over gloo: every rank, exactly what one process gets.

The processes start once for each number of ranks and run every check of ``sharded_cases``; the
tests then ask for the outcome of each.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

HAS_GLOO = dist.is_available() and dist.is_gloo_available()
if not HAS_GLOO:
    pytest.skip("this torch has no gloo", allow_module_level=True)

import deepselect  # noqa: E402
import sharded_cases  # noqa: E402
from deepselect import distributed, reference, testing  # noqa: E402

Outcomes = list[dict[str, str]]


@pytest.fixture(scope="module", params=[2, 4], ids=["2_ranks", "4_ranks"])
def outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Outcomes:
    """For each rank the tracebacks of the checks that failed, by name."""
    num_ranks: int = request.param
    directory = tmp_path_factory.mktemp("ranks")
    torch.multiprocessing.spawn(
        sharded_cases.run_rank, (num_ranks, str(directory)), nprocs=num_ranks
    )
    reports = [directory / f"failures_{rank}.json" for rank in range(num_ranks)]
    return [json.loads(report.read_text()) for report in reports]


@pytest.mark.parametrize("name", sharded_cases.CHECKS)
def test_every_rank(outcomes: Outcomes, name: str) -> None:
    failed = {rank: texts[name] for rank, texts in enumerate(outcomes) if name in texts}
    assert not failed, "\n".join(f"rank {rank}:\n{text}" for rank, text in failed.items())


@pytest.fixture(params=["gloo", "nccl"])
def device_of_one(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[torch.device]:
    """A group of this process alone, as one GPU has it; gives the device of its backend."""
    backend: str = request.param
    if backend == "nccl" and not (torch.cuda.is_available() and dist.is_nccl_available()):
        pytest.skip("NCCL needs a GPU")
    init_method = f"file://{tmp_path}/rendezvous"
    dist.init_process_group(backend, init_method=init_method, rank=0, world_size=1)
    yield torch.device("cpu" if backend == "gloo" else "cuda")
    dist.destroy_process_group()


@pytest.mark.parametrize("whole_rows", sharded_cases.CASES, ids=lambda case: case.name)
def test_a_group_of_one(device_of_one: torch.device, whole_rows: sharded_cases.Case) -> None:
    sharded_cases.check_case(whole_rows, device=device_of_one)


def test_without_a_group() -> None:
    with pytest.raises(ValueError, match="process group"):
        distributed.topk(torch.zeros(2, 3), 1)


def test_captured_in_a_graph(device_of_one: torch.device) -> None:
    """Replayed with other values and windows."""
    if device_of_one.type != "cuda":
        pytest.skip("graphs are a GPU's")
    shard = torch.zeros(4, 5000, device=device_of_one)
    end = torch.full((4,), 5000, device=device_of_one)

    def call() -> deepselect.TopK:
        return distributed.topk(shard, 100, order="value", offset=0, end=end)

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        call()
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = call()
    shard.normal_()
    end.copy_(torch.tensor([5000, 50, 0, 777]))
    graph.replay()
    expected = reference.select(shard, 100, end=end, order="value")
    testing.assert_same_selection(*captured, expected, order="value")
