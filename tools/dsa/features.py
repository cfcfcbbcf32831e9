"""Untrained features: hashed random projections of the words before a position.

Every n-gram of a few lengths is hashed to a row of a fixed random table; the topic is the mean of
the last words' random directions, rare words first. Positions that follow the same words share
those rows, so their features point the same way, the more so the longer the shared run; unrelated
positions are nearly orthogonal. Nothing is learned: the features stand in for a trained model's
queries and keys and give a realistic selection problem, peaked scores over a long real context.

The query of position t describes the words up to t. The key of position s describes the words
*before* s and its value is the word at s, so attention finds earlier places that read like the
present one and returns what came next there (an "induction head").
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from tqdm import tqdm

# Levels of context: n-grams of these lengths, then the topic.
_NGRAM_LENGTHS = (1, 2, 3, 5)
_TOPIC_WORDS = 48

# How much of each level is in a key, and how much of it each attention head asks for.
_KEY_MIX = (0.35, 0.50, 0.50, 0.50, 0.35)
_HEAD_MIXES = (
    (0.40, 0.90, 0.00, 0.00, 0.00),  # what follows these two words
    (0.20, 0.50, 0.80, 0.00, 0.00),  # what follows this phrase
    (0.20, 0.50, 0.60, 0.60, 0.00),  # what follows this longer phrase
    (0.30, 0.60, 0.40, 0.00, 0.50),  # the same in text about the same things
)

_HASH_BITS = 16
_HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
# Tokens worked on at once: few enough for memory, many enough that threads seldom wait for another.
_CHUNK_TOKENS = 1 << 15


class ContextFeatures:
    """Queries, keys and values of any position of one text.

    Args:
        ids: Vocabulary number of each token, shape (tokens,).
        width: Length of a feature vector.
        seed: Seed of the random tables; they are the same on every device.
        device: Where the tables live and the features are computed.
    """

    def __init__(
        self, ids: npt.NDArray[np.int64], *, width: int, seed: int, device: torch.device
    ) -> None:
        generator = torch.Generator().manual_seed(seed)

        def random_directions(*shape: int) -> Tensor:
            return torch.randn(*shape, width, generator=generator) / width**0.5

        counts = np.bincount(ids)
        rarity = torch.from_numpy(np.log(len(ids) / counts)).float()
        buckets = np.stack([_hash_ngrams(ids, length) for length in _NGRAM_LENGTHS])
        self._ids = torch.from_numpy(ids).to(device)
        self._buckets = torch.from_numpy(buckets).to(device)
        ngrams = random_directions(len(_NGRAM_LENGTHS), 1 << _HASH_BITS)
        self._ngram_tables = ngrams.to(device)
        self._topic_table = (random_directions(len(counts)) * rarity[:, None]).to(device)
        self._value_table = random_directions(len(counts)).to(device)

    def queries(self, positions: list[int]) -> Tensor:
        """Unit queries of the given positions: fp32, shape (positions, heads, width)."""
        levels = torch.cat([torch.stack(self._levels(t, t + 1)) for t in positions], dim=1)
        mixes = torch.tensor(_HEAD_MIXES, device=levels.device)
        return torch.nn.functional.normalize(torch.einsum("hl,lnd->nhd", mixes, levels), dim=-1)

    def keys(self) -> Tensor:
        """Unit keys of all positions, zero at the first: fp32, shape (tokens, width)."""
        num_tokens, width = len(self._ids), self._topic_table.shape[1]
        keys = torch.zeros(num_tokens, width, device=self._ids.device)
        starts = range(0, num_tokens - 1, _CHUNK_TOKENS)
        for start in tqdm(starts, desc="features", delay=2, leave=False, disable=None):
            stop = min(start + _CHUNK_TOKENS, num_tokens - 1)
            mixed = keys[start + 1 : stop + 1]
            for share, level in zip(_KEY_MIX, self._levels(start, stop), strict=True):
                mixed.add_(level, alpha=share)
            mixed.copy_(torch.nn.functional.normalize(mixed, dim=-1))
        return keys

    def values(self) -> Tensor:
        """Values of all positions, the direction of their word: fp32, shape (tokens, width)."""
        return self._value_table[self._ids]

    def nearest_words(self, outputs: Tensor) -> Tensor:
        """Number of the word whose value is most like each output (n, width): shape (n,)."""
        return (outputs @ self._value_table.T).argmax(dim=1)

    def _levels(self, start: int, stop: int) -> list[Tensor]:
        """Unit vectors at the positions [start, stop), shape (positions, width) for each level."""
        ngrams = [
            table[bucket]
            for table, bucket in zip(self._ngram_tables, self._buckets[:, start:stop], strict=True)
        ]
        first = max(0, start - _TOPIC_WORDS)
        sums = self._topic_table[self._ids[first:stop]].cumsum(0)
        topic = sums[start - first :].clone()
        expired = sums[: max(0, len(sums) - _TOPIC_WORDS)]
        topic[len(topic) - len(expired) :] -= expired
        return [*ngrams, torch.nn.functional.normalize(topic, dim=-1)]


def _hash_ngrams(ids: npt.NDArray[np.int64], length: int) -> npt.NDArray[np.int64]:
    """Bucket of the ``length`` words that end at each position (fewer at the text's start)."""
    words = ids.astype(np.uint64) + np.uint64(1)
    mixed = np.zeros_like(words)
    for distance in reversed(range(length)):
        mixed = (mixed ^ (mixed >> np.uint64(29))) * _HASH_MULTIPLIER
        mixed[distance:] += words[: len(words) - distance]
    return ((mixed * _HASH_MULTIPLIER) >> np.uint64(64 - _HASH_BITS)).astype(np.int64)
