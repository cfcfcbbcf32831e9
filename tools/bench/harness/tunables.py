"""What tools/tune.py may vary in csrc/cuda/tuning, and the calls that it tunes for."""

from __future__ import annotations

from dataclasses import dataclass

from harness.shapes import KI, MI, Shape, sampler_shape


@dataclass(frozen=True)
class Tunable:
    """One variant.

    Attributes:
        ranges: values beside the present one, by name; each stands in the variant's header as
            `NAME = VALUE;`, once.
        shapes: the calls that it is tuned for.
    """

    ranges: dict[str, tuple[str, ...]]
    shapes: tuple[Shape, ...]


def _policies(*arguments: str) -> tuple[str, ...]:
    return tuple(f"RowStreamPolicy<{of_one}>" for of_one in arguments)


TUNABLES = {
    "cluster_row": Tunable(
        {
            "kGroupsPerWanted": ("2", "4", "8"),
            "kMinSurvivorsPerWanted": ("2", "4", "6"),
            "kMaxSurvivorsPerWanted": ("8", "12", "16"),
            "kSurvivors": ("4096", "8192", "16384"),
            "kLargeClusterBytes": ("256 << 10", "512 << 10", "1 << 20"),
            "kCluster": ("4", "8", "16"),
        },
        (
            Shape("indexer", "bfloat16", 1, 64 * KI, 512),
            Shape("indexer", "float32", 8, 128 * KI, 2048),
            Shape("indexer", "bfloat16", 8, 512 * KI, 512),
            Shape("indexer", "float32", 4, 256 * KI, 512),
        ),
    ),
    "row_registers": Tunable(
        {
            "kLog2Bins": ("kThreads <= 32 ? 8 : 9", "kThreads <= 32 ? 8 : 10", "9", "10"),
            "kLog2FirstOctaves": ("kLog2Bins - 6", "kLog2Bins - 7", "kLog2Bins - 8"),
            "kRowRegistersPairRowsPerSm": ("1", "2", "4", "8"),
        },
        (
            Shape("short_row", "bfloat16", 65536, KI, 64),
            Shape("short_row", "bfloat16", 16384, 4 * KI, 512),
            Shape("short_row", "bfloat16", 4096, 8 * KI, 2048),
            Shape("indexer", "bfloat16", 64, 8 * KI, 512),
        ),
    ),
    "row_stream": Tunable(
        {
            "RowStreamMany": _policies("256, 3", "256, 5", "128, 8"),
            "RowStreamFew": _policies("512, 3", "1024, 1"),
            "kMaxSampleVectors": ("1", "2", "4"),
            "kItemsPerSample": ("8", "16", "32"),
            "kRankSigmas": ("3.5f", "4.0f", "4.5f", "5.0f"),
            "kRankSlackDivisor": ("4", "8", "16"),
            "kNextPrefetchBytes": ("0", "16384", "32768", "65536"),
        },
        (
            Shape("indexer", "bfloat16", 4096, 64 * KI, 512),
            Shape("indexer", "bfloat16", 1024, 128 * KI, 2048),
            Shape("indexer", "bfloat16", 256, MI, 512),
            Shape("indexer", "float32", 256, 128 * KI, 512),
            sampler_shape(768, 512),
        ),
    ),
    "split_stream": Tunable(
        {
            "kSampledWinners": ("4", "8", "16"),
            "kMinSegments": ("128", "256", "512"),
            "kSegmentsPerSample": ("8", "16", "32"),
            "kSigmas": ("4.0f", "5.0f", "6.0f"),
            "kSpareRank": ("3", "5", "8"),
            "kMaxGroups": ("512", "1024", "2048"),
            "kFilterCtasPerSm": ("1", "2", "3"),
            "kFilterBatches": ("1", "2"),
            "kPrefetchBytes": ("0", "16384", "32768", "65536"),
            "kSmemCarveoutPercent": ("40", "58", "72", "100"),
        },
        (
            Shape("long_row", "float32", 1, 64 * MI, 512),
            Shape("indexer", "bfloat16", 8, 512 * KI, 512),
            Shape("indexer", "float32", 8, 256 * KI, 2048),
            Shape("indexer", "bfloat16", 1, 128 * KI, 512),
        ),
    ),
}
