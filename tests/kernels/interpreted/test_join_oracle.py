"""The join oracle holds for a whole model whose caches are read by interpreted Triton kernels."""

import pytest
import torch

from agentprim.cache import step
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


def test_a_batch_that_shares_a_sender_equals_its_rows_alone(launches, monkeypatch):
    model = build("llama_yarn")
    empty = KV(attach(model).new_pool(64, page_size=4))
    monkeypatch.setitem(dispatch._RANKING, "cpu", ("triton",))
    sender = read(model, A, empty)[0]
    rows = [join([read(model, B[:n], empty)[0], sender]) for n in (3, 7)]
    alone = torch.stack([read(model, Q[:1], kv)[1][-1] for kv in rows])
    groups, attend = [], step.attend

    def counted(*args, **options):
        groups.append(options["cascade"].rows.tolist())
        return attend(*args, **options)

    monkeypatch.setattr(step, "attend", counted)
    cache = PagedCache(model, kv=rows)
    ids = torch.tensor([Q[:1], Q[:1]])
    mask = cache.inputs(ids)["attention_mask"]
    with torch.no_grad():
        together = model(input_ids=ids, attention_mask=mask, past_key_values=cache).logits[:, -1]
    assert groups and all(rows == [[0, 1]] for rows in groups)
    assert (together - alone).abs().max() < 1e-4 * alone.abs().max()
