"""The Ascend backend over the host twin: a device "npu" on plain torch whose kernels run on the
twin of ``csrc/ascend/twin``. For tests only; the package does not load it.
"""

from __future__ import annotations

import ctypes
import types
from functools import cache
from pathlib import Path

import torch

from deepselect import _load, contract, testing

_LIBRARY = "libdeepselect_ascend_twin.so"
ARCHITECTURES = ("dav-3510", "dav-2201")


def library() -> Path | None:
    """The twin's op library, where it was built (CMake: DEEPSELECT_TWIN)."""
    candidates = (directory / _LIBRARY for directory in _load._library_directories())
    return next((path for path in candidates if path.exists()), None)


@cache
def load() -> testing.Backend:
    """Makes the device "npu" and registers the op for it: once per process, and for good.

    Raises:
        RuntimeError: the library was not built, or torch has an npu already.
    """
    path = library()
    if path is None:
        raise RuntimeError(f"{_LIBRARY} was not built; configure with -DDEEPSELECT_TWIN=ON")
    if hasattr(torch, "npu"):
        raise RuntimeError("this torch has an npu already")
    torch.utils.rename_privateuse1_backend("npu")
    module = types.ModuleType("torch.npu")
    for name, value in {"is_available": True, "device_count": 1, "_is_in_bad_fork": False}.items():
        setattr(module, name, lambda value=value: value)
    torch._register_device_module("npu", module)
    torch.ops.load_library(str(path))
    _load.absent.pop("npu", None)
    return testing.Backend("npu", torch.device("npu", 0), contract.limits("npu"))


def use(architecture: str) -> None:
    """Runs later calls on the twin of this architecture, one of `ARCHITECTURES`."""
    number = int(architecture.removeprefix("dav-"))
    ctypes.CDLL(str(library())).deepselect_twin_use_dav(number)
