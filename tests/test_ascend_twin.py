"""The Ascend kernels through the op, over the host twin: the case table exactly as the reference
answers it. What this shows is the algorithm and its order of events under the twin's rules, not a
device's behaviour.
"""

from __future__ import annotations

import pytest
import torch

import ascend_twin
import deepselect
from cases import Case, all_cases
from checking import check_call, check_refused, refusal
from deepselect import reference, testing

pytestmark = pytest.mark.skipif(
    ascend_twin.library() is None, reason="built without -DDEEPSELECT_TWIN=ON"
)


@pytest.fixture(params=ascend_twin.ARCHITECTURES)
def npu(request: pytest.FixtureRequest) -> testing.Backend:
    backend = ascend_twin.load()
    ascend_twin.use(request.param)
    return backend


@pytest.mark.parametrize("twin_case", all_cases(), ids=lambda case: case.name)
@pytest.mark.filterwarnings("ignore:.*Overriding a previously registered kernel")
def test_case(twin_case: Case, npu: testing.Backend) -> None:
    call = twin_case.build(npu.device, alignment_bytes=npu.limits.row_alignment_bytes)
    if error := refusal(twin_case, npu):
        check_refused(call, error, deepselect.topk)
        return
    host_call = twin_case.build()
    expected = reference.select(host_call.input, host_call.k, **host_call.arguments)
    check_call(call, expected, npu, outputs=twin_case.outputs)


def test_raw_op_runs_on_the_device(npu: testing.Backend) -> None:
    x = torch.randn(4, 4096).to(npu.device)
    values, indices = torch.ops.deepselect.topk(x, 100, order="value")
    assert values.device == indices.device == x.device
    expected = torch.ops.deepselect.topk(x.cpu(), 100, order="value")
    testing.assert_same_bits(values, expected[0])
    testing.assert_same_bits(indices, expected[1])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("k", [1, 512, 4096])
def test_one_long_row_is_shared_by_cores(npu: testing.Backend, k: int, dtype: torch.dtype) -> None:
    x = torch.randn(1, 400_000).to(dtype)
    actual = deepselect.topk(x.to(npu.device), k, order="index")
    expected = deepselect.topk(x, k, order="index")
    assert actual.values is not None
    assert expected.values is not None
    testing.assert_same_bits(actual.indices, expected.indices)
    testing.assert_same_bits(actual.values, expected.values)


def test_rows_that_are_not_aligned_are_refused(npu: testing.Backend) -> None:
    x = torch.zeros(2, 100).to(npu.device)
    with pytest.raises(ValueError, match=r"aligned to 32 bytes on npu.*deepselect\.empty_rows"):
        deepselect.topk(x, 3)
