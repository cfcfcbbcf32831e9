"""The table of calls with weights, a bias or both: the cases of :mod:`cases` with two more axes."""

from __future__ import annotations

from functools import cache

from biases import BIASES, WEIGHTS
from cases import AXES, PAIRWISE_ROUNDS, Case, resolve
from pairwise import all_pairs

# Enough for the gate variant to give each row to one lane on an A100, an H200 and a B200, and no
# whole warp nor pair of lanes at the end.
_MANY_ROWS = 13_001
_MORE_ROWS = 40_001  # the same for more than 64 columns


@cache
def weighted_cases() -> tuple[Case, ...]:
    """Pairwise, then the shapes of routers one by one, some with many rows, and a few long rows."""
    axes = AXES | {
        "dtype": ("bfloat16", "float16", "float32"),
        "cols": (0, 1, 2, 7, 8, 9, 16, 31, 64, 65, 128, 160, 256, 257, 511, 512, 513, 4097, 65537),
        "k": (0, 1, 2, 6, 8, 9, 31, 32, 33, 512, "cols+1"),
        "weights": WEIGHTS,
        "bias": tuple(BIASES),
    }
    choices = [choice for seed in range(PAIRWISE_ROUNDS) for choice in all_pairs(axes, seed)]
    for choice in choices:
        if choice["weights"] != "none":
            choice["outputs"] = choice["outputs"].replace("_indices", "")
    cases = [resolve(choice) for choice in choices]
    for dtype in ("bfloat16", "float16", "float32"):
        cases += [
            Case(dtype=dtype, rows=257, cols=cols, k=k, weights=weights, bias=bias, order="any")
            for cols in (8, 16, 64, 128, 256, 512)
            for k in (1, 2, 6, 8)
            for weights in WEIGHTS
            for bias in ("none", "normal")
        ]
        cases += [
            Case(dtype, rows, cols, k, layout=layout, weights=weights, bias=bias, outputs=to)
            for rows, cols in (
                *((_MANY_ROWS, cols) for cols in (8, 13, 16, 17, 32, 60, 64)),
                *((_MORE_ROWS, cols) for cols in (100, 128)),
            )
            for k, layout, weights, bias, to in (
                (8, "contiguous", "softmax_selected", "none", "new"),
                (3, "misaligned", "softmax", "none", "out"),
                (2, "contiguous", "softmax_selected", "none", "new"),
                (1, "strided", "sigmoid", "none", "out"),
                (8, "strided", "sigmoid_selected", "normal", "out"),
                (6, "contiguous", "none", "normal", "new"),
            )
        ]
        cases += [
            Case(dtype=dtype, rows=2, cols=300_000, k=2048, weights=weights, bias=bias)
            for weights in WEIGHTS
            for bias in ("none", "normal")
        ]
    return tuple(dict.fromkeys(c for c in cases if (c.weights, c.bias) != ("none", "none")))
