"""Many hand-overs in low precision round each key once, since hops only add up numbers.

Public reports: EleutherAI/gpt-neox PR #1016, huggingface/transformers #29285 and
sgl-project/sglang-jax #1473 (angles in the dtype of the keys).
"""

import pytest
import torch

from agentprim.cache.join import join
from agentprim.cache.kv import KV
from tests.cache.conftest import A
from tests.support.tiny import build


def keys_of(kv):
    return torch.stack([layer.keys[0] for layer in kv.to_cache().layers])


def turned(keys, by, inv_freq):
    """Turn keys `[layers, heads, tokens, dim]` by exact angles, in fp64."""
    angle = by * inv_freq.double()
    one, two = keys.double().chunk(2, dim=-1)
    cos, sin = angle.cos(), angle.sin()
    return torch.cat([one * cos - two * sin, two * cos + one * sin], dim=-1)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("way", ["moves", "joins"])
def test_64_hops_round_once(dtype, way, pool_for, read):
    model = build("llama", dtype=dtype)
    kv, _ = read(model, A, KV(pool_for(model)))
    inv_freq = kv.pool.layout.layer_rope(0).inv_freq
    start, far = keys_of(kv), kv
    if way == "moves":
        step = 13
        for _ in range(64):
            far = far.moved(step)
    else:
        step, one = 1, kv[:1]
        for _ in range(64):
            far = join([one, far])
        far = far[64:]
    assert [span.delta for span in far.spans] == [64 * step]
    want = turned(start, 64 * step, inv_freq)
    error = (keys_of(far.materialize()).double() - want).square().mean() / want.square().mean()
    assert error.sqrt() <= 0.004
    assert torch.equal(keys_of(kv), start)
