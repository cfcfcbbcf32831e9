"""Rules of the code base that no formatter knows; exits 1 with a line per breach.

* A source file has at most 500 lines: past that it is two.
* Kernels and the contract do not include torch; only the op's glue does.
* Links between documents lead somewhere.
* No reference to directories of a developer's machine.
* One version of the package, wherever it is written.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAX_LINES = 500
SOURCE_SUFFIXES = {".h", ".cpp", ".cu", ".cuh", ".asc", ".py", ".sh"}
# Torch's headers belong to the glue between tensors and TopkParams.
TORCH_ALLOWED = re.compile(r"csrc/op/|csrc/[a-z]+/op_[a-z]+\.cpp$")
TORCH_INCLUDE = re.compile(r"#include\s*[<\"]torch/")
MARKDOWN_LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")
VERSIONS = {
    "pyproject.toml": re.compile(r'^version = "([^"]+)"', re.MULTILINE),
    "CMakeLists.txt": re.compile(r"^project\(deepselect VERSION (\S+)", re.MULTILINE),
    "python/deepselect/__init__.py": re.compile(r'^__version__ = "([^"]+)"', re.MULTILINE),
}
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|home|root|Users)/\w")


def tracked_files() -> list[Path]:
    """Files that git knows or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for name in sorted(set(names.splitlines())) if (path := ROOT / name).is_file()]


def breaches(path: Path) -> Iterator[str]:
    """What is wrong with one file."""
    name = path.relative_to(ROOT).as_posix()
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        return
    if path.suffix in SOURCE_SUFFIXES:
        num_lines = text.count("\n")
        if num_lines > MAX_LINES:
            yield f"{name}: {num_lines} lines, at most {MAX_LINES}: split it"
    is_torch_free = name.startswith("csrc/") and not TORCH_ALLOWED.search(name)
    if is_torch_free and TORCH_INCLUDE.search(text):
        yield f"{name}: includes torch; only csrc/op and op_<backend>.cpp may"
    if path.suffix == ".md":
        for target in MARKDOWN_LINK.findall(text):
            if not (path.parent / target).exists():
                yield f"{name}: link to {target}, which does not exist"
    if name != "tools/check_sources.py" and (found := MACHINE_PATH.search(text)):
        yield f"{name}: names a directory of one machine: {found[0]}..."


def version_breaches() -> Iterator[str]:
    """Where the package's version differs."""
    found = {name: pattern.findall((ROOT / name).read_text()) for name, pattern in VERSIONS.items()}
    first, *others = found.items()
    for name, versions in others:
        if versions != first[1]:
            yield f"{name}: version {versions}, but {first[0]} has {first[1]}"


def main() -> int:
    """Prints every breach; returns the exit status."""
    found = [breach for path in tracked_files() for breach in breaches(path)]
    found += version_breaches()
    print("\n".join(found) if found else "source checks: nothing found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
