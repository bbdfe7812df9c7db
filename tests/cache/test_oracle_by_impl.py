"""The join oracle holds for a whole model by every implementation that runs on a CPU."""

import pytest

from agentprim.cache.join import join
from agentprim.cache.kv import KV
from agentprim_kernels import dispatch
from tests.cache.conftest import A, B, Q
from tests.support.oracle import blocked_logits


@pytest.mark.parametrize("way", ["lazy", "materialize", "in place"])
@pytest.mark.parametrize("family", ["llama_yarn", "gemma3", "glm4", "cohere2"])
@pytest.mark.parametrize("impl", ["reference", "cpp"])
def test_model_meets_the_oracle(impl, family, way, pair, pool_for, read, monkeypatch, request):
    if impl == "cpp":
        request.getfixturevalue("compiled")
    model, twin = pair(family)
    monkeypatch.setitem(dispatch._RANKING, "cpu", (impl,))
    empty = KV(pool_for(model))
    kv_b, kv_a = read(model, B, empty)[0], read(model, A, empty)[0]
    joined = join([kv_b, kv_a])
    if way != "lazy":
        joined = joined.materialize()
    if way == "in place":
        joined, own = joined.moved(3), joined
        own.release()
        joined.rotate_()
        joined = joined.moved(-3)
    _, logits = read(model, Q, joined)
    expected = blocked_logits(twin, [B, A], Q)
    assert (logits - expected).abs().max() < 1e-4 * expected.abs().max()
