"""``deepselect.compat`` for vLLM, TensorRT-LLM, SGLang and FlashInfer, against plain statements."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import compat_statements as statement
from compat_statements import canonical
from deepselect.compat import flashinfer, sglang, tensorrt_llm, vllm
from inputs import make_x

INT32, INT64 = torch.int32, torch.int64


def int32(values: list[int], device: torch.device | str = "cpu") -> Tensor:
    return torch.tensor(values, dtype=INT32, device=device)


def distinct_table(tables: int, pages: int, device: torch.device) -> Tensor:
    """Entries that differ, in no order: a wrong place gives a wrong entry."""
    generator = torch.Generator().manual_seed(tables)
    return torch.randperm(tables * pages, generator=generator).int().view(tables, pages).to(device)


def assert_selected(actual: Tensor, expected: Tensor) -> None:
    assert actual.dtype == INT32
    assert torch.equal(canonical(actual), canonical(expected))


# ---- vLLM and TensorRT-LLM ---------------------------------------------------------------------


@pytest.mark.parametrize("function", [vllm.persistent_topk, vllm.cooperative_topk])
@pytest.mark.parametrize("k", [1, 9, 64])
@pytest.mark.parametrize("two_dimensional", [False, True])
def test_vllm_lengths(
    function: Callable[..., None], k: int, two_dimensional: bool, device: torch.device
) -> None:
    logits = make_x(6, 50, device=device)
    lengths = int32([50, 0, 7, 31, -1, 90], device)
    output = torch.full((6, k), 777, dtype=INT32, device=device)
    workspace = torch.zeros(16, dtype=torch.uint8, device=device)
    given = lengths.view(2, 3) if two_dimensional else lengths
    assert function(logits, given, output, workspace, k, 50) is None
    assert not workspace.any()
    assert_selected(output, statement.decode(logits, lengths, 1, k))


def test_vllm_output_of_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match="output must have k = 4 columns"):
        vllm.persistent_topk(
            make_x(), int32([3] * 4), torch.zeros(4, 5, dtype=INT32), torch.zeros(0), 4, 50
        )


DECODES = {
    "vllm": lambda logits, next_n, lengths, out, k: vllm.top_k_per_row_decode(
        logits, next_n, lengths, out, len(logits), logits.stride(0), logits.stride(1), k
    ),
    "tensorrt_llm": lambda logits, next_n, lengths, out, k: tensorrt_llm.indexer_topk_decode(
        logits, lengths, out, next_n, k
    ),
}


@pytest.mark.parametrize("library", DECODES)
@pytest.mark.parametrize("next_n", [1, 2, 3])
@pytest.mark.parametrize("k", [1, 9, 64])
def test_decode(library: str, next_n: int, k: int, device: torch.device) -> None:
    lengths = int32([50, 1, 12, 0, 2, 37, 60], device)
    logits = make_x(len(lengths) * next_n, 50, device=device)
    out = torch.full((len(logits), k), 777, dtype=INT32, device=device)
    DECODES[library](logits, next_n, lengths, out, k)
    assert_selected(out, statement.decode(logits, lengths, next_n, k))


@pytest.mark.parametrize("next_n", [1, 3])
def test_vllm_decode_with_a_length_per_row(next_n: int, device: torch.device) -> None:
    lengths = (torch.arange(4 * next_n, dtype=INT32) * 7 - 3).view(4, next_n).to(device)
    logits = make_x(4 * next_n, 50, device=device)
    out = torch.full((4 * next_n, 9), 777, dtype=INT32, device=device)
    DECODES["vllm"](logits, next_n, lengths, out, 9)
    assert_selected(out, statement.decode(logits, lengths, next_n, 9))


def test_vllm_decode_of_some_rows_of_strided_logits(device: torch.device) -> None:
    """Strides are the caller's; rows beyond ``num_rows`` are left alone."""
    buffer = make_x(8, 120, device=device)
    logits = buffer[:, ::2]
    lengths = int32([60, 30, 10, 60, 60, 60, 60, 60], device)
    out = torch.full((8, 5), 777, dtype=INT32, device=device)
    vllm.top_k_per_row_decode(logits, 1, lengths, out, 3, *logits.stride(), 5)
    assert (out[3:] == 777).all()
    assert_selected(out[:3], statement.decode(logits[:3], lengths[:3], 1, 5))


PREFILLS = {
    "vllm": lambda logits, starts, ends, out, k: vllm.top_k_per_row_prefill(
        logits, starts, ends, out, len(logits), logits.stride(0), logits.stride(1), k
    ),
    "tensorrt_llm": lambda logits, starts, ends, out, k: tensorrt_llm.indexer_topk_prefill(
        logits, starts, ends, out, k
    ),
}


@pytest.mark.parametrize("library", PREFILLS)
@pytest.mark.parametrize("k", [1, 9, 64])
def test_prefill(library: str, k: int, device: torch.device) -> None:
    starts, ends = int32([0, 3, 49, 20, 7, 0], device), int32([50, 9, 50, 20, 80, 1], device)
    logits = make_x(6, 50, device=device)
    out = torch.full((6, k), 777, dtype=INT32, device=device)
    PREFILLS[library](logits, starts, ends, out, k)
    assert_selected(out, statement.prefill(logits, starts, ends, k))


def test_results_are_packed_into_wider_buffers(device: torch.device) -> None:
    """The originals write row r at item r * k whatever the buffer's width."""
    logits, lengths = make_x(4, 50, device=device), int32([50, 3, 20, 9], device)
    out = torch.full((4, 8), 777, dtype=INT32, device=device)
    tensorrt_llm.indexer_topk_decode(logits, lengths, out, 1, 5)
    assert (out.view(-1)[20:] == 777).all()
    assert_selected(out.view(-1)[:20].view(4, 5), statement.decode(logits, lengths, 1, 5))
    with pytest.raises(ValueError, match="indices must be contiguous"):
        tensorrt_llm.indexer_topk_decode(logits, lengths, out[:, :5], 1, 5)


def test_default_k_of_tensorrt_llm() -> None:
    out = torch.full((4, 2048), 777, dtype=INT32)
    tensorrt_llm.indexer_topk_decode(make_x(), int32([50] * 4), out, 1)
    assert (canonical(out)[:, :50] == torch.arange(50)).all()
    assert (out[:, 50:] == -1).all()


# ---- SGLang ------------------------------------------------------------------------------------


@pytest.mark.parametrize("starts", [None, [0, 3, 30, 49, 12]])
@pytest.mark.parametrize("k", [1, 9, 64])
def test_sglang_fast_topk_v2(starts: list[int] | None, k: int, device: torch.device) -> None:
    score, lengths = make_x(5, 50, device=device), int32([50, 5, 20, 1, 0], device)
    row_starts = None if starts is None else int32(starts, device)
    expected = statement.padded(statement.raw(score, row_starts, lengths, k), k)
    assert_selected(sglang.fast_topk_v2(score, lengths, k, row_starts), expected)


@pytest.mark.parametrize("starts", [None, [0, 3, 30, 49, 12]])
@pytest.mark.parametrize("k", [1, 9, 64])
def test_sglang_ragged(starts: list[int] | None, k: int, device: torch.device) -> None:
    score, lengths = make_x(5, 50, device=device), int32([50, 5, 20, 1, 0], device)
    offsets = int32([1000, 0, 7, -5, 3], device)
    row_starts = None if starts is None else int32(starts, device)
    found = statement.raw(score, row_starts, lengths, k)
    shifted = [[i + int(offsets[row]) for i in rows] for row, rows in enumerate(found)]
    written = torch.full((5, k), 777, dtype=INT32, device=device)
    sglang.topk_transform_ragged_v2(
        score, lengths, out_offsets=offsets, out_indices=written, row_starts=row_starts
    )
    returned = sglang.fast_topk_transform_ragged_fused(score, lengths, offsets, k, row_starts)
    # An offset of -5 may give -1 for a position: pads are told apart by their place.
    for got, (row, expected) in itertools.product((returned, written), enumerate(shifted)):
        assert sorted(got[row, : len(expected)].tolist()) == sorted(expected)
        assert (got[row, len(expected) :] == -1).all()


@pytest.mark.parametrize("k", [1, 9, 64])
def test_sglang_paged_decode(k: int, device: torch.device) -> None:
    """As many sequences as rows and no starts: row i is sequence i, whatever cu_seqlens_q says."""
    score, lengths = make_x(5, 50, device=device), int32([50, 5, 20, 1, 0], device)
    table = distinct_table(5, 50, device)
    found = statement.raw(score, None, lengths, k)
    expected = statement.paged(found, table, list(range(5)), [0] * 5, 1, k)
    got = sglang.fast_topk_transform_fused(
        score, lengths, table, torch.zeros(6, dtype=INT32, device=device), k
    )
    assert_selected(got, expected)


@pytest.mark.parametrize("starts", [None, [0, 3, 30, 49, 12]])
@pytest.mark.parametrize("k", [1, 9, 64])
def test_sglang_paged_prefill(starts: list[int] | None, k: int, device: torch.device) -> None:
    score, lengths = make_x(5, 50, device=device), int32([50, 5, 20, 1, 0], device)
    cu_seqlens_q = int32([0, 2, 2, 5], device)
    table = distinct_table(3, 50, device)
    row_starts = None if starts is None else int32(starts, device)
    found = statement.raw(score, row_starts, lengths, k)
    sequences = statement.sequence_of_rows(cu_seqlens_q, 5)
    expected = statement.paged(found, table, sequences, [0] * 5, 1, k)
    got = sglang.fast_topk_transform_fused(score, lengths, table, cu_seqlens_q, k, row_starts)
    assert_selected(got, expected)


def test_sglang_row_of_no_sequence_is_padded() -> None:
    score, lengths = make_x(4, 50), int32([50] * 4)
    table = distinct_table(2, 50, torch.device("cpu"))
    got = sglang.fast_topk_transform_fused(score, lengths, table, int32([1, 2, 3]), 5)
    assert (got[[0, 3]] == -1).all()
    assert (got[[1, 2]] >= 0).all()


@pytest.mark.parametrize("page_size", [1, 4, 64])
@pytest.mark.parametrize("with_raw", [False, True])
def test_sglang_topk_transform_paged_v2(
    page_size: int, with_raw: bool, device: torch.device
) -> None:
    scores, seq_lens = make_x(5, 50, device=device), int32([50, 5, 20, 1, 0], device)
    table = distinct_table(5, -(-50 // page_size), device)
    out = torch.full((5, 12), 777, dtype=INT32, device=device)
    raw = torch.full((5, 12), 777, dtype=INT32, device=device) if with_raw else None
    plan = sglang.plan_topk_v2(seq_lens)
    assert plan.shape == (6, 2)
    assert sglang.plan_topk_v2(seq_lens, out=plan) is plan
    sglang.topk_transform_paged_v2(scores, seq_lens, table, out, page_size, plan, raw)
    found = statement.raw(scores, None, seq_lens, 12)
    expected = statement.paged(found, table, list(range(5)), [0] * 5, page_size, 12)
    assert_selected(out, expected)
    if raw is not None:
        assert_selected(raw, statement.padded(found, 12))
        assert_raw_matches(out, raw, table, page_size)


def test_sglang_topk_transform_paged_v2_without_table(device: torch.device) -> None:
    scores, seq_lens = make_x(5, 50, device=device), int32([50, 5, 20, 1, -4], device)
    out = torch.full((5, 12), 777, dtype=INT32, device=device)
    sglang.topk_transform_512_v2(scores, seq_lens, None, out, 64, sglang.plan_topk_v2(seq_lens))
    assert_selected(out, statement.padded(statement.raw(scores, None, seq_lens, 12), 12))


def assert_raw_matches(out: Tensor, raw: Tensor, table: Tensor, page_size: int) -> None:
    """Each mapped index stands in the place of its position."""
    rows = torch.arange(len(out), device=out.device)[:, None]
    position = raw.long().clamp(min=0)
    mapped = table[rows, position // page_size] * page_size + position % page_size
    assert torch.equal(out, mapped.int().where(raw >= 0, -1))


# ---- FlashInfer --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("k", [1, 9, 50])
def test_flashinfer_top_k(dtype: torch.dtype, k: int, device: torch.device) -> None:
    x = make_x(4, 50, dtype, device)
    expected = statement.padded([statement.best_positions(row, k) for row in x], k).long()
    for deterministic in (False, True):
        values, indices = flashinfer.top_k(x, k, deterministic=deterministic)
        assert indices.dtype == INT64
        assert torch.equal(values, x.gather(1, indices))
        assert torch.equal(canonical(indices), expected)
        if deterministic:
            assert torch.equal(indices.cpu(), expected)
    values, indices = flashinfer.topk(x, k, True)
    assert torch.equal(values, x.sort(dim=1, descending=True).values[:, :k])
    assert torch.equal(canonical(indices), expected)


@pytest.mark.parametrize("page_size", [1, 8])
@pytest.mark.parametrize("starts", [None, [0, 3, 30, 49, 12]])
@pytest.mark.parametrize("batches", [None, [1, 0, 1, 1, 0]])
def test_flashinfer_page_table_transform(
    page_size: int, starts: list[int] | None, batches: list[int] | None, device: torch.device
) -> None:
    x, lengths = make_x(5, 50, device=device), int32([50, 5, 20, 1, 0], device)
    table = distinct_table(5 if batches is None else 2, 60, device)
    firsts = [0, 2, 1, 5, 0]
    row_starts = None if starts is None else int32(starts, device)
    row_to_batch = None if batches is None else int32(batches, device)
    found = statement.raw(x, row_starts, lengths, 12)
    expected = statement.paged(found, table, batches or list(range(5)), firsts, page_size, 12)
    out = torch.full((5, 12), 777, dtype=INT32, device=device)
    raw = torch.full((5, 12), 777, dtype=INT32, device=device)
    got = flashinfer.top_k_page_table_transform(
        x,
        table,
        lengths,
        12,
        row_to_batch,
        row_starts=row_starts,
        page_table_row_starts=int32(firsts, device),
        page_size=page_size,
        out=out,
        out_raw_indices=raw,
    )
    assert got is out
    assert_selected(out, expected)
    assert_selected(raw, statement.padded(found, 12))


def test_flashinfer_table_starts_follow_row_starts(device: torch.device) -> None:
    x, lengths = make_x(5, 50, device=device), int32([50, 5, 20, 1, 0], device)
    starts, table = [0, 3, 30, 49, 12], distinct_table(5, 50, device)
    row_starts = int32(starts, device)
    found = statement.raw(x, row_starts, lengths, 12)
    expected = statement.paged(found, table, list(range(5)), starts, 1, 12)
    got = flashinfer.top_k_page_table_transform(x, table, lengths, 12, row_starts=row_starts)
    assert_selected(got, expected)
    with pytest.raises(ValueError, match="page_table_row_starts must be given"):
        flashinfer.top_k_page_table_transform(
            x, table, lengths, 12, row_starts=row_starts, page_size=2
        )


def test_flashinfer_arguments_of_0_6_by_position(device: torch.device) -> None:
    x, lengths = make_x(5, 50, device=device), int32([50, 5, 20, 1, 0], device)
    table = distinct_table(2, 50, device)
    batches = [1, 0, 1, 1, 0]
    expected = statement.paged(statement.raw(x, None, lengths, 12), table, batches, [0] * 5, 1, 12)
    got = flashinfer.top_k_page_table_transform(
        x, table, lengths, 12, int32(batches, device), True, flashinfer.TopKTieBreak.SMALL
    )
    assert_selected(got, expected)


@pytest.mark.parametrize("starts", [None, [0, 3, 30, 49, 12]])
def test_flashinfer_ragged_transform(starts: list[int] | None, device: torch.device) -> None:
    x, lengths = make_x(5, 50, device=device), int32([50, 5, 20, 1, 0], device)
    offsets = int32([1000, 0, 7, 5, 3], device)
    row_starts = None if starts is None else int32(starts, device)
    found = statement.raw(x, row_starts, lengths, 12)
    shifted = [[i + int(offsets[row]) for i in rows] for row, rows in enumerate(found)]
    got = flashinfer.top_k_ragged_transform(
        x, offsets, lengths, 12, deterministic=True, row_starts=row_starts
    )
    assert torch.equal(got.cpu(), statement.padded(shifted, 12))


def test_flashinfer_ties_to_higher_indices_are_refused() -> None:
    x, lengths = make_x(), int32([50] * 4)
    calls = (
        lambda: flashinfer.top_k(x, 3, tie_break=2),
        lambda: flashinfer.top_k_ragged_transform(x, lengths, lengths, 3, tie_break=2),
        lambda: flashinfer.top_k_page_table_transform(
            x, distinct_table(4, 50, x.device), lengths, 3, tie_break=2
        ),
    )
    for call in calls:
        with pytest.raises(ValueError, match="ties go to the lower index"):
            call()


# ---- All ---------------------------------------------------------------------------------------


def test_scores_that_require_grad_are_taken() -> None:
    """The originals know no gradient; a caller outside ``no_grad`` must not be refused."""
    x, lengths = make_x().requires_grad_(), int32([50] * 4)
    out = torch.empty(4, 3, dtype=INT32)
    vllm.persistent_topk(x, lengths, out, torch.zeros(0), 3, 50)
    sglang.topk_transform_512_v2(x, lengths, None, out, 1, lengths)
    table = distinct_table(4, 50, x.device)
    flashinfer.top_k_page_table_transform(x, table, lengths, 3, out=out)


def test_compiled_whole() -> None:
    def step(logits: Tensor, lengths: Tensor, table: Tensor) -> tuple[Tensor, Tensor]:
        indices = sglang.fast_topk_v2(logits, lengths, 6)
        return indices, flashinfer.top_k_page_table_transform(logits, table, lengths, 6)

    arguments = make_x(), int32([50, 3, 20, 0]), distinct_table(4, 50, torch.device("cpu"))
    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    for one, other in zip(compiled(*arguments), step(*arguments), strict=True):
        assert_selected(one, other)
