"""Selection from rows whose columns are split over the ranks of a process group.

Every rank selects from its own columns, the candidates are exchanged in one all-gather, and every
rank merges them by the same op: what comes out is, bit for bit, what :func:`deepselect.topk` gives
for the shards side by side.

Ties stay exact without a second look: a rank's candidates are in ascending position and ranks are
in the order of their columns, so the lower place in the row of all candidates is the lower position
in the whole row.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

import deepselect
from deepselect.api import TopK

_HEADER_BYTES = 8  # the shard's columns, as one int64
_INDEX_BYTES = 4

# all_gather_into_tensor has this name from torch 2.13 on.
_all_gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor


def topk(
    shard: Tensor,
    k: int,
    *,
    group: dist.ProcessGroup | None = None,
    offset: int | None = None,
    begin: Tensor | None = None,
    end: Tensor | None = None,
    order: Literal["any", "value", "index"] = "any",
    largest: bool = True,
    nan: Literal["largest", "smallest", "poison"] = "largest",
    return_values: bool = True,
    index_dtype: torch.dtype | None = None,
    pad_index: int = -1,
    pad_value: float | None = None,
) -> TopK:
    """Selects the ``k`` best of every row whose columns lie on the ranks of ``group``, exactly.

    On every rank the result is that of ``deepselect.topk(torch.cat(shards, -1), k, ...)`` with the
    same arguments: indices are positions in the whole row, relative to ``begin``, and ties go to
    the lower one.

    All ranks of the group call it together, with the same leading shape, dtype and arguments but
    for ``shard``'s columns and ``offset``; this is not checked. The host does not wait for the
    device.

    Args:
        shard: ``(..., cols)``, this rank's columns; as ``input`` of :func:`deepselect.topk`. The
            columns follow each other in the order of ranks; each rank may have another number of
            them, 0 included.
        k: number of elements to select, ``>= 0``.
        group: the process group. Default: the default group.
        offset: the position in the whole row of this rank's first column. Needed with ``begin`` or
            ``end`` only.
        begin, end: ``(rows,)`` int32 or int64: the window of each row, in positions of the whole
            row, the same on every rank. Default: the whole row.
        order, largest, nan, return_values, pad_index, pad_value: as in :func:`deepselect.topk`.
        index_dtype: ``torch.int32`` (default) or ``torch.int64``; whole rows of 2^31 columns and
            more need the latter.

    Returns:
        ``(values, indices)``, each of shard's leading shape plus ``k``, the same on every rank.
        ``values`` is differentiable with respect to this rank's shard: the gradient of an element
        reaches the rank that holds it, from that rank's own gradient. No rank sends gradients:
        where the ranks' losses differ, sum their gradients of ``values`` first.

    Raises:
        TypeError: a wrong type or dtype.
        ValueError: a wrong value, shape, stride, device or alignment; ``begin`` or ``end`` without
            ``offset``; on CPU also an ``offset`` that is not the sum of the columns before; no
            process group.
        RuntimeError: no backend is built for shard's device.
    """
    if offset is None and (begin is not None or end is not None):
        raise ValueError(
            "deepselect.distributed.topk: offset must be given with begin or end: the position in "
            "the whole row of this rank's first column"
        )
    if k < 0:
        raise ValueError(f"deepselect.distributed.topk: k must be >= 0, got {k}")
    begin, end = _from_zero(begin), _from_zero(end)
    num_rows = shard.shape[:-1].numel()
    layout = _Layout(num_rows, k, shard.dtype)
    packet = _select(shard, layout, begin, end, offset or 0, largest, nan)
    packets = packet.new_empty(dist.get_world_size(group), layout.num_bytes)
    _all_gather(packets.view(-1), packet, group=group)

    widths = layout.columns(packets)
    offsets = widths.cumsum(0) - widths
    rank = dist.get_rank(group)
    if offset is not None and shard.device.type == "cpu" and offset != int(offsets[rank]):
        raise ValueError(
            f"deepselect.distributed.topk: offset must be the columns of the ranks before, "
            f"{int(offsets[rank])}, got {offset}"
        )
    shares = _shares(widths, offsets, begin, end, k, num_rows)
    candidates = _compact(layout.values(packets), layout.indices(packets), shares)

    values, places = deepselect.topk(
        candidates.values,
        k,
        end=shares.totals,
        order=order,
        largest=largest,
        nan=nan,
        return_values=return_values,
        pad_value=pad_value,
    )
    is_valid = places >= 0
    indices = candidates.indices.gather(1, places.clamp(min=0).long())
    if values is not None and shard.requires_grad and torch.is_grad_enabled():
        columns = (indices + shares.first - offsets[rank]).where(is_valid, -1)
        rows = shard.reshape(num_rows, shard.shape[-1])
        values = _ValuesOfShard.apply(rows, values, columns)  # type: ignore[no-untyped-call]
    indices = indices.where(is_valid, pad_index).to(index_dtype or torch.int32)
    shape = (*shard.shape[:-1], k)
    return TopK(None if values is None else values.reshape(shape), indices.reshape(shape))


def _from_zero(bound: Tensor | None) -> Tensor | None:
    """As int64 from which an offset can be taken without wrapping; the op refuses other types."""
    if not isinstance(bound, Tensor) or bound.dtype not in (torch.int32, torch.int64):
        return bound
    return bound.long().clamp(min=0)


class _Layout(NamedTuple):
    """Where a rank's packet has its number of columns, its candidates' indices and their values.

    Every section starts at a multiple of 8 bytes, so that packets can be viewed in place.
    """

    num_rows: int
    k: int
    dtype: torch.dtype

    @property
    def values_at(self) -> int:
        return _HEADER_BYTES + _round_up_to_8(self.num_rows * self.k * _INDEX_BYTES)

    @property
    def num_bytes(self) -> int:
        return self.values_at + _round_up_to_8(self.num_rows * self.k * self.dtype.itemsize)

    def columns(self, packets: Tensor) -> Tensor:
        """``(packets,)`` int64."""
        return packets[:, :_HEADER_BYTES].view(torch.int64)[:, 0]

    def indices(self, packets: Tensor) -> Tensor:
        """``(packets, rows, k)`` int32."""
        return self._items(packets, _HEADER_BYTES, torch.int32)

    def values(self, packets: Tensor) -> Tensor:
        """``(packets, rows, k)`` of the layout's dtype."""
        return self._items(packets, self.values_at, self.dtype)

    def _items(self, packets: Tensor, start: int, dtype: torch.dtype) -> Tensor:
        stop = start + self.num_rows * self.k * dtype.itemsize
        items: Tensor = packets[:, start:stop].view(dtype).unflatten(1, (self.num_rows, self.k))
        return items


def _round_up_to_8(num_bytes: int) -> int:
    return -(-num_bytes // 8) * 8


def _select(
    shard: Tensor,
    layout: _Layout,
    begin: Tensor | None,
    end: Tensor | None,
    offset: int,
    largest: bool,
    nan: Literal["largest", "smallest", "poison"],
) -> Tensor:
    """A packet of this rank's candidates in ascending position: the op writes it in place."""
    packet = torch.empty(layout.num_bytes, dtype=torch.uint8, device=shard.device)
    shape = (*shard.shape[:-1], layout.k)
    deepselect.topk(
        shard.detach(),
        layout.k,
        begin=None if begin is None else begin - offset,
        end=None if end is None else end - offset,
        order="index",
        largest=largest,
        nan=nan,
        out=(layout.values(packet[None]).view(shape), layout.indices(packet[None]).view(shape)),
    )
    layout.columns(packet[None]).fill_(shard.shape[-1])
    return packet


class _Shares(NamedTuple):
    """What each rank has to offer to each row.

    Attributes:
        first: ``(rows, 1)`` or ``(1, 1)``, the begin of the row's window.
        base: ``(rows, ranks)`` or ``(1, ranks)``: what turns a rank's index into the row's.
        counts: the same shape: how many candidates of the rank are none of its pads. A poisoned
            rank counts its window's, which then hold NaN.
        totals: ``(rows,)``, the sum of counts.
    """

    first: Tensor
    base: Tensor
    counts: Tensor
    totals: Tensor


def _shares(
    widths: Tensor,
    offsets: Tensor,
    begin: Tensor | None,
    end: Tensor | None,
    k: int,
    num_rows: int,
) -> _Shares:
    first = widths.new_zeros(1, 1) if begin is None else begin[:, None]
    low = (first - offsets).clamp(min=0).minimum(widths)
    high = widths if end is None else (end[:, None] - offsets).minimum(widths)
    counts = (high.maximum(low) - low).clamp(max=k)
    return _Shares(
        first, low + offsets - first, counts, counts.sum(1).expand(num_rows).contiguous()
    )


class _Candidates(NamedTuple):
    """The candidates of all ranks, pads last: ``(rows, ranks * k)`` values and row indices."""

    values: Tensor
    indices: Tensor


def _compact(values: Tensor, local_indices: Tensor, shares: _Shares) -> _Candidates:
    """Brings the candidates of every row together, in the order of ranks, and pads behind them.

    A pad cannot be told from a value (-inf is one), so it must not stand in the window of the
    merge. Where each item goes is a permutation that follows from the counts.
    """
    num_ranks, num_rows, k = values.shape
    stops = shares.counts.cumsum(1)[..., None]
    counts = shares.counts[..., None]
    slot = torch.arange(k, device=values.device)
    place = torch.arange(num_ranks * k, device=values.device).view(num_ranks, k)
    place = torch.where(slot < counts, stops - counts + slot, stops[:, -1:] + place - stops)
    place = place.expand(num_rows, num_ranks, k).flatten(1)

    compacted = deepselect.empty_rows((num_rows, num_ranks * k), values.dtype, values.device)
    # As integers: torch's copies of floats may change the bits of a NaN.
    as_bits = torch.int16 if values.dtype.itemsize == 2 else torch.int32
    value_bits = values.view(as_bits).transpose(0, 1).flatten(1)
    compacted.view(as_bits).scatter_(1, place, value_bits)
    indices = (local_indices.transpose(0, 1) + shares.base[..., None]).flatten(1)
    return _Candidates(compacted, torch.empty_like(indices).scatter_(1, place, indices))


class _ValuesOfShard(torch.autograd.Function):
    """``values`` as they are, with a gradient to the columns of this rank's shard they come from.

    Not a gather from the shard, which may change the bits of a NaN.
    """

    @staticmethod
    def forward(ctx: Any, shard: Tensor, values: Tensor, columns: Tensor) -> Tensor:
        ctx.save_for_backward(columns)
        ctx.shape = shard.shape
        return values.view_as(values)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        (columns,), num_cols = ctx.saved_tensors, ctx.shape[1]
        is_mine = (columns >= 0) & (columns < num_cols)
        gradient = gradients[0].where(is_mine, 0)
        # What lies on other ranks adds zero to a column that is cut off.
        padded = gradient.new_zeros(ctx.shape[0], num_cols + 1)
        padded = padded.scatter_add(1, columns.where(is_mine, num_cols), gradient)
        return padded[:, :num_cols], None, None
