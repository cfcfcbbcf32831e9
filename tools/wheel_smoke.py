"""Tries an installed deepselect: run by tools/wheel_smoke.sh in an environment with nothing else.

Every module imports; every backend that can run here selects what the reference selects, through
the front, the raw op, an adapter and a compiled region.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import pkgutil
import sys
from pathlib import Path

import torch

import deepselect
from deepselect import _load, reference, testing
from deepselect.compat import torch as compat


def check_installation() -> None:
    """The package is the environment's, whole, and of one version."""
    location = Path(deepselect.__file__)
    assert location.is_relative_to(sys.prefix), f"{location} is not in {sys.prefix}"
    assert importlib.metadata.version("deepselect") == deepselect.__version__
    assert (location.parent / "py.typed").exists()
    for module in pkgutil.walk_packages(deepselect.__path__, "deepselect."):
        importlib.import_module(module.name)


def check_backend(backend: testing.Backend) -> None:
    """A selection with ties, windows and NaN, in every dtype."""
    generator = torch.Generator().manual_seed(0)
    end = torch.randint(0, 5000, (33,), generator=generator).to(backend.device)
    for dtype in backend.limits.value_dtypes:
        x = torch.randint(-50, 50, (33, 4096), generator=generator).to(backend.device, dtype)
        if dtype.is_floating_point:
            x[::3, ::7] = float("nan")
        expected = reference.select(x, 100, end=end, order="value")
        values, indices = deepselect.topk(x, 100, end=end, order="value")
        testing.assert_same_selection(values, indices, expected, order="value")
        _, raw = torch.ops.deepselect.topk(x, 100, None, end, order="value")
        testing.assert_same_bits(raw, indices)
        best = compat.topk(x, 5)
        assert torch.equal(best.indices, reference.topk(x, 5, index_dtype=torch.int64)[1])
    compiled = torch.compile(
        lambda x: deepselect.topk(x, 7, order="index").indices, fullgraph=True, backend="aot_eager"
    )
    testing.assert_same_bits(compiled(x), deepselect.topk(x, 7, order="index").indices)


def main() -> None:
    """Runs all checks; says what ran."""
    check_installation()
    backends = testing.available_backends()
    for backend in backends:
        check_backend(backend)
    names = ", ".join(backend.device_type for backend in backends)
    print(f"deepselect {deepselect.__version__} with torch {torch.__version__}: {names} work")
    for device_type, reason in _load.absent.items():
        print(f"  no {device_type}: {reason}")


if __name__ == "__main__":
    main()
