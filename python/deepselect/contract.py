"""What each backend accepts, from the C++ contract (``csrc/include/deepselect/contract.h``).

The op itself checks every argument; this table is for callers who want to know beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

try:
    from deepselect._contract import BACKENDS as _BACKENDS
except ImportError:  # built for another Python; the op libraries work all the same
    _BACKENDS = {}


@dataclass(frozen=True)
class Limits:
    """Limits of one backend.

    Attributes:
        value_dtypes: dtypes of ``input``.
        max_rows: greatest number of rows.
        max_cols: greatest number of columns.
        max_k: greatest ``k``.
        row_alignment_bytes: what input's base address and row stride, in bytes, must be multiples
            of; 1 where element alignment suffices.
        has_weights: whether ``weights`` and ``bias`` are served.
    """

    value_dtypes: tuple[torch.dtype, ...]
    max_rows: int
    max_cols: int
    max_k: int
    row_alignment_bytes: int
    has_weights: bool


def _read_limits() -> dict[str, Limits]:
    return {
        device_type: Limits(
            value_dtypes=tuple(getattr(torch, name) for name in entry["value_dtypes"]),
            max_rows=entry["max_rows"],
            max_cols=entry["max_cols"],
            max_k=entry["max_k"],
            row_alignment_bytes=entry["row_alignment_bytes"],
            has_weights=entry["has_weights"],
        )
        for device_type, entry in _BACKENDS.items()
    }


# Read once, at import: a call into pybind11 would break torch.compile(fullgraph=True).
_LIMITS = _read_limits()


def limits(device_type: str) -> Limits:
    """The limits of the backend for ``device_type`` (``"cpu"``, ``"cuda"`` or ``"npu"``).

    Raises:
        ImportError: ``deepselect._contract`` was built for another Python.
        ValueError: there is no such backend.
    """
    _require_contract()
    if device_type not in _LIMITS:
        names = ", ".join(repr(name) for name in _LIMITS)
        raise ValueError(f"deepselect: device_type must be one of {names}, got {device_type!r}")
    return _LIMITS[device_type]


def row_alignment_bytes() -> int:
    """The least row alignment that every backend accepts, in bytes.

    Raises:
        ImportError: ``deepselect._contract`` was built for another Python.
    """
    _require_contract()
    return max(entry.row_alignment_bytes for entry in _LIMITS.values())


def _require_contract() -> None:
    if not _LIMITS:
        raise ImportError(
            "deepselect._contract was built for another Python; run: python -m pip install ."
        )
