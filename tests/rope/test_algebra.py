"""Moves compose: one key, several hops, one phase.

The case A3: https://github.com/ggml-org/llama.cpp/issues/3825.
"""

import pytest
import torch

from agentprim.rope import prove
from agentprim_kernels import rotation
from agentprim_kernels.reference.turn import turn
from tests.support.keys import compute, relocate, some_ids
from tests.support.tiny import build


@pytest.fixture(scope="module", params=["llama", "glm4", "cohere2", "llama_yarn"])
def layers(request):
    model = build(request.param)
    keys, _, _ = compute(model, some_ids(11), 0)
    twelve, _, _ = compute(model, some_ids(11), 12)
    return list(zip(keys, twelve, prove(model).layers, strict=True))


def test_moving_forth_and_back_gives_the_original(layers):
    for keys, _, rope in layers:
        back = relocate(relocate(keys, rope, 7), rope, -7)
        torch.testing.assert_close(back, keys, rtol=1e-6, atol=1e-6)


def test_two_hops_equal_one_and_the_computed_place(layers):
    for keys, twelve, rope in layers:
        relayed = relocate(relocate(keys, rope, 7), rope, 5)
        torch.testing.assert_close(relayed, relocate(keys, rope, 12), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(relayed, twelve, rtol=1e-4, atol=1e-4)


def test_moving_by_zero_is_the_identity(layers):
    for keys, _, rope in layers:
        assert torch.equal(relocate(keys, rope, 0), keys)


def test_turning_the_query_back_scores_like_turning_the_keys(layers):
    for keys, _, rope in layers:
        query = torch.randn(keys.shape[-1], generator=torch.Generator().manual_seed(3))
        cos, sin = rotation([19], rope.inv_freq[None])[0, 0]
        turned = turn(query, cos, -sin, interleaved=rope.interleaved)
        scores = relocate(keys, rope, 19) @ query
        torch.testing.assert_close(keys @ turned, scores, rtol=1e-4, atol=1e-4)
