"""The step itself: indexer scores, sparse attention on a selection, full attention to judge it by.

Shapes use T queries, S tokens of context, H heads, D feature width, k selected positions.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

import torch
from torch import Tensor
from tqdm import tqdm

# Softmax temperature of unit queries and keys. A head matches a good key with a cosine near 0.7,
# so that e^(0.7 * 40) outweighs the e^18 or so that a million unrelated keys sum up to.
_LOGIT_SCALE = 40.0

# Queries that attention works on at once: bounds the fp32 scratch to chunk x heads x tokens.
_CHUNK_QUERIES = 8

# Tokens that the indexer scores at once, for the whole batch: its fp32 scratch stays in cache.
_BLOCK_TOKENS = 4096


def query_chunks(num_queries: int, description: str) -> Iterator[slice]:
    """Slices of the batch, with a progress bar once that takes longer than two seconds."""
    starts = range(0, num_queries, _CHUNK_QUERIES)
    for start in tqdm(starts, desc=description, delay=2, leave=False, disable=None):
        yield slice(start, min(start + _CHUNK_QUERIES, num_queries))


class LightningIndexer:
    """Cheap scores that rank the context for each query: sum_h w[t,h] * ReLU(q[t,h] . k[s]).

    Its queries and keys are the first few coordinates of attention's, rounded to bf16. Since the
    features are made of random directions, that is a random projection: the indexer sees what
    attention sees, blurred. A trained model learns the projection and the weights w, here 1/H.

    Args:
        keys: Attention's keys, shape (S, D).
        width: Coordinates that the indexer sees.
    """

    def __init__(self, keys: Tensor, *, width: int) -> None:
        self._keys = _round_to_bf16(keys[:, :width])

    def scores(self, queries: Tensor, end: Tensor) -> Tensor:
        """Scores of a whole batch: bf16, shape (T, S).

        What lies past a row's ``end`` is unwritten memory or scores of the future: the selection
        looks at neither, so no pass over the matrix masks it.

        Args:
            queries: Attention's queries, shape (T, H, D).
            end: Causal length of each row, ascending, shape (T,).
        """
        num_queries, num_heads, _ = queries.shape
        num_tokens, width = self._keys.shape
        blurred = _round_to_bf16(queries[:, :, :width])
        weights = torch.full((num_queries, 1, num_heads), 1 / num_heads, device=end.device)
        scores = torch.empty(num_queries, num_tokens, dtype=torch.bfloat16, device=end.device)
        lengths = end.tolist()
        starts = range(0, lengths[-1], _BLOCK_TOKENS)
        for start in tqdm(starts, desc="indexer scores", delay=2, leave=False, disable=None):
            block = slice(start, start + _BLOCK_TOKENS)
            rows = slice(bisect_right(lengths, start), None)
            dots = torch.relu_(blurred[rows] @ self._keys[block].T)
            scores[rows, block] = torch.bmm(weights[rows], dots).squeeze(1)
        return scores


def full_attention(
    queries: Tensor, keys: Tensor, values: Tensor, end: Tensor
) -> tuple[Tensor, Tensor]:
    """Softmax attention of a few queries over everything before them.

    Returns:
        Outputs (T, H, D), and the attention mass of each position averaged over heads, (T, S),
        zero from ``end`` on.
    """
    logits = _LOGIT_SCALE * (queries @ keys.T)
    future = torch.arange(len(keys), device=end.device) >= end[:, None]
    probabilities = logits.masked_fill_(future[:, None], -torch.inf).softmax(dim=-1)
    return probabilities @ values, probabilities.mean(dim=1)


def sparse_attention(queries: Tensor, keys: Tensor, values: Tensor, indices: Tensor) -> Tensor:
    """Softmax attention over the selected positions only; negative indices are pads.

    Returns:
        Outputs (T, H, D).
    """
    outputs = torch.empty_like(queries)
    for rows in query_chunks(len(queries), "sparse attention"):
        pads = indices[rows] < 0
        selected = indices[rows].clamp(min=0)
        logits = _LOGIT_SCALE * (queries[rows] @ keys[selected].mT)
        probabilities = logits.masked_fill_(pads[:, None], -torch.inf).softmax(dim=-1)
        outputs[rows] = probabilities @ values[selected]
    return outputs


def captured_mass(mass: Tensor, indices: Tensor) -> Tensor:
    """Share of the attention mass (T, S) that the selected positions (T, k) hold: shape (T,)."""
    return mass.gather(1, indices.clamp(min=0)).masked_fill_(indices < 0, 0).sum(dim=1)


def _round_to_bf16(x: Tensor) -> Tensor:
    # Held as fp32: a bf16 matrix product on a CPU without bf16 instructions takes far longer.
    return x.bfloat16().float()
