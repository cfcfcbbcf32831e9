"""What a number needs to be read: machine, versions, commit, clocks."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import torch

import deepselect

_ROOT = Path(__file__).resolve().parents[3]
_GPU_FIELDS = (
    "clocks.sm",
    "clocks.mem",
    "clocks.max.sm",
    "clocks.max.mem",
    "power.draw",
    "temperature.gpu",
    "pstate",
)


def describe(backend: str) -> dict[str, Any]:
    """Everything but the clocks."""
    environment: dict[str, Any] = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": _git("rev-parse", "HEAD"),
        "uncommitted_changes": bool(_git("status", "--porcelain", "--untracked-files=no")),
        "deepselect": deepselect.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
    if backend == "cpu":
        return environment | {
            "device": _cpu_name(),
            "threads": torch.get_num_threads(),
            "load_average": [os.getloadavg()[0]],  # a busy machine shows in spreads and ratios
            "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        }
    properties = torch.cuda.get_device_properties(0)
    return environment | {
        "device": properties.name,
        "num_sms": properties.multi_processor_count,
        "l2_bytes": properties.L2_cache_size,
        "memory_bytes": properties.total_memory,
        "cuda": torch.version.cuda,
        "driver": _nvidia_smi(("driver_version",)).get("driver_version"),
        "clocks": {},
    }


def read_clocks() -> dict[str, str]:
    """The GPU's clocks, power and temperature now, as nvidia-smi prints them; {} without it."""
    return _nvidia_smi(_GPU_FIELDS)


def _run(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _git(*arguments: str) -> str | None:
    return _run(["git", *arguments])


def _nvidia_smi(fields: tuple[str, ...]) -> dict[str, str]:
    text = _run(
        ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader", "-i", "0"]
    )
    if text is None:
        return {}
    return dict(zip(fields, (value.strip() for value in text.split(",")), strict=False))


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    name = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")
    return f"{name or platform.machine()}, {torch.get_num_threads()} threads"
