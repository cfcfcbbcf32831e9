"""All-pairs combination of test axes: about a thousand choices instead of the product."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import torch


def all_pairs(axes: dict[str, Sequence[Any]], seed: int = 0) -> list[dict[str, Any]]:
    """Choices in which every two values of different axes occur together.

    Greedy: each choice starts from a pair not yet covered and takes, axis by axis, the value
    that makes the most new pairs with the values already taken. Equal gains, and above all zero
    gains late in the run, are decided by lot, so that other seeds give other triples.
    """
    lot = random.Random(seed)
    starts = [0]
    for values in axes.values():
        starts.append(starts[-1] + len(values))
    spans = [slice(first, past) for first, past in itertools.pairwise(starts)]
    # missing[a, b]: values a and b, numbered over all axes, are still to meet.
    missing = torch.ones(starts[-1], starts[-1], dtype=torch.int32)
    for span in spans:
        missing[span, span] = 0

    choices: list[dict[str, Any]] = []
    while (open_pairs := missing.sum(1)).any():
        first = int(open_pairs.argmax())
        second = int(missing[first].argmax())
        gain = missing[first] + missing[second]
        taken = []
        for span in spans:
            fixed = next((v for v in (first, second) if span.start <= v < span.stop), None)
            if fixed is None:
                best = (gain[span] == gain[span].max()).nonzero()
                fixed = span.start + int(best[lot.randrange(len(best))])
                gain = gain + missing[fixed]
            taken.append(fixed)
        chosen = torch.tensor(taken)
        missing[chosen[:, None], chosen] = 0
        choices.append(
            {
                name: values[value - span.start]
                for (name, values), value, span in zip(axes.items(), taken, spans, strict=True)
            }
        )
    return choices
