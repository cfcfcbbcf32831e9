"""What tests of the op share, here and in code that uses it: the backends that can run, an exact
comparison of selections, and output buffers that notice a stray write.

Example:
    expected = reference.select(x, k, end=lengths, order="value")
    values, indices = deepselect.topk(x, k, end=lengths, order="value")
    assert_same_selection(values, indices, expected, order="value")
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

import deepselect
from deepselect import _load, contract
from deepselect.reference import Selection

__all__ = [
    "Backend",
    "GuardedTensor",
    "assert_same_bits",
    "assert_same_selection",
    "assert_same_weights",
    "available_backends",
    "chosen_variant",
    "topk_of_variant",
    "variants",
]


@dataclass(frozen=True)
class Backend:
    """A backend that can run in this process.

    Attributes:
        device_type: ``"cpu"``, ``"cuda"`` or ``"npu"``.
        device: where tests put their tensors.
        limits: what it accepts.
    """

    device_type: str
    device: torch.device
    limits: contract.Limits


def available_backends() -> list[Backend]:
    """The backends whose library is loaded and whose device is present; CPU comes first."""
    backends = []
    for backend in _load.BACKENDS:
        name = backend.device_type
        if name in _load.absent:
            continue
        module = getattr(torch, name, None)
        if name == "cpu" or (module is not None and module.is_available()):
            device = torch.device(name) if name == "cpu" else torch.device(name, 0)
            backends.append(Backend(name, device, contract.limits(name)))
    return backends


def variants(backend: str) -> list[str | None]:
    """Names of a backend's kernel variants that can be forced, None, its own choice, first.

    A variant V is there where the backend's library registers the private op
    ``deepselect::_topk_V`` (``_topk_V.out``) with the signature of ``topk`` (``topk.out``).
    """
    key = next(b.dispatch_key for b in _load.BACKENDS if b.device_type == backend)
    registered = torch._C._dispatch_get_registrations_for_dispatch_key(key)
    names = (name.removeprefix(_FORCED) for name in registered if name.startswith(_FORCED))
    return [None, *sorted(name for name in names if not name.endswith(".out"))]


_FORCED = "deepselect::_topk_"

_ROW_ARGUMENTS = (
    *("begin", "end", "index_offset"),
    *("page_table", "page_table_row", "page_table_begin", "bias"),
)


def topk_of_variant(backend: str, variant: str | None) -> Callable[..., deepselect.TopK]:
    """:func:`deepselect.topk` with one variant forced, for tests and benchmarks.

    Forced, it has no gradient, its errors are all RuntimeErrors, and one says "cannot serve this
    call" where the variant is not made for the call.

    Raises:
        ValueError: the backend has no variant of this name.
    """
    if variant not in variants(backend):
        names = ", ".join(map(repr, variants(backend)))
        raise ValueError(
            f"deepselect: variant must be one of {names} on {backend}, got {variant!r}"
        )
    if variant is None:
        return deepselect.topk
    op = getattr(torch.ops.deepselect, f"_topk_{variant}")

    def topk(
        input: Tensor,
        k: int,
        *,
        out: tuple[Tensor | None, Tensor] | None = None,
        raw_indices: Tensor | None = None,
        return_values: bool = True,
        index_dtype: torch.dtype | None = None,
        **arguments: Any,
    ) -> deepselect.TopK:
        of_rows = [arguments.pop(name, None) for name in _ROW_ARGUMENTS]
        if out is not None:
            values, indices = out
            op.out(
                input,
                k,
                *of_rows,
                indices=indices,
                values=values,
                raw_indices=raw_indices,
                **arguments,
            )
            return deepselect.TopK(values, indices)
        values, indices = op.default(
            input,
            k,
            *of_rows,
            return_values=return_values,
            index_dtype=index_dtype,
            **arguments,
        )
        return deepselect.TopK(values if return_values else None, indices)

    return topk


def chosen_variant(
    input: Tensor,
    k: int,
    *,
    begin: Tensor | None = None,
    end: Tensor | None = None,
    order: str = "any",
) -> str:
    """The variant that :func:`deepselect.topk` would take for this call.

    Args:
        input: on CUDA, whose backend chooses by shape; ``rows`` and ``k`` at least 1.
        k, begin, end, order: as for :func:`deepselect.topk`; nothing else has a say.

    Raises:
        ValueError: ``input`` is on another device.
        RuntimeError: the call is not valid.
    """
    if input.device.type != "cuda":
        raise ValueError(f"deepselect: input must be on CUDA, got {input.device.type}")
    name = torch.ops.deepselect._chosen_variant(input, k, begin, end, order=order)
    return str(name)


def bits_type(dtype: torch.dtype) -> torch.dtype:
    """The integer type of the same width."""
    return {2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]


def _bits(x: Tensor) -> Tensor:
    return x.detach().cpu().view(bits_type(x.dtype))


def _assert_same_type(actual: Tensor, expected: Tensor, name: str) -> None:
    assert actual.dtype == expected.dtype, f"{name}: dtype {actual.dtype}, not {expected.dtype}"
    assert actual.shape == expected.shape, (
        f"{name}: shape {tuple(actual.shape)}, not {tuple(expected.shape)}"
    )


def assert_same_bits(actual: Tensor, expected: Tensor, name: str = "tensor") -> None:
    """Asserts equal shape, dtype and bits: NaN equals itself, ``-0.0`` is not ``+0.0``.

    Raises:
        AssertionError: names the first place of difference.
    """
    _assert_same_type(actual, expected, name)
    actual_bits, expected_bits = _bits(actual), _bits(expected)
    if torch.equal(actual_bits, expected_bits):
        return
    different = (actual_bits != expected_bits).nonzero()
    place = tuple(different[0].tolist())
    raise AssertionError(
        f"{name}: {len(different)} of {actual.numel()} entries differ, first at {list(place)}: "
        f"got {actual[place].item()} (bits {actual_bits[place].item():#x}), "
        f"expected {expected[place].item()} (bits {expected_bits[place].item():#x})"
    )


def assert_same_selection(
    values: Tensor | None,
    indices: Tensor,
    expected: Selection,
    *,
    order: str = "any",
    raw_indices: Tensor | None = None,
    has_weights: bool = False,
) -> None:
    """Asserts that outputs of the op are exactly those of :func:`deepselect.reference.select`.

    Args:
        values: ``(..., k)``, or None where they were not asked for.
        indices: ``(..., k)``, int32 or int64.
        expected: what the reference selected.
        order: the order that was asked for. ``"any"``: valid entries may be permuted within a
            row, index and value together; everything else, pads included, is exact.
        raw_indices: ``(..., k)`` int32, where they were asked for.
        has_weights: whether values are weights, which are exact to the contract's tolerance only.

    Raises:
        AssertionError: says which output differs, and where.
    """
    assert (values is None) == (expected.values is None), "values: given and expected differ"
    outputs = {"indices": (indices, expected.indices)}
    if values is not None and expected.values is not None:
        outputs["values"] = (values, expected.values)
    if raw_indices is not None:
        outputs["raw_indices"] = (raw_indices, expected.raw_indices)
    for name, (actual, wanted) in outputs.items():
        _assert_same_type(actual, wanted, name)
    if order == "any":
        num_valid = expected.num_valid.cpu()
        exact = [pair for name, pair in outputs.items() if not (has_weights and name == "values")]
        actual_order = _canonical_order([_bits(a) for a, _ in exact], num_valid)
        expected_order = _canonical_order([_bits(e) for _, e in exact], num_valid)
        outputs = {
            name: (_permute(actual, actual_order), _permute(wanted, expected_order))
            for name, (actual, wanted) in outputs.items()
        }
    for name, (actual, wanted) in outputs.items():
        if has_weights and name == "values":
            assert_same_weights(actual, wanted)
        else:
            assert_same_bits(actual, wanted, name)


def assert_same_weights(actual: Tensor, expected: Tensor) -> None:
    """Asserts that weights are those of the formula to the contract's tolerance, NaN for NaN.

    Args:
        actual: float32.
        expected: float32, from float64.

    Raises:
        AssertionError: names the first place of difference.
    """
    _assert_same_type(actual, expected, "weights")
    exact, got = expected.cpu().double(), actual.detach().cpu().double()
    close = (got - exact).abs() <= 1e-6 * exact.abs() + 2.0**-126
    if bool((wrong := ~(close | (got.isnan() & exact.isnan()) | (got == exact))).any()):
        place = tuple(wrong.nonzero()[0].tolist())
        raise AssertionError(
            f"weights: {int(wrong.sum())} of {wrong.numel()} differ, first at {list(place)}: "
            f"got {got[place].item()!r}, expected {exact[place].item()!r}"
        )


def _permute(x: Tensor, order: Tensor) -> Tensor:
    as_bits = bits_type(x.dtype)
    return x.detach().cpu().view(as_bits).gather(-1, order).view(x.dtype)


def _canonical_order(outputs: Sequence[Tensor], num_valid: Tensor) -> Tensor:
    """Permutation of every row that sorts its valid entries by all outputs, and moves no pad."""
    first = outputs[0]
    order = torch.arange(first.shape[-1]).expand(first.shape)
    for output in outputs:
        by_output = output.gather(-1, order).sort(dim=-1, stable=True).indices
        order = order.gather(-1, by_output)
    is_pad = (order >= num_valid[..., None]).long()
    order = order.gather(-1, is_pad.sort(dim=-1, stable=True).indices)
    pads_in_place = torch.arange(first.shape[-1]).expand(first.shape)
    return torch.where(pads_in_place < num_valid[..., None], order, pads_in_place)


class GuardedTensor:
    """A view of a larger buffer that can tell whether anything round it was written.

    Attributes:
        view: the tensor to pass as an output; holds the guard pattern until written.
    """

    _PATTERN = 0x5AA5_C3E1_96D2_7B48

    def __init__(
        self,
        shape: Sequence[int],
        dtype: torch.dtype,
        device: torch.device | str = "cpu",
        *,
        gap_items: int = 3,
        offset_items: int = 1,
    ) -> None:
        """Lays rows of ``shape[-1]`` items, ``gap_items`` apart, ``offset_items`` into a buffer."""
        *leading, cols = shape
        num_rows = torch.Size(leading).numel()
        row_stride = cols + gap_items
        bits = 8 * dtype.itemsize
        pattern = self._PATTERN & (2 ** (bits - 1) - 1)
        self._storage = torch.full(
            (offset_items + num_rows * row_stride + 16,),
            pattern,
            dtype=bits_type(dtype),
            device=device,
        )
        rows = self._storage[offset_items:].as_strided(
            (num_rows, cols), (row_stride, 1), offset_items
        )
        self._rows = rows
        self._pattern = pattern
        self.view: Tensor = (
            rows.view(dtype).unflatten(0, leading) if leading else rows.view(dtype)[0]
        )

    def assert_intact(self, name: str = "output") -> None:
        """Asserts that no item outside ``view`` was written; ends the use of ``view``.

        Raises:
            AssertionError: says where.
        """
        self._rows.fill_(self._pattern)
        written = (self._storage != self._pattern).nonzero()
        assert len(written) == 0, (
            f"{name}: written outside the view, {len(written)} items, "
            f"first at item {written[0].item()} of the buffer"
        )
