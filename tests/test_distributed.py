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

import sharded_cases  # noqa: E402

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


@pytest.fixture
def group_of_one(tmp_path: Path) -> Iterator[None]:
    init_method = f"file://{tmp_path}/rendezvous"
    dist.init_process_group("gloo", init_method=init_method, rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.usefixtures("group_of_one")
@pytest.mark.parametrize("whole_rows", sharded_cases.CASES, ids=lambda case: case.name)
def test_a_group_of_one(whole_rows: sharded_cases.Case) -> None:
    sharded_cases.check_case(whole_rows)
