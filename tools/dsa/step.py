"""One step from the text to the judgement."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from dsa.attention import LightningIndexer, full_attention, sparse_attention
from dsa.features import ContextFeatures
from dsa.judge import INDEXER, judge
from dsa.selection import Selection, select
from dsa.text import Corpus, read_corpus
from dsa.timing import Stopwatch

_FEATURE_WIDTH = 128
_INDEXER_WIDTH = 64


@dataclass(frozen=True)
class Step:
    """A step of T queries over S tokens.

    Attributes:
        corpus: The text.
        positions: Position of each query, ascending.
        end: Causal length of each query, its position + 1: int32, shape (T,).
        queries: Attention's queries, shape (T, heads, width).
        keys, values: Attention's keys and values, shape (S, width).
        scores: Indexer scores, shape (T, S), meaningful below ``end``.
        selection: What ``torch.ops.deepselect.topk`` selected.
        recalls: Share of full attention's mass per kind of selection, shape (T,) each.
        next_words: Word that full and sparse attention name as next, shape (T,) each.
        seconds: Time of each stage.
    """

    corpus: Corpus
    positions: list[int]
    end: Tensor
    queries: Tensor
    keys: Tensor
    values: Tensor
    scores: Tensor
    selection: Selection
    recalls: dict[str, Tensor]
    next_words: dict[str, Tensor]
    seconds: dict[str, float]

    def row_at(self, quantile: float) -> int:
        """Query whose recall lies at this quantile of the batch: 0 the lowest, 0.5 the median."""
        order = self.recalls[INDEXER].argsort()
        return int(order[int(quantile * (len(order) - 1))])

    def row_scores(self, row: int) -> Tensor:
        """Scores of one query over its context: shape (end[row],)."""
        return self.scores[row, : int(self.end[row])]

    def row_mass(self, row: int) -> Tensor:
        """Attention mass of each position for one query: shape (end[row],)."""
        end = self.end[row : row + 1]
        length = int(end)
        query = self.queries[row : row + 1]
        return full_attention(query, self.keys[:length], self.values[:length], end)[1][0]


def run_step(*, num_tokens: int, num_queries: int, k: int, seed: int, device: torch.device) -> Step:
    """Runs every stage and times it.

    Args:
        num_tokens: Length of the context at most.
        num_queries: Queries at random positions.
        k: Positions selected per query.
        seed: Seed of everything random.
        device: Where all but the tokens lives.
    """
    watch = Stopwatch(device)
    with watch.stage("tokenise"):
        corpus = read_corpus(num_tokens)
    with watch.stage("features"):
        features = ContextFeatures(corpus.ids, width=_FEATURE_WIDTH, seed=seed, device=device)
        keys, values = features.keys(), features.values()
        positions = _draw_positions(len(corpus), num_queries, seed=seed)
        queries = features.queries(positions)
        indexer = LightningIndexer(keys, width=_INDEXER_WIDTH)
    end = torch.tensor(positions, dtype=torch.int32, device=device) + 1

    with watch.stage("indexer scores"):
        scores = indexer.scores(queries, end)
    selection = select(scores, end, min(k, len(corpus)), watch)
    with watch.stage("sparse attention"):
        sparse_outputs = sparse_attention(queries, keys, values, selection.indices)
    recalls, full_outputs = judge(
        queries, keys, values, end, selection.indices, seed=seed, watch=watch
    )
    outputs = {"full attention": full_outputs, "sparse attention": sparse_outputs}
    return Step(
        corpus=corpus,
        positions=positions,
        end=end,
        queries=queries,
        keys=keys,
        values=values,
        scores=scores,
        selection=selection,
        recalls=recalls,
        next_words={kind: features.nearest_words(x.mean(dim=1)) for kind, x in outputs.items()},
        seconds=watch.seconds,
    )


def _draw_positions(num_tokens: int, num_queries: int, *, seed: int) -> list[int]:
    """Distinct random positions in ascending order; not the last one, which has no next word."""
    generator = torch.Generator().manual_seed(seed)
    shuffled = torch.randperm(num_tokens - 1, generator=generator)
    return sorted(shuffled[:num_queries].tolist())
