"""The selections of other libraries, under their own signatures: one module per library.

Each function takes the arguments of the original, in its order and with its defaults, and writes
the same padding; what is selected follows ``docs/contract.md``. ``docs/adapters.md`` has the line
to change in a caller and the differences that remain. Nothing here imports the other library.
"""

from deepselect.compat import deep_select, flashinfer, sglang, tensorrt_llm, torch, vllm

__all__ = ["deep_select", "flashinfer", "sglang", "tensorrt_llm", "torch", "vllm"]
