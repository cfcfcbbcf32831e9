"""Reads and writes beyond the tensors end the process: memory round them is not mapped.

Runs in a child, so that a fault is a failed test. CPU only; test_cuda_guard_pages.py is the same on
a CUDA device.
"""

from __future__ import annotations

import ctypes
import mmap
import subprocess
import sys

import pytest
import torch
from torch import Tensor

import deepselect
from deepselect import reference, testing
from distributions import bits_type, make_values

PAGE = mmap.PAGESIZE
PROT_NONE = 0


class GuardedMemory:
    """Readable and writable pages between two that are neither."""

    def __init__(self, num_bytes: int) -> None:
        num_pages = -(-num_bytes // PAGE)
        self._map = mmap.mmap(-1, (num_pages + 2) * PAGE)
        self._first = PAGE
        self._past = (num_pages + 1) * PAGE
        libc = ctypes.CDLL(None, use_errno=True)
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        for guard in (address, address + self._past):
            if libc.mprotect(ctypes.c_void_p(guard), ctypes.c_size_t(PAGE), PROT_NONE) != 0:
                raise OSError(ctypes.get_errno(), "mprotect")

    def tensor(self, num_items: int, dtype: torch.dtype, *, at_end: bool) -> Tensor:
        """The first or the last items of the memory."""
        num_bytes = num_items * dtype.itemsize
        start = self._past - num_bytes if at_end else self._first
        return torch.frombuffer(self._map, dtype=dtype, count=num_items, offset=start)


def _check(dtype: torch.dtype, cols: int, k: int, at_end: bool) -> None:
    """Two rows whose last ends, or whose first begins, at a guard page; outputs likewise."""
    row_stride = cols + 3
    num_items = row_stride + cols
    source = make_values("few_distinct", 2, cols, dtype, seed=cols)
    x = GuardedMemory(num_items * dtype.itemsize).tensor(num_items, dtype, at_end=at_end)
    x = x.as_strided((2, cols), (row_stride, 1))
    x.view(bits_type(dtype)).copy_(source.view(bits_type(dtype)))
    values = GuardedMemory(2 * k * dtype.itemsize).tensor(2 * k, dtype, at_end=at_end)
    indices = GuardedMemory(2 * k * 4).tensor(2 * k, torch.int32, at_end=at_end)
    raw = GuardedMemory(2 * k * 4).tensor(2 * k, torch.int32, at_end=at_end)
    for order, largest in (("any", True), ("value", False)):
        deepselect.topk(
            x,
            k,
            order=order,  # type: ignore[arg-type]
            largest=largest,
            out=(values.view(2, k), indices.view(2, k)),
            raw_indices=raw.view(2, k),
        )
        expected = reference.select(x, k, order=order, largest=largest)
        testing.assert_same_selection(
            values.view(2, k),
            indices.view(2, k),
            expected,
            order=order,
            raw_indices=raw.view(2, k),
        )


def check_all() -> None:
    for dtype in (torch.bfloat16, torch.float16, torch.float32, torch.int32):
        for cols in [*range(1, 71), 255, 257, 1023, 2047, 2049, 4097, 70001]:
            for k in (7, min(cols, 1000)):
                for at_end in (True, False):
                    _check(dtype, cols, k, at_end)


def overrun() -> None:
    x = GuardedMemory(4).tensor(1, torch.int32, at_end=True)
    print("before", flush=True)
    ctypes.c_int.from_address(x.data_ptr() + 4).value  # noqa: B018


def _run_child(task: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, __file__, task]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="needs mmap and mprotect")


@needs_linux
def test_nothing_outside_is_touched() -> None:
    child = _run_child("check")
    assert child.returncode == 0, f"exit status {child.returncode}\n{child.stderr[-2000:]}"


@needs_linux
def test_an_overrun_ends_the_process() -> None:
    child = _run_child("overrun")
    assert child.stdout == "before\n"
    assert child.returncode < 0


if __name__ == "__main__":
    {"check": check_all, "overrun": overrun}[sys.argv[1]]()
