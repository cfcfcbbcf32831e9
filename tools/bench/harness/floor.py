"""The read floor: roofline/read_floor.cu, compiled once per device and called through ctypes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import torch
from torch import Tensor

_ROOFLINE = Path(__file__).resolve().parent.parent / "roofline"
_BUILD = Path(__file__).resolve().parents[3] / "build" / "bench"


class Floor:
    """Kernels that read every input byte once, and write every output byte once.

    Raises:
        RuntimeError: there is no nvcc, or it or the library fails; says why.
    """

    def __init__(self) -> None:
        """Compiles, unless the library is newer than its sources."""
        self._library = ctypes.CDLL(str(_compile()))
        num_partials = self._library.read_floor_partials()
        if num_partials < 1:
            raise RuntimeError("read_floor.cu: the device's properties cannot be read")
        self._partials = torch.empty(num_partials, dtype=torch.int32, device="cuda")

    def read(self, x: Tensor) -> None:
        """Reads all of `x` on the current stream."""
        status = self._library.read_floor_launch(
            *_address_and_bytes(x), ctypes.c_void_p(self._partials.data_ptr()), _stream()
        )
        _check(status)

    def read_write(self, x: Tensor, output: Tensor) -> None:
        """Reads all of `x` and overwrites all of `output` on the current stream."""
        status = self._library.read_write_floor_launch(
            *_address_and_bytes(x), *_address_and_bytes(output), _stream()
        )
        _check(status)

    def check(self) -> None:
        """Reads random words and compares their sum.

        Raises:
            RuntimeError: the kernel's sum is another.
        """
        for num_words in (4, 1000, 2**22 + 12):
            x = torch.randint(-(2**31), 2**31, (num_words,), dtype=torch.int32, device="cuda")
            self._partials.zero_()
            self.read(x)
            if (self._partials.long().sum() - x.long().sum()).item() % 2**32:
                raise RuntimeError(f"read_floor.cu: wrong sum of {num_words} words")


def _compile() -> Path:
    major, minor = torch.cuda.get_device_capability()
    architecture = f"{major}{minor}"
    library = _BUILD / f"libread_floor_sm{architecture}.so"
    sources = [_ROOFLINE / "read_floor.cu", _ROOFLINE / "reduction.cuh"]
    newest = max(source.stat().st_mtime for source in sources)
    if library.exists() and library.stat().st_mtime > newest:
        return library
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None:
        raise RuntimeError("read_floor.cu: nvcc is not on the PATH")
    library.parent.mkdir(parents=True, exist_ok=True)
    gencode = f"-gencode=arch=compute_{architecture},code=sm_{architecture}"
    command = [nvcc, "-O3", "-std=c++17", gencode, "--shared", "-Xcompiler", "-fPIC"]
    done = subprocess.run(
        [*command, str(sources[0]), "-o", str(library)], capture_output=True, text=True
    )
    if done.returncode != 0:
        raise RuntimeError(f"read_floor.cu does not compile: {done.stderr.strip()}")
    return library


def _address_and_bytes(x: Tensor) -> tuple[ctypes.c_void_p, ctypes.c_size_t]:
    return ctypes.c_void_p(x.data_ptr()), ctypes.c_size_t(x.numel() * x.element_size())


def _stream() -> ctypes.c_void_p:
    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)


def _check(status: int) -> None:
    if status != 0:
        raise RuntimeError(f"read_floor.cu: launch failed with cudaError {status}")
