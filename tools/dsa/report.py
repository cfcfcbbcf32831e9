"""The report: plain text, one block per question."""

from __future__ import annotations

import torch
from torch import Tensor

from dsa.judge import BEST, INDEXER, RANDOM, WINDOW
from dsa.step import Step

_SHOWN_RANKS = (1, 2, 3, 10, 100, 1000)


def print_report(step: Step) -> None:
    """Prints everything but the picture."""
    _print_setting(step)
    _print_times(step.seconds)
    _print_exactness(step)
    _print_recalls(step)
    for kind, quantile in (("good", 0.75), ("typical", 0.5), ("worst", 0.0)):
        _print_example(kind, step, step.row_at(quantile))


def _print_heading(title: str) -> None:
    print(f"\n{title}\n{'-' * len(title)}")


def _print_setting(step: Step) -> None:
    device = step.scores.device
    where = (
        torch.cuda.get_device_name(device)
        if device.type == "cuda"
        else f"CPU, {torch.get_num_threads()} threads"
    )
    corpus = step.corpus
    num_queries, k = step.selection.indices.shape
    _print_heading(f"DSA lightning indexer on {where}, torch {torch.__version__}")
    print(
        f"  {len(corpus):,} tokens, {len(corpus.vocabulary):,} different ones, "
        f"of {len(corpus.file_names)} sources of Python's library"
    )
    print(
        f"  {num_queries} queries with contexts of {int(step.end[0]):,} to {int(step.end[-1]):,} "
        f"tokens, mean {step.end.float().mean():,.0f}; k = {k:,}, bf16 scores"
    )


def _print_times(seconds: dict[str, float]) -> None:
    _print_heading("Time")
    for name, spent in seconds.items():
        print(f"  {name:<24}{1e3 * spent:>10,.1f} ms")
    ours, theirs = seconds["deepselect.topk"], seconds["torch.topk"]
    masked = theirs + seconds["masking for torch.topk"]
    print(
        f"  torch.topk takes {theirs / ours:.1f} times as long as deepselect.topk, "
        f"{masked / ours:.1f} times with the masked copy it needs"
    )
    sparse = seconds["indexer scores"] + ours + seconds["sparse attention"]
    print(
        f"  scores + top-k + sparse attention {1e3 * sparse:,.0f} ms, "
        f"full attention {1e3 * seconds['full attention']:,.0f} ms"
    )


def _print_exactness(step: Step) -> None:
    selection = step.selection
    values = "the same bits as torch.topk's in every row" if selection.values_match else "DIFFERENT"
    indices = "before the end, unique, at their values" if selection.indices_hold else "WRONG"
    _print_heading("Exactness")
    print(f"  values    {values}")
    print(f"  indices   {indices}")
    print(
        f"  ties      median row: {_median(selection.tied):,} scores equal the lowest selected "
        f"one, the first {_median(selection.tied_selected):,} are in;\n"
        f"            torch.topk took others of them in {selection.rows_torch_differs} of "
        f"{len(selection.tied)} rows"
    )


def _print_recalls(step: Step) -> None:
    k = step.selection.indices.shape[1]
    _print_heading(f"Share of full attention's mass in {k:,} positions")
    print(f"  {'':<24}{'mean':>8}{'median':>8}{'lowest':>8}")
    for name in (BEST, INDEXER, WINDOW, RANDOM):
        recall = step.recalls[name]
        print(f"  {name:<24}{recall.mean():>8.1%}{recall.median():>8.1%}{recall.min():>8.1%}")
    truth = torch.tensor([int(step.corpus.ids[position + 1]) for position in step.positions])
    full, sparse = (words.cpu() for words in step.next_words.values())
    print(
        f"  next word named right: full attention {_share(full == truth)}, "
        f"sparse attention {_share(sparse == truth)}; the same word {_share(full == sparse)}"
    )


def _print_example(kind: str, step: Step, row: int) -> None:
    corpus, position = step.corpus, step.positions[row]
    recall = float(step.recalls[INDEXER][row])
    _print_heading(
        f"A query, {kind}: recall {recall:.1%}, position {position:,} in {corpus.file_of(position)}"
    )
    before, token, _ = corpus.snippet(position, before=80)
    print(f"  text       ...{before}{token}")
    named = (f"{kind} {corpus.vocabulary[words[row]]!r}" for kind, words in step.next_words.items())
    print(f"  next word  {corpus.token(position + 1)!r} (named by {', by '.join(named)})")

    values, indices = step.selection.values[row], step.selection.indices[row]
    mass = step.row_mass(row)
    num_selected = int((indices >= 0).sum())
    print("   rank   score  mass  selected, as text [selected word]")
    for rank in (*(rank for rank in _SHOWN_RANKS if rank < num_selected), num_selected):
        selected = int(indices[rank - 1])
        left, word, right = corpus.snippet(selected, before=44, after=10)
        print(
            f"  {rank:>5}  {float(values[rank - 1]):.4f} {mass[selected]:>5.1%}  "
            f"{left:>44}[{word}]{right}  {corpus.file_of(selected)}"
        )


def _share(hits: Tensor) -> str:
    return f"{hits.float().mean():.0%}"


def _median(counts: Tensor) -> int:
    return int(counts.median())
