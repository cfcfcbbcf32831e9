"""Exact top-k selection, bit-identical on CPU, CUDA and Ascend: ``deepselect.topk``.

Importing registers ``torch.ops.deepselect.topk`` and does nothing else.
"""

from deepselect import _load

_load.load_all()

from deepselect import _ops, _vmap, contract, reference  # noqa: E402, F401
from deepselect.api import TopK, empty_rows, topk  # noqa: E402

__all__ = ["TopK", "contract", "empty_rows", "reference", "topk"]
__version__ = "0.1.0"
