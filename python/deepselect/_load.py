"""Loads the op libraries and remembers why one is absent.

Each backend is one plain shared library on torch's stable ABI, so the same file serves every
Python and every torch from 2.10 on. The CPU library also holds the schema and is always there.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import torch


@dataclass(frozen=True)
class Backend:
    """A backend: the device type it serves and how it is built; one preset per architecture."""

    device_type: str
    library: str
    dispatch_key: str
    presets: tuple[str, ...]


BACKENDS = (
    Backend("cpu", "libdeepselect_cpu.so", "CPU", ("cpu",)),
    Backend("cuda", "libdeepselect_cuda.so", "CUDA", ("cuda",)),
    Backend("npu", "libdeepselect_ascend.so", "PrivateUse1", ("ascend-3510", "ascend-2201")),
)

# device type -> why its library is not loaded
absent: dict[str, str] = {}

# Keeps the registrations of _report_absence alive.
_registrations = torch.library.Library("deepselect", "IMPL")


def _library_directories() -> list[Path]:
    """Where libraries can lie: beside the package and, for editable installs, beside _contract."""
    directories = [Path(__file__).parent / "lib"]
    contract = importlib.util.find_spec("deepselect._contract")
    if contract is not None and contract.origin is not None:
        directories.append(Path(contract.origin).parent / "lib")
    return directories


def _find(backend: Backend) -> Path | None:
    candidates = (directory / backend.library for directory in _library_directories())
    return next((path for path in candidates if path.exists()), None)


def _reason_not_loaded(backend: Backend) -> str | None:
    """Loads one library; returns why that was not possible."""
    path = _find(backend)
    if path is None:
        preset, *others = backend.presets
        return (
            f"this build of deepselect has no {backend.device_type} backend; "
            f"build it with: cmake --preset {preset} && cmake --build --preset {preset}"
            + "".join(f", or preset {other}" for other in others)
        )
    if backend.device_type == "cuda" and torch.version.cuda is None:
        return f"torch {torch.__version__} is a build without CUDA; install a CUDA build of torch"
    try:
        torch.ops.load_library(str(path))
    except OSError as error:
        return f"{path.name} does not load with torch {torch.__version__}: {error}"
    return None


def _report_absence(backend: Backend, reason: str) -> None:
    """Makes a call on this backend's device say why it cannot run."""

    def fail(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(f"deepselect.topk: no {backend.device_type} backend: {reason}")

    for overload in ("topk", "topk.out"):
        _registrations.impl(overload, fail, backend.dispatch_key)


def load_all() -> None:
    """Loads every library that is there. Called once, when the package is imported."""
    if hasattr(torch.ops.deepselect, "topk"):
        raise ImportError(
            "deepselect: another copy of the op is loaded in this process; "
            "import only one installation of deepselect"
        )
    for backend in BACKENDS:
        reason = _reason_not_loaded(backend)
        if reason is None:
            continue
        if backend.device_type == "cpu":
            raise ImportError(f"deepselect: {reason}")
        absent[backend.device_type] = reason
        _report_absence(backend, reason)
