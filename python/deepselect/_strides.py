"""What the op asks of input's strides, for code that copies where it must."""

from __future__ import annotations

from itertools import pairwise

from torch import Tensor


def is_rows(x: Tensor) -> bool:
    """Whether the op takes ``x``: last stride 1, and leading strides that collapse to one."""
    *leading, last = zip(x.shape, x.stride(), strict=True)
    if x.numel() == 0:
        return True
    if last[0] > 1 and last[1] != 1:
        return False
    wide = [dimension for dimension in leading if dimension[0] > 1]
    return all(stride == size * inner for (_, stride), (size, inner) in pairwise(wide))
