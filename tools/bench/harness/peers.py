"""Other top-k kernels: their times in a peers file, and those that can be imported here.

Each entry of ``LIVE_PEERS`` is tried once per shape, checked, and left out by name where it is not
installed, does not take the shape, or answers wrongly. Facts about their interfaces are from their
documentation; none of them is a dependency.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from harness.shapes import Shape

# Runs one call and returns its indices.
Run = Callable[[Tensor], Tensor]


# ---- Times in a file ---------------------------------------------------------------------------


@dataclass(frozen=True)
class PeerTimes:
    """One shape of a peers file, in microseconds of that file's run."""

    torch_us: float
    best_peer: str
    best_peer_us: float
    peers_us: dict[str, float]


@dataclass(frozen=True)
class PeersFile:
    """Times of other kernels from another run, comparable through torch.topk's time in both.

    Attributes:
        name: of the file.
        device, date: of that run.
        times: by dtype, rows, cols and k.
    """

    name: str
    device: str
    date: str
    times: dict[tuple[str, int, int, int], PeerTimes]

    def of(self, shape: Shape) -> PeerTimes | None:
        return self.times.get((shape.dtype, shape.rows, shape.cols, shape.k))


def load_peers(path: Path) -> PeersFile:
    """Reads a peers file."""
    data = json.loads(path.read_text())
    times = {
        (entry["dtype"], entry["rows"], entry["cols"], entry["k"]): PeerTimes(
            entry["torch_us"], entry["best_peer"], entry["best_peer_us"], entry["peers_us"]
        )
        for entry in data["shapes"]
    }
    return PeersFile(path.name, data["device"], data["date"], times)


def best_peer(
    times: PeerTimes | None, torch_us: float, live_us: dict[str, float]
) -> tuple[str | None, float | None]:
    """The fastest of the file's kernels, scaled by torch.topk's time in both runs, and the live."""
    candidates = dict(live_us)
    if times is not None:
        scale = torch_us / times.torch_us
        candidates[times.best_peer] = min(
            candidates.get(times.best_peer, float("inf")), times.best_peer_us * scale
        )
    if not candidates:
        return None, None
    name = min(candidates, key=candidates.__getitem__)
    return name, candidates[name]


# ---- Kernels that are installed ----------------------------------------------------------------


@dataclass(frozen=True)
class LivePeer:
    """A kernel that may be importable.

    Attributes:
        name: as in the peers file where it is there.
        module: to import.
        takes: whether it claims to serve a shape.
        prepare: from the module and a shape, what runs one call.
    """

    name: str
    module: str
    takes: Callable[[Shape], bool]
    prepare: Callable[[Any, Shape, torch.device], Run]


def _lengths(shape: Shape, device: torch.device) -> Tensor:
    return torch.full((shape.rows,), shape.cols, dtype=torch.int32, device=device)


def _indices(shape: Shape, device: torch.device) -> Tensor:
    return torch.empty(shape.rows, shape.k, dtype=torch.int32, device=device)


def _flashinfer(module: Any, shape: Shape, device: torch.device) -> Run:
    return lambda x: module.top_k(x, shape.k, sorted=False)[1]


def _deep_select(module: Any, shape: Shape, device: torch.device) -> Run:
    return lambda x: module.topk(x, shape.k, indices_type=torch.int32, return_value=False)[1]


def _sgl_kernel(module: Any, shape: Shape, device: torch.device) -> Run:
    lengths = _lengths(shape, device)
    return lambda x: module.fast_topk_v2(x, lengths, shape.k)


def _vllm_decode(module: Any, shape: Shape, device: torch.device) -> Run:
    lengths = _lengths(shape, device)

    def run(x: Tensor) -> Tensor:
        indices = _indices(shape, device)
        torch.ops._C.top_k_per_row_decode(
            x, 1, lengths, indices, shape.rows, x.stride(0), x.stride(1), shape.k
        )
        return indices

    return run


def _vllm_persistent(module: Any, shape: Shape, device: torch.device) -> Run:
    lengths = _lengths(shape, device)
    workspace = torch.zeros(2**20, dtype=torch.uint8, device=device)

    def run(x: Tensor) -> Tensor:
        indices = _indices(shape, device)
        torch.ops._C.persistent_topk(x, lengths, indices, workspace, shape.k, shape.cols)
        return indices

    return run


LIVE_PEERS: Sequence[LivePeer] = (
    LivePeer("FlashInfer", "flashinfer", lambda s: s.dtype != "int32", _flashinfer),
    LivePeer(
        "DeepSelect",
        "deep_select.interface",
        lambda s: s.dtype in ("bfloat16", "float32"),
        _deep_select,
    ),
    LivePeer(
        "SGLang fast_topk_v2",
        "sgl_kernel",
        lambda s: s.dtype == "float32" and s.k == 2048,
        _sgl_kernel,
    ),
    LivePeer("vLLM decode", "vllm._custom_ops", lambda s: s.dtype == "float32", _vllm_decode),
    LivePeer(
        "vLLM persistent",
        "vllm._custom_ops",
        lambda s: s.dtype == "float32" and s.k in (512, 2048),
        _vllm_persistent,
    ),
)


def importable_peers() -> tuple[list[tuple[LivePeer, Any]], dict[str, str]]:
    """Those that can be imported, with their modules, and why the others cannot."""
    found, absent = [], {}
    for peer in LIVE_PEERS:
        try:
            found.append((peer, importlib.import_module(peer.module)))
        except Exception as error:  # a broken installation raises anything
            absent[peer.name] = f"{type(error).__name__}: {error}"
    return found, absent
