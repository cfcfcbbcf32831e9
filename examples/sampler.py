"""A sampler with top-k and top-p over a vocabulary.

The selection returns the k best tokens best first, with their probabilities over the whole
vocabulary, so top-p is a cumulative sum over k numbers instead of a sort of the vocabulary.

    python examples/sampler.py
"""

from __future__ import annotations

import torch
from torch import Tensor

import deepselect

ROWS, VOCABULARY, TOP_K, TOP_P, TEMPERATURE = 8, 128_000, 50, 0.9, 0.7


def sample(
    logits: Tensor,
    k: int,
    p: float,
    temperature: float,
    generator: torch.Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """Draws a token for every row from its nucleus.

    Args:
        logits: ``(rows, vocabulary)``.
        k: at most so many tokens are considered.
        p: the least probability that those kept must have together; the best is always kept.
        temperature: what logits are divided by.
        generator: of random numbers.

    Returns:
        ``(rows,)`` int32 tokens, and the number of tokens that were kept in each row.
    """
    scaled = logits / temperature
    probabilities, tokens = deepselect.topk(scaled, k, weights="softmax", order="value")
    assert probabilities is not None
    before = probabilities.cumsum(dim=-1) - probabilities
    kept = (before < p) & (tokens >= 0)
    weights = probabilities.where(kept, 0.0)
    drawn = torch.multinomial(weights, 1, generator=generator)
    return tokens.gather(1, drawn)[:, 0], kept.sum(dim=-1)


def main() -> None:
    """Compares the nucleus with one made by sorting the whole vocabulary."""
    generator = torch.Generator().manual_seed(0)
    logits = 4 * torch.randn(ROWS, VOCABULARY, generator=generator)
    tokens, num_kept = sample(logits, TOP_K, TOP_P, TEMPERATURE, generator)

    ordered, order = (logits / TEMPERATURE).softmax(dim=-1).sort(descending=True, stable=True)
    nucleus = ((ordered.cumsum(dim=-1) - ordered) < TOP_P).sum(dim=-1).clamp(max=TOP_K)
    for row in range(ROWS):
        assert num_kept[row] == nucleus[row]
        assert tokens[row] in order[row, : nucleus[row]]
        print(f"row {row}: token {int(tokens[row])} of a nucleus of {int(num_kept[row])}")


if __name__ == "__main__":
    main()
