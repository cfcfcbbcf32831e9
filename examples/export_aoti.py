"""``torch.export`` and AOTInductor: a selection compiled ahead of time, for any number of rows.

The package holds a shared library that calls the operator; whoever loads it imports ``deepselect``
(or loads its libraries), which registers the operator. Compiling needs g++.

    python examples/export_aoti.py [package.pt2]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import torch
from torch import Tensor

import deepselect

TOP_K = 64


class Selector(torch.nn.Module):
    """Scores of scaled dot products, and the best positions within each row's length."""

    def forward(self, queries: Tensor, keys: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Selects.

        Args:
            queries: ``(rows, dim)``.
            keys: ``(positions, dim)``.
            lengths: ``(rows,)`` int32.

        Returns:
            ``(rows, TOP_K)`` values and int32 indices, best first.
        """
        scores = torch.relu(queries @ keys.t()) * keys.shape[1] ** -0.5
        values, indices = deepselect.topk(scores, TOP_K, end=lengths, order="value")
        assert values is not None
        return values, indices


def example(rows: int, positions: int) -> tuple[Tensor, Tensor, Tensor]:
    """Inputs of these sizes."""
    generator = torch.Generator().manual_seed(rows)
    queries = torch.randn(rows, 32, generator=generator)
    keys = torch.randn(positions, 32, generator=generator)
    lengths = torch.randint(0, positions + 1, (rows,), generator=generator).int()
    return queries, keys, lengths


def build(package: Path) -> None:
    """Exports the module and compiles it into ``package``."""
    rows = torch.export.Dim("rows", min=2, max=4096)
    positions = torch.export.Dim("positions", min=2, max=1 << 20)
    program = torch.export.export(
        Selector(),
        example(8, 1000),
        dynamic_shapes={"queries": {0: rows}, "keys": {0: positions}, "lengths": {0: rows}},
    )
    torch._inductor.aoti_compile_and_package(program, package_path=str(package))


def main(package: Path) -> None:
    """Builds the package, loads it and compares it with the module on other shapes."""
    build(package)
    loaded = torch._inductor.aoti_load_package(str(package))
    for sizes in ((8, 1000), (33, 5000), (2, 40)):
        inputs = example(*sizes)
        for compiled, eager in zip(loaded(*inputs), Selector()(*inputs), strict=True):
            assert torch.equal(compiled, eager)
        print(f"{sizes[0]} rows of {sizes[1]}: equal")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as directory:
            main(Path(directory, "selector.pt2"))
