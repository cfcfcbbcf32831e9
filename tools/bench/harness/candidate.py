"""One variant of the CUDA backend, compiled anew with some of its source text replaced.

For experiments with values that are constants in the sources: tuning, and what a part of the
contract costs. Only the variant's own translation unit is compiled, together with the planning and
a C function; the replaced headers stand before the project's in the include path.
"""

from __future__ import annotations

import ctypes
import hashlib
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

_ROOT = Path(__file__).resolve().parents[3]
_CSRC = _ROOT / "csrc"
_SHIM = Path(__file__).resolve().parent.parent / "candidate.cpp"
_BUILD = _ROOT / "build" / "candidates"

# As ValueType and Order count them.
_VALUE_TYPES = (torch.bfloat16, torch.float16, torch.float32, torch.int32)
_ORDERS = ("any", "value", "index")

_FLAGS = (
    *("-O3", "-std=c++17", "--expt-relaxed-constexpr", "-Xptxas=-v"),
    *("--shared", "-Xcompiler=-fPIC,-fvisibility=hidden"),
)


@dataclass(frozen=True)
class Replacement:
    """Text that stands once in a file below csrc, and what stands there instead."""

    file: str
    before: str
    after: str


class BuildError(RuntimeError):
    """The compiler refused: the message is its first error."""


@dataclass(frozen=True)
class Built:
    """A candidate's library, and what the compiler said of its kernels."""

    path: Path
    log: str


def replaced(replacements: Sequence[Replacement]) -> dict[str, str]:
    """The changed files' texts, by name below csrc.

    Raises:
        ValueError: a text does not stand there exactly once.
    """
    texts: dict[str, str] = {}
    for replacement in replacements:
        text = texts.get(replacement.file) or (_CSRC / replacement.file).read_text()
        count = text.count(replacement.before)
        if count != 1:
            raise ValueError(f"{replacement.file}: {count} times {replacement.before!r}, wanted 1")
        texts[replacement.file] = text.replace(replacement.before, replacement.after)
    return texts


def build(
    variant: str,
    replacements: Sequence[Replacement],
    architecture: str,
    defines: Sequence[str] = (),
) -> Built:
    """Compiles a candidate, unless it is there from before.

    Args:
        variant: name, as in ``csrc/cuda/launch``.
        replacements: what differs from the sources.
        architecture: such as ``sm_90``.
        defines: macros.

    Raises:
        BuildError: it does not compile, or there is no nvcc.
        ValueError: a replacement does not fit the sources.
    """
    texts = replaced(replacements)
    sources = [path for path in sorted(_CSRC.rglob("*")) if path.suffix in (".h", ".cpp", ".cuh")]
    sources += [*sorted((_CSRC / "cuda" / "launch").glob("*.cu")), _SHIM]
    options = (*_FLAGS, f"-arch={architecture}", *(f"-D{define}" for define in defines))
    digest = hashlib.sha256(f"{variant} {options} {sorted(texts.items())}".encode())
    for source in sources:
        digest.update(source.read_bytes())
    directory = _BUILD / f"{variant}_{digest.hexdigest()[:16]}"
    library, log = directory / "candidate.so", directory / "log"
    if library.exists():
        return Built(library, log.read_text())
    for name, text in texts.items():
        path = directory / "include" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    nvcc = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if nvcc is None:
        raise BuildError("nvcc is not on the PATH")
    camel = "".join(word.capitalize() for word in variant.split("_"))
    plan = _CSRC / "cuda" / "plan"
    command = [
        nvcc,
        *options,
        f"-DCANDIDATE_VARIANT=k{camel}",
        f"-DCANDIDATE_LAUNCH=launch_{variant}",
    ]
    command += ["-I", directory / "include", "-I", _CSRC, "-I", _CSRC / "include"]
    command += [_SHIM, plan.with_suffix(".cpp"), *sorted(plan.glob("*.cpp"))]
    launch = _CSRC / "cuda" / "launch"
    command += [launch / "check.cpp", launch / "cluster_limits.cu"]
    command += sorted(launch.glob(f"{variant}*.cu"))
    directory.mkdir(parents=True, exist_ok=True)
    unfinished = directory / "unfinished.so"
    done = subprocess.run([*command, "-o", unfinished], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        errors = [line for line in done.stderr.splitlines() if "error" in line]
        raise BuildError(errors[0] if errors else done.stderr)
    log.write_text(done.stdout + done.stderr)
    unfinished.rename(library)
    return Built(library, log.read_text())


class Candidate:
    """Calls a candidate's library as the benchmarks call the op.

    Attributes:
        library: for what else it exports.
    """

    def __init__(self, path: Path) -> None:
        self.library = ctypes.CDLL(str(path))
        self._topk = self.library.candidate_topk
        self._topk.restype = ctypes.c_char_p

    def __call__(
        self, x: Tensor, k: int, *, order: str = "any", return_values: bool = False
    ) -> tuple[Tensor | None, Tensor]:
        """On the current stream.

        Args:
            x: contiguous ``(rows, cols)`` on the current CUDA device.

        Raises:
            RuntimeError: the variant cannot serve the call, or CUDA refuses.
        """
        indices = torch.empty(x.shape[0], k, dtype=torch.int32, device=x.device)
        values = torch.empty_like(indices, dtype=x.dtype) if return_values else None
        workspace_bytes = ctypes.c_int64()
        self._run(x, k, order, values, indices, None, workspace_bytes)
        # One byte at least: null stands for the question how many.
        size = max(workspace_bytes.value, 1)
        workspace = torch.empty(size, dtype=torch.uint8, device=x.device)
        self._run(x, k, order, values, indices, workspace, workspace_bytes)
        return values, indices

    def _run(
        self,
        x: Tensor,
        k: int,
        order: str,
        values: Tensor | None,
        indices: Tensor,
        workspace: Tensor | None,
        workspace_bytes: ctypes.c_int64,
    ) -> None:
        fault = self._topk(
            _address(x),
            *(ctypes.c_int64(size) for size in (*x.shape, k)),
            _VALUE_TYPES.index(x.dtype),
            _ORDERS.index(order),
            _address(values),
            _address(indices),
            _address(workspace),
            ctypes.byref(workspace_bytes),
            x.device.index,
            ctypes.c_void_p(torch.cuda.current_stream().cuda_stream),
        )
        if fault is not None:
            raise RuntimeError(fault.decode())


def _address(x: Tensor | None) -> ctypes.c_void_p:
    return ctypes.c_void_p(None if x is None else x.data_ptr())
