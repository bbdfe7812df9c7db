"""What `rotate_` does to a cache."""

import pytest
import torch

import agentprim_kernels as ak
from tests.kernels import cases, oracle

ROUNDING = {torch.float32: 2**-22, torch.float16: 2**-11, torch.bfloat16: 2**-8}


def expected(case):
    """Return the cache in fp64 with the tokens of all spans turned."""
    keys = case["k_cache"].double()
    for index, span in enumerate(case["spans"]):
        for page, offset in oracle.token_slots(case["page_table"], span, keys.shape[3]):
            for layer in range(len(keys)):
                row = case["rotation"][layer, index]
                keys[layer, page, :, offset] = oracle.turned(
                    keys[layer, page, :, offset], *row, case["interleaved"]
                )
    return keys


def check(case, impl, dtype):
    want, before = expected(case), case["k_cache"].clone()
    length = case["k_cache"].norm(dim=-1)
    assert ak.rotate_(**case, impl=impl) is None
    have = case["k_cache"]
    assert have.dtype == dtype
    # a turned pair is as long as it was: its length bounds the rounding of both members
    assert (have - want).abs().max() <= ROUNDING[dtype] * before.abs().max() * 1.5
    untouched = want == before.double()
    assert torch.equal(have[untouched], before[untouched])
    torch.testing.assert_close(have.norm(dim=-1), length, rtol=4 * ROUNDING[dtype], atol=0)


@pytest.mark.parametrize("dtype", cases.DTYPES)
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("rotary_dim", [16, 6])
def test_turns_the_tokens_of_spans_and_nothing_else(impl, dtype, interleaved, rotary_dim):
    check(cases.rotate(0, dtype, rotary_dim=rotary_dim, interleaved=interleaved), impl, dtype)


@pytest.mark.parametrize("page_size", [1, 5, 64])
def test_takes_any_page_size_and_any_strides(impl, page_size):
    case = cases.rotate(1, torch.float32, page_size=page_size, odd_strides=True)
    check(case, impl, torch.float32)
    bigger = case["k_cache"]._base
    assert bigger.isnan().sum() == bigger.numel() - case["k_cache"].numel()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("delta", [257, 1001, 4095, 100000])
def test_low_precision_keys_turn_by_precise_angles(impl, dtype, delta):
    """Angles must not be computed in the keys' dtype: github.com/EleutherAI/gpt-neox/pull/1016."""
    keys = torch.randn(1, 64, 2, 64, generator=cases.generator(3)).to(dtype)
    cache = keys.transpose(1, 2)[:, None]  # [1, 1, heads 2, page_size 64, 64], a transposed view
    inv_freq = 1e4 ** -(torch.arange(0, 64, 2) / 64.0)
    angle = delta * inv_freq.double()
    want = oracle.turned(cache, angle.cos(), angle.sin(), False)
    table = torch.zeros(1, dtype=torch.int32)
    spans = torch.tensor([[0, 0, 64, 0, -1]], dtype=torch.int32)
    ak.rotate_(cache, table, spans, ak.rotation([delta], inv_freq[None]), impl=impl)
    error = (cache.double() - want).square().mean().sqrt() / want.square().mean().sqrt()
    assert error <= 0.004
    if delta == 257:
        other = cache.clone()
        ak.rotate_(other, table, spans, ak.rotation([-1], inv_freq[None]), impl=impl)
        assert (other != cache).float().mean() > 0.5  # 256 is not 257


def test_there_and_back_is_the_identity(impl):
    case = cases.rotate(4, torch.float32)
    before = case["k_cache"].clone()
    ak.rotate_(**case, impl=impl)
    assert not torch.allclose(case["k_cache"], before)
    ak.rotate_(**case | {"rotation": cases.rotation([-37, -5, 11], 3, 16)}, impl=impl)
    torch.testing.assert_close(case["k_cache"], before, rtol=0, atol=1e-6)


def test_layers_may_share_one_expanded_row(impl):
    case = cases.rotate(5, torch.float32)
    one = ak.rotation([37, 5, -11], cases.frequencies(1, 16).expand(3, -1))
    assert one.stride(0) == 0
    shared, plain = (case | {"k_cache": case["k_cache"].clone(), "rotation": rows}
                     for rows in (one, one.contiguous()))  # fmt: skip
    ak.rotate_(**shared, impl=impl)
    ak.rotate_(**plain, impl=impl)
    assert torch.equal(shared["k_cache"], plain["k_cache"])
