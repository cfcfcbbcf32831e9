"""What every test module shares: the backends under test, and the profiles of the fuzzer.

A test that takes ``backend`` runs on every backend that is available; one that takes ``backend``
and ``variant`` also with every kernel variant forced; one that takes ``engine`` runs on the
reference too, for what is written out by hand.
"""

from __future__ import annotations

import os

# Before torch loads OpenMP, and for child processes too: threads that spin at a barrier while
# others want their core make the suite several times slower on a busy machine (4x measured).
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, settings
from torch import Tensor

import deepselect
from cases import all_cases
from deepselect import reference, testing
from weighted_cases import weighted_cases

settings.register_profile(
    "bounded",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow],
)
# For a long run by hand: pytest tests/test_fuzz.py --hypothesis-profile=soak
settings.register_profile("soak", deadline=None, max_examples=20_000)
settings.load_profile("bounded")


@dataclass(frozen=True)
class Engine:
    """Something that answers calls of the op: a backend, or the reference.

    Attributes:
        name: for messages.
        device: of its tensors.
        dtypes: value dtypes that it takes.
        topk: as `deepselect.topk`, without `out`.
        raw_indices: positions relative to the window for the same arguments.
    """

    name: str
    device: torch.device
    dtypes: tuple[torch.dtype, ...]
    topk: Callable[..., tuple[Tensor | None, Tensor]]
    raw_indices: Callable[..., Tensor]

    @property
    def float_dtypes(self) -> tuple[torch.dtype, ...]:
        return tuple(dtype for dtype in self.dtypes if dtype.is_floating_point)


def _raw_indices(input: Tensor, k: int, **arguments: Any) -> Tensor:
    shape = (*input.shape[:-1], k)
    index_dtype = arguments.pop("index_dtype", torch.int32)
    indices = torch.empty(shape, dtype=index_dtype, device=input.device)
    raw_indices = torch.empty(shape, dtype=torch.int32, device=input.device)
    deepselect.topk(input, k, **arguments, out=(None, indices), raw_indices=raw_indices)
    return raw_indices


def _engine_of(backend: testing.Backend) -> Engine:
    return Engine(
        backend.device_type,
        backend.device,
        backend.limits.value_dtypes,
        deepselect.topk,
        _raw_indices,
    )


_REFERENCE = Engine(
    "reference",
    torch.device("cpu"),
    (torch.bfloat16, torch.float16, torch.float32, torch.int32),
    reference.topk,
    lambda *args, **kwargs: reference.select(*args, **kwargs).raw_indices,
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    wanted = metafunc.fixturenames
    backends = testing.available_backends()
    if "case" in wanted:
        metafunc.parametrize("case", all_cases(), ids=lambda case: case.name)
    if "weighted_case" in wanted:
        metafunc.parametrize("weighted_case", weighted_cases(), ids=lambda case: case.name)
    if "engine" in wanted:
        engines = [_REFERENCE, *map(_engine_of, backends)]
        metafunc.parametrize("engine", engines, ids=lambda engine: engine.name)
    if "variant" in wanted:
        pairs = [(b, variant) for b in backends for variant in testing.variants(b.device_type)]
        ids = [f"{b.device_type}-{variant or 'chosen'}" for b, variant in pairs]
        metafunc.parametrize(("backend", "variant"), pairs, ids=ids)
    elif "backend" in wanted:
        metafunc.parametrize("backend", backends, ids=lambda backend: backend.device_type)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The twin of the Ascend device stays in the process, half an accelerator to the rest of
    torch: its tests come last.
    """
    items.sort(key=lambda item: item.path.name == "test_ascend_twin.py")


@pytest.fixture
def device(backend: testing.Backend) -> torch.device:
    """Of every backend that takes unaligned float32."""
    limits = backend.limits
    if torch.float32 not in limits.value_dtypes or limits.row_alignment_bytes > 4:
        pytest.skip(f"{backend.device_type} takes no unaligned float32")
    return backend.device


@pytest.fixture
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)
