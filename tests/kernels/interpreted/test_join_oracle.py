"""The join oracle holds for a whole model whose caches are read by interpreted Triton kernels."""

import pytest
import torch

from agentprim.cache.attach import attach
from agentprim.cache.hf import PagedCache
from agentprim.cache.join import join
from agentprim.cache.kv import KV
from agentprim_kernels import dispatch
from tests.cache.conftest import A, B, Q
from tests.support.oracle import blocked_logits
from tests.support.tiny import build


def read(model, ids, kv):
    cache = PagedCache(model, kv=kv, absolute=True)
    start = kv.next_position
    with torch.no_grad():
        output = model(
            input_ids=torch.tensor([ids]),
            attention_mask=torch.ones(1, len(kv) + len(ids), dtype=torch.long),
            position_ids=torch.arange(start, start + len(ids))[None],
            past_key_values=cache,
        )
    return cache.kv(), output.logits[0]


@pytest.mark.parametrize("family", ["llama_yarn", "gemma3", "glm4"])
def test_model_meets_the_oracle(family, launches, monkeypatch):
    model, twin = build(family), build(family)
    empty = KV(attach(model).new_pool(64, page_size=4))
    monkeypatch.setitem(dispatch._RANKING, "cpu", ("triton",))
    kv_b, kv_a = read(model, B, empty)[0], read(model, A, empty)[0]
    expected = blocked_logits(twin, [B, A], Q)
    for joined in (join([kv_b, kv_a]), join([kv_b, kv_a]).materialize()):
        before = launches[0]
        _, logits = read(model, Q, joined)
        assert launches[0] > before
        assert (logits - expected).abs().max() < 1e-4 * expected.abs().max()
    moved = kv_a.moved(len(B))
    kv_a.release()
    moved.rotate_()
    _, logits = read(model, Q, join([kv_b, moved]))
    assert (logits - expected).abs().max() < 1e-4 * expected.abs().max()
