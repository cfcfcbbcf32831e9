"""The signatures of ``deepselect.compat``: written down, and compared with those of the originals
where they are installed.
"""

from __future__ import annotations

import importlib
import inspect
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from deepselect.compat import deep_select, flashinfer, sglang, tensorrt_llm, vllm
from deepselect.compat import torch as torch_adapter

INF = math.inf

# Adapter, and its parameters as the original has them; `*` as in a signature.
SIGNATURES: dict[Callable[..., Any], str] = {
    torch_adapter.topk: "input, k, dim=-1, largest=True, sorted=True, *, out=None",
    vllm.persistent_topk: "logits, lengths, output, workspace, k, max_seq_len",
    vllm.cooperative_topk: "logits, lengths, output, workspace, k, max_seq_len",
    vllm.top_k_per_row_decode: "logits, next_n, seq_lens, raw_topk_indices, num_rows, stride0, "
    "stride1, topk_tokens",
    vllm.top_k_per_row_prefill: "logits, cu_seqlen_ks, cu_seqlen_ke, raw_topk_indices, num_rows, "
    "stride0, stride1, topk_tokens",
    tensorrt_llm.indexer_topk_decode: "logits, seq_lens, indices, next_n, index_topk=2048",
    tensorrt_llm.indexer_topk_prefill: "logits, row_starts, row_ends, indices, index_topk=2048",
    sglang.fast_topk_v2: "score, lengths, topk, row_starts=None",
    sglang.fast_topk_transform_fused: "score, lengths, page_table_size_1, cu_seqlens_q, topk, "
    "row_starts=None",
    sglang.fast_topk_transform_ragged_fused: "score, lengths, topk_indices_offset, topk, "
    "row_starts=None",
    sglang.plan_topk_v2: "seq_lens, static_threshold=-1, *, out=None",
    sglang.topk_transform_paged_v2: "scores, seq_lens, page_tables, out_page_indices, page_size, "
    "metadata, out_raw_indices=None",
    sglang.topk_transform_ragged_v2: "scores, seq_lens, *, out_offsets, out_indices, "
    "row_starts=None",
    flashinfer.top_k: "input, k, sorted=False, deterministic=False, tie_break=0, "
    "dsa_graph_safe=False",
    flashinfer.top_k_page_table_transform: "input, src_page_table, lengths, k, row_to_batch=None, "
    "deterministic=False, tie_break=0, dsa_graph_safe=False, row_starts=None, "
    "page_table_row_starts=None, *, page_size=1, out=None, out_raw_indices=None",
    flashinfer.top_k_ragged_transform: "input, offsets, lengths, k, deterministic=False, "
    "tie_break=0, dsa_graph_safe=False, row_starts=None",
    deep_select.topk: "input, topk, sorted=False, begin=None, end=None, indices_type=torch.int64, "
    "sorted_index=False, hint=None, output_idx=None, output_idx_offset=None, "
    "idx_oob_fill_value=2147483647, value_oob_fill_value=-INF, return_value=True, "
    "abort_when_nan_found=True",
    deep_select.get_stride_requirement: "",
}

ORIGINALS = {
    vllm.top_k_per_row_decode: "vllm._custom_ops",
    vllm.top_k_per_row_prefill: "vllm._custom_ops",
    sglang.fast_topk_v2: "sgl_kernel",
    sglang.fast_topk_transform_fused: "sgl_kernel",
    sglang.fast_topk_transform_ragged_fused: "sgl_kernel",
    sglang.plan_topk_v2: "sglang.kernels.ops.attention.dsv4",
    sglang.topk_transform_paged_v2: "sglang.kernels.ops.attention.dsv4",
    sglang.topk_transform_ragged_v2: "sglang.kernels.ops.attention.dsv4",
    flashinfer.top_k: "flashinfer",
    flashinfer.top_k_page_table_transform: "flashinfer",
    flashinfer.top_k_ragged_transform: "flashinfer",
    deep_select.topk: "deep_select",
    deep_select.get_stride_requirement: "deep_select",
}


def parameters(function: Callable[..., Any]) -> list[tuple[str, Any, Any]]:
    """Name, kind and default of each."""
    found = inspect.signature(function).parameters.values()
    return [(p.name, p.kind, p.default) for p in found]


def name_of(function: Callable[..., Any]) -> str:
    return f"{function.__module__.rpartition('.')[2]}.{function.__name__}"


@pytest.mark.parametrize("function", SIGNATURES, ids=name_of)
def test_written_down(function: Callable[..., Any]) -> None:
    stated = eval(f"lambda {SIGNATURES[function]}: None", {"torch": torch, "INF": INF})
    assert parameters(function) == parameters(stated)


def test_all_functions_are_written_down() -> None:
    modules = (torch_adapter, vllm, tensorrt_llm, sglang, flashinfer, deep_select)
    public = {
        function
        for module in modules
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.startswith("_")
    }
    assert public == set(SIGNATURES)


@pytest.mark.parametrize("function", ORIGINALS, ids=name_of)
def test_the_originals(function: Callable[..., Any]) -> None:
    """Parameters that an older original lacks may only be at the end."""
    module = ORIGINALS[function]
    pytest.importorskip(module.partition(".")[0], exc_type=ImportError)
    theirs = parameters(getattr(importlib.import_module(module), function.__name__))
    assert parameters(function)[: len(theirs)] == theirs
