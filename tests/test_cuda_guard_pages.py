"""Reads and writes of the CUDA kernels beyond their tensors end a child process: the addresses
round them are reserved and have no memory. What test_guard_pages.py does on the CPU.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from typing import Any

import torch
from torch import Tensor

from cuda_variants import VARIANTS, Variant, needs_cuda
from deepselect import testing
from distributions import bits_type, make_values

pytestmark = needs_cuda

DTYPES = (torch.bfloat16, torch.float16, torch.float32, torch.int32)
COLS = (*range(1, 71, 3), 255, 257, 1023, 2047, 2049, 4097, 16_385, 70_001)
MAX_K = 5000


class _Location(ctypes.Structure):
    """CUmemLocation; type 1 is a device."""

    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class _AllocationProperties(ctypes.Structure):
    """CUmemAllocationProp; type 1 is pinned memory."""

    _fields_ = (
        ("type", ctypes.c_int),
        ("handle_types", ctypes.c_int),
        ("location", _Location),
        ("win32_metadata", ctypes.c_void_p),
        ("flags", ctypes.c_ubyte * 8),
    )


class _Access(ctypes.Structure):
    """CUmemAccessDesc; flags 3 are reading and writing."""

    _fields_ = (("location", _Location), ("flags", ctypes.c_int))


class _Bytes:
    """Device memory as torch.as_tensor takes it."""

    def __init__(self, address: int, num_bytes: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (num_bytes,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


class GuardedDeviceMemory:
    """The least memory that can be mapped, between addresses that are reserved and not mapped."""

    def __init__(self) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        device = _Location(1, torch.cuda.current_device())
        properties = _AllocationProperties(type=1, location=device)
        size = ctypes.c_size_t()
        self._call("cuMemGetAllocationGranularity", ctypes.byref(size), ctypes.byref(properties), 0)
        self.num_bytes = size.value
        base = ctypes.c_uint64()
        self._call(
            "cuMemAddressReserve", ctypes.byref(base), ctypes.c_size_t(3 * size.value), None, 0, 0
        )
        self._address = base.value + size.value
        memory = ctypes.c_uint64()
        self._call("cuMemCreate", ctypes.byref(memory), size, ctypes.byref(properties), 0)
        mapped = ctypes.c_uint64(self._address)
        self._call("cuMemMap", mapped, size, ctypes.c_size_t(0), memory, 0)
        access = _Access(device, 3)
        self._call("cuMemSetAccess", mapped, size, ctypes.byref(access), ctypes.c_size_t(1))

    def _call(self, name: str, *arguments: Any) -> None:
        status = getattr(self._cuda, name)(*arguments)
        if status != 0:
            raise OSError(status, name)

    def tensor(self, num_items: int, dtype: torch.dtype, *, at_end: bool) -> Tensor:
        """The first or the last items of the memory."""
        num_bytes = num_items * dtype.itemsize
        assert num_bytes <= self.num_bytes
        start = self.num_bytes - num_bytes if at_end else 0
        return torch.as_tensor(_Bytes(self._address + start, num_bytes), device="cuda").view(dtype)

    def tensor_past_end(self) -> Tensor:
        """The last sixteen bytes, and sixteen more that are not there."""
        return torch.as_tensor(_Bytes(self._address + self.num_bytes - 16, 32), device="cuda")


class Arena:
    """Guarded memory for the input and each output of one call after another."""

    def __init__(self) -> None:
        self._input, self._values, self._indices, self._raw = (
            GuardedDeviceMemory() for _ in range(4)
        )

    def check(self, x: Tensor, k: int, forced: Variant, at_end: bool) -> bool:
        """Two rows whose last ends, or whose first begins, at a guard; outputs likewise.

        Returns False where the variant is not made for the call.
        """
        rows, cols = x.shape
        as_bits = bits_type(x.dtype)
        row_stride = cols + 3
        num_items = (rows - 1) * row_stride + cols
        memory = self._input.tensor(num_items, as_bits, at_end=at_end)
        bits = memory.as_strided((rows, cols), (row_stride, 1))
        bits.copy_(x.view(as_bits))
        values = self._values.tensor(rows * k, x.dtype, at_end=at_end).view(rows, k)
        indices = self._indices.tensor(rows * k, torch.int32, at_end=at_end).view(rows, k)
        raw = self._raw.tensor(rows * k, torch.int32, at_end=at_end).view(rows, k)
        for order in ("any", "value"):
            got = forced.topk(
                bits.view(x.dtype), k, order=order, out=(values, indices), raw_indices=raw
            )
            if got is None:
                return order == "value"
        # The last call's answer; an access outside is reported here at the latest.
        expected = VARIANTS[0].topk(x.cuda(), k, order="value")
        assert expected is not None
        assert expected.values is not None
        testing.assert_same_bits(values, expected.values, f"values {forced.name}")
        testing.assert_same_bits(indices, expected.indices, f"indices {forced.name}")
        testing.assert_same_bits(raw, expected.indices, f"raw_indices {forced.name}")
        return True


def check_all() -> None:
    arena = Arena()
    num_served = dict.fromkeys((forced.name for forced in VARIANTS), 0)
    for dtype in DTYPES:
        for cols in COLS:
            x = make_values("few_distinct", 2, cols, dtype, seed=cols)
            for k in {7, min(cols, 1000), MAX_K if cols > MAX_K else 1}:
                for forced in VARIANTS:
                    for at_end in (True, False):
                        num_served[forced.name] += arena.check(x, k, forced, at_end)
    assert all(num_served.values()), num_served
    print(num_served)


def overrun() -> None:
    past_end = GuardedDeviceMemory().tensor_past_end()
    print("before", flush=True)
    print(past_end.sum().item())


def _run_child(task: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, __file__, task]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_nothing_outside_is_touched() -> None:
    child = _run_child("check")
    assert child.returncode == 0, f"exit status {child.returncode}\n{child.stderr[-2000:]}"


def test_an_overrun_is_noticed() -> None:
    child = _run_child("overrun")
    assert child.stdout == "before\n"
    assert child.returncode != 0
    assert "illegal memory access" in child.stderr


if __name__ == "__main__":
    {"check": check_all, "overrun": overrun}[sys.argv[1]]()
