"""What `store_` writes."""

import pytest
import torch

import agentprim_kernels as ak
from tests.kernels import cases


@pytest.mark.parametrize("dtype", cases.DTYPES)
@pytest.mark.parametrize("page_size", [1, 5, 8])
@pytest.mark.parametrize("odd_strides", [False, True])
def test_copies_each_token_to_its_slot_and_nothing_else(impl, dtype, page_size, odd_strides):
    case = cases.store(0, dtype, page_size=page_size, odd_strides=odd_strides)
    assert ak.store_(**case, impl=impl) is None
    for cache, new in ((case["k_cache"], case["keys"]), (case["v_cache"], case["values"])):
        want = torch.full_like(cache, cases.NAN)
        for row, slots in enumerate(case["slot_mapping"].tolist()):
            for token, slot in enumerate(slots):
                if slot >= 0:
                    want[:, slot // page_size, :, slot % page_size] = new[:, row, :, token]
        assert torch.equal(cache.nan_to_num(77), want.nan_to_num(77))
        assert want.isnan().any()


def test_one_token_of_a_decode_step_with_broadcast_layers(impl):
    case = cases.store(1, torch.float32, tokens=1)
    case["keys"] = case["keys"][:1].expand(2, -1, -1, -1, -1)  # stride 0
    case["slot_mapping"] = torch.tensor([[9], [-1]])
    ak.store_(**case, impl=impl)
    assert torch.equal(case["k_cache"][:, 1, :, 1], case["keys"][:, 0, :, 0])
    assert case["k_cache"].isnan().sum() == case["k_cache"].numel() - 2 * 2 * 16


@pytest.mark.usefixtures("compiled")
def test_slot_outside_of_the_cache_is_refused_before_any_write():
    """An append past the end wrote over a neighbour: github.com/vllm-project/vllm/issues/53982."""
    case = cases.store(2, torch.float32)
    case["slot_mapping"][1, 5] = 12 * 8
    with pytest.raises(ValueError, match="^slot_mapping must have slots in 0..95, got 96$"):
        ak.store_(**case, impl="cpp")
    assert case["k_cache"].isnan().all() and case["v_cache"].isnan().all()
