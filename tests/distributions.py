"""What the values of an input can be: named distributions, for every test and benchmark.

Each makes a ``(rows, cols)`` tensor of ``dtype`` on the generator's device. For int32, real values
are taken as fixed point with 16 fraction bits, and patterns of bits as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Generator, Tensor

MIN_INT32, MAX_INT32 = -(2**31), 2**31 - 1

Distribution = Callable[[int, int, torch.dtype, Generator], Tensor]


def bits_type(dtype: torch.dtype) -> torch.dtype:
    """The integer type of the same width."""
    return {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]


def _normal(rows: int, cols: int, generator: Generator) -> Tensor:
    return torch.randn(rows, cols, generator=generator, device=generator.device)


def _integers(low: int, high: int, rows: int, cols: int, generator: Generator) -> Tensor:
    return torch.randint(low, high, (rows, cols), generator=generator, device=generator.device)


def _positions(rows: int, cols: int, generator: Generator) -> Tensor:
    return torch.arange(cols, device=generator.device).expand(rows, cols)


def _cast(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Real values in `dtype`; as fixed point with 16 fraction bits where that is int32."""
    if dtype.is_floating_point:
        return x.to(dtype)
    return (x.double() * 65536).clamp(MIN_INT32, MAX_INT32).to(dtype)


def _from_bits(bits: Tensor, dtype: torch.dtype) -> Tensor:
    return bits.to(bits_type(dtype)).view(dtype)


def normal(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    return _cast(_normal(rows, cols, generator), dtype)


def shifted(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    return _cast(_normal(rows, cols, generator) + 1000, dtype)


def tiny_scale(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    scale = torch.finfo(dtype).tiny * 4 if dtype.is_floating_point else 2**-14
    return _cast(_normal(rows, cols, generator) * scale, dtype)


def huge_scale(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    if not dtype.is_floating_point:
        return _cast(_normal(rows, cols, generator) * 2**14, dtype)
    limit = torch.finfo(dtype).max
    return _cast(
        (_normal(rows, cols, generator).double() * (limit / 4)).clamp(-limit, limit), dtype
    )


def few_distinct(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    return _cast(_integers(0, 16, rows, cols, generator) / 16, dtype)


def all_equal(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    return torch.ones(rows, cols, dtype=dtype, device=generator.device)


def late_extremes(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    """One value everywhere, but for one below and one above it in the last two columns: one more
    than k survive any threshold that the equal ones set.
    """
    x = torch.ones(rows, cols, dtype=dtype, device=generator.device)
    x[:, -2:-1] = 0
    x[:, -1:] = 2
    return x


def relu(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    return _cast(_normal(rows, cols, generator).relu(), dtype)


def sparse(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    """One in fifty above zero, the rest exactly zero."""
    return _cast((_normal(rows, cols, generator) - 2).relu(), dtype)


def ascending(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    """Never falls from column to column; distinct values as far as the type has them."""
    return _cast(_positions(rows, cols, generator) / max(cols, 1) + 1, dtype)


def descending(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    return ascending(rows, cols, dtype, generator).flip(-1)


def staircase(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    """Sixteen ascending steps of equal values."""
    return _cast(_positions(rows, cols, generator) * 16 // max(cols, 1) + 0.0, dtype)


def sawtooth(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    return _cast(_positions(rows, cols, generator) % 64 / 64, dtype)


def same_leading_bits(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    """Values that differ in their low bits only: ten of 32, five of 16."""
    if dtype.itemsize == 4:
        return _from_bits(0x3F900000 | _integers(0, 1024, rows, cols, generator), dtype)
    return _from_bits(0x3F80 | _integers(0, 32, rows, cols, generator), dtype)


def ascending_bits(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    """Consecutive bit patterns of positive numbers, as many as there are columns, then anew."""
    if dtype.itemsize == 4:
        return _from_bits(0x3F800000 + _positions(rows, cols, generator), dtype)
    return _from_bits(0x0400 + _positions(rows, cols, generator) % 0x4000, dtype)


def uniform_bits(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    """Every bit pattern alike: all exponents, NaN, infinities, subnormals."""
    half_range = 1 << (dtype.itemsize * 8 - 1)
    return _from_bits(_integers(-half_range, half_range, rows, cols, generator), dtype)


def subnormals(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    """Both signs, the zeros among them (small integers of both signs for int32)."""
    mantissa = {torch.bfloat16: 0x7F, torch.float16: 0x3FF}.get(dtype, 0x7FFFFF)
    magnitude = _integers(0, mantissa + 1, rows, cols, generator)
    sign = _integers(0, 2, rows, cols, generator)
    if not dtype.is_floating_point:
        return torch.where(sign == 1, -magnitude, magnitude).to(dtype)
    return _from_bits(magnitude - (sign << (dtype.itemsize * 8 - 1)), dtype)


def signed_zeros(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    """-0.0 and +0.0 at random, one in ten another value near them."""
    signs = _integers(0, 2, rows, cols, generator) * 2 - 1
    others = _integers(0, 10, rows, cols, generator) == 0
    return _cast(torch.where(others, signs * 2.0**-14, signs * 0.0), dtype)


def infinities(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    x = _normal(rows, cols, generator)
    x = x.masked_fill(x > 1.2, float("inf")).masked_fill(x < -1.2, float("-inf"))
    return _cast(x, dtype)


def _random_nans(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    infinity = {torch.bfloat16: 0x7F80, torch.float16: 0x7C00, torch.float32: 0x7F800000}[dtype]
    largest = torch.iinfo(bits_type(dtype)).max
    payload = _integers(infinity + 1, largest + 1, rows, cols, generator)
    sign = _integers(0, 2, rows, cols, generator)
    return _from_bits(payload - (sign << (dtype.itemsize * 8 - 1)), dtype)


def some_nans(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    """One in six NaN, both signs, quiet and signalling, any payload."""
    x = normal(rows, cols, dtype, generator)
    if not dtype.is_floating_point:
        return x
    nans = _random_nans(rows, cols, dtype, generator)
    # Chosen as integers: a float copy may quieten a signalling NaN.
    where = _integers(0, 6, rows, cols, generator) == 0
    as_bits = bits_type(dtype)
    return torch.where(where, nans.view(as_bits), x.view(as_bits)).view(dtype)


def rare_best(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    """One in ninety has the best key there is (NaN, or the greatest integer): often more than are
    wanted, and fewer than survive a bound from a sample.
    """
    where = _integers(0, 90, rows, cols, generator) == 0
    x = normal(rows, cols, dtype, generator)
    best = all_nan(rows, cols, dtype, generator)
    as_bits = bits_type(dtype)
    return torch.where(where, best.view(as_bits), x.view(as_bits)).view(dtype)


def all_nan(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    if not dtype.is_floating_point:
        return torch.full((rows, cols), MAX_INT32, dtype=dtype, device=generator.device)
    return _random_nans(rows, cols, dtype, generator)


def hot_block(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    """Normal, but the best elements lie side by side: up to 4096 columns stand above the rest."""
    x = _normal(rows, cols, generator)
    width = min(cols, 4096)
    start = int(_integers(0, cols - width + 1, 1, 1, generator))
    x[:, start : start + width] += 16
    return _cast(x, dtype)


def runs(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    """Sixty-four neighbours share a level: a sample of neighbours says less than its size does."""
    levels = _normal(rows, -(-cols // 64), generator).repeat_interleave(64, 1)[:, :cols]
    return _cast(levels + _normal(rows, cols, generator) / 1024, dtype)


def alternating_extremes(rows: int, cols: int, dtype: torch.dtype, generator: Generator) -> Tensor:
    """Greatest, least, greatest, ..."""
    info: Any = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    x = torch.empty(rows, cols, dtype=dtype, device=generator.device)
    x[:, 0::2] = info.max
    x[:, 1::2] = info.min
    return x


DISTRIBUTIONS: dict[str, Distribution] = {
    function.__name__: function
    for function in (
        normal,
        shifted,
        tiny_scale,
        huge_scale,
        few_distinct,
        all_equal,
        late_extremes,
        relu,
        sparse,
        ascending,
        descending,
        staircase,
        sawtooth,
        same_leading_bits,
        ascending_bits,
        uniform_bits,
        subnormals,
        signed_zeros,
        infinities,
        some_nans,
        rare_best,
        all_nan,
        hot_block,
        runs,
        alternating_extremes,
    )
}


def make_values(
    distribution: str,
    rows: int,
    cols: int,
    dtype: torch.dtype,
    *,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> Tensor:
    """A contiguous ``(rows, cols)`` tensor; the same for the same seed and kind of device."""
    generator = Generator(device).manual_seed(seed)
    return DISTRIBUTIONS[distribution](rows, cols, dtype, generator).contiguous()
