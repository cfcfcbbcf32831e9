"""``deepselect.compat`` against the originals, where they are installed and a GPU is there.

Scores are distinct, so that every exact selection is the same set; the originals' limits on k,
dtype and strides are kept.
"""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest
import torch
from torch import Tensor

from compat_statements import canonical
from deepselect.compat import deep_select, flashinfer, sglang, tensorrt_llm, vllm

ROWS, COLS, K = 8, 8192, 2048
LENGTHS = [8192, 0, 1, 2047, 2048, 2049, 5000, 8191]


def original(module: str) -> ModuleType:
    if not torch.cuda.is_available():
        pytest.skip(f"{module} runs on a GPU only")
    pytest.importorskip(module.partition(".")[0], exc_type=ImportError)
    return importlib.import_module(module)


def scores() -> Tensor:
    generator = torch.Generator().manual_seed(3)
    order = torch.stack([torch.randperm(COLS, generator=generator) for _ in range(ROWS)])
    return (order.float() - COLS / 3).cuda()


def lengths() -> Tensor:
    return torch.tensor(LENGTHS, dtype=torch.int32).cuda()


def outputs() -> Tensor:
    return torch.full((ROWS, K), 777, dtype=torch.int32).cuda()


def assert_same_sets(one: Tensor, other: Tensor, pad: int = -1) -> None:
    assert torch.equal(canonical(one, pad), canonical(other, pad))


@pytest.mark.parametrize("name", ["persistent_topk", "cooperative_topk"])
def test_vllm_lengths(name: str) -> None:
    original("vllm._custom_ops")
    if not hasattr(torch.ops._C, name):
        pytest.skip(f"this vLLM has no {name}")
    workspace = torch.zeros(1 << 20, dtype=torch.uint8).cuda()
    results = []
    for function in (getattr(torch.ops._C, name), getattr(vllm, name)):
        results.append(outputs())
        function(scores(), lengths(), results[-1], workspace, K, COLS)
    assert_same_sets(*results)


@pytest.mark.parametrize("next_n", [1, 2])
def test_vllm_decode(next_n: int) -> None:
    ops = original("vllm._custom_ops")
    results = []
    for function in (ops.top_k_per_row_decode, vllm.top_k_per_row_decode):
        results.append(outputs())
        seq_lens = lengths()[::next_n].contiguous()
        function(scores(), next_n, seq_lens, results[-1], ROWS, COLS, 1, K)
    assert_same_sets(*results)


def test_vllm_prefill() -> None:
    ops = original("vllm._custom_ops")
    starts = (lengths() // 3).int()
    results = []
    for function in (ops.top_k_per_row_prefill, vllm.top_k_per_row_prefill):
        results.append(outputs())
        function(scores(), starts, lengths(), results[-1], ROWS, COLS, 1, K)
    assert_same_sets(*results)


def test_tensorrt_llm() -> None:
    original("tensorrt_llm")
    ops = torch.ops.trtllm
    results = [outputs() for _ in range(4)]
    ops.indexer_topk_decode(scores(), lengths(), results[0], 1, K)
    tensorrt_llm.indexer_topk_decode(scores(), lengths(), results[1], 1, K)
    assert_same_sets(results[0], results[1])
    starts = (lengths() // 3).int()
    ops.indexer_topk_prefill(scores(), starts, lengths(), results[2], K)
    tensorrt_llm.indexer_topk_prefill(scores(), starts, lengths(), results[3], K)
    assert_same_sets(results[2], results[3])


def test_sglang() -> None:
    sgl_kernel = original("sgl_kernel")
    table = torch.randperm(ROWS * COLS).int().view(ROWS, COLS).cuda()
    cu_seqlens_q = torch.arange(ROWS + 1, dtype=torch.int32).cuda()
    offsets = (torch.arange(ROWS, dtype=torch.int32) * COLS).cuda()
    calls = (
        lambda m: m.fast_topk_v2(scores(), lengths(), K),
        lambda m: m.fast_topk_transform_fused(scores(), lengths(), table, cu_seqlens_q, K),
        lambda m: m.fast_topk_transform_ragged_fused(scores(), lengths(), offsets, K, offsets * 0),
    )
    for call in calls:
        assert_same_sets(call(sgl_kernel), call(sglang))


def test_flashinfer() -> None:
    theirs = original("flashinfer")
    table = torch.randperm(ROWS * COLS).int().view(ROWS, COLS).cuda()
    offsets = (torch.arange(ROWS, dtype=torch.int32) * COLS).cuda()
    for one, other in zip(
        theirs.top_k(scores(), K, sorted=True),
        flashinfer.top_k(scores(), K, sorted=True),
        strict=True,
    ):
        assert torch.equal(one, other)
    calls = (
        lambda m: m.top_k_page_table_transform(scores(), table, lengths(), K),
        lambda m: m.top_k_ragged_transform(scores(), offsets, lengths(), K),
    )
    for call in calls:
        assert_same_sets(call(theirs), call(flashinfer))


def test_deep_select() -> None:
    theirs = original("deep_select")
    for options in ({}, {"sorted": True}, {"sorted_index": True}):
        one, other = (m.topk(scores(), K, end=lengths(), **options) for m in (theirs, deep_select))
        assert_same_sets(one[1], other[1], 2147483647)
        if options:
            assert torch.equal(one[0], other[0])
            assert torch.equal(one[1], other[1])
