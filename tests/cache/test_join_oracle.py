"""A query on a joined cache equals one forward in which the parts cannot see each other."""

import pytest

from agentprim.cache.attach import attach
from agentprim.cache.join import join
from agentprim.cache.kv import KV
from tests.cache.conftest import A, B, Q
from tests.support.oracle import blocked_logits

FAMILIES = [
    "llama", "llama_llama3", "llama_yarn", "qwen3", "gemma3", "glm4", "gpt_neox", "cohere2",
    "mistral", "gpt_oss", "stablelm",
]  # fmt: skip


def as_spans(kv):
    return kv


def rotated_in_place(kv):
    own = kv.materialize()  # private pages at delta 0, moved back to give the rotation work
    back = own.moved(-3)
    own.release()
    back.rotate_()
    again = back.moved(3)
    back.release()
    again.rotate_()
    return again


def materialized(kv):
    return kv.materialize()


@pytest.mark.parametrize("way", [as_spans, rotated_in_place, materialized])
@pytest.mark.parametrize("family", FAMILIES)
def test_query_on_joined_cache_equals_blocked_forward(family, way, pair, pool_for, read):
    model, twin = pair(family)
    empty = KV(pool_for(model))
    kv_b, _ = read(model, B, empty)
    kv_a, _ = read(model, A, empty)
    joined = way(join([kv_b, kv_a]))
    _, logits = read(model, Q, joined)
    expected = blocked_logits(twin, [B, A], Q)
    assert (logits - expected).abs().max() < 1e-4 * expected.abs().max()


@pytest.mark.parametrize("family", ["llama", "gemma3", "glm4"])
def test_three_parts_and_reversed_parts(family, pair, pool_for, read):
    model, twin = pair(family)
    empty = KV(pool_for(model))
    kvs = [read(model, ids, empty)[0] for ids in (B, A, Q)]
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2)):
        _, logits = read(model, [1, 2, 3], join([kvs[i] for i in order]))
        expected = blocked_logits(twin, [(B, A, Q)[i] for i in order], [1, 2, 3])
        assert (logits - expected).abs().max() < 1e-4 * expected.abs().max()


@pytest.mark.parametrize("family", ["llama", "gemma3", "cohere2"])
def test_shared_offsets_put_parts_at_the_same_place(family, pair, pool_for, read):
    model, twin = pair(family)
    empty = KV(pool_for(model))
    kv_b, kv_a, kv_q = (read(model, ids, empty)[0] for ids in (B, A, Q))
    joined = join([kv_b, kv_a, kv_q], offsets="shared")
    assert joined.next_position == len(B) + len(A)
    _, logits = read(model, [1, 2, 3], joined)
    starts = [0, len(B), len(B), len(B) + len(A)]
    expected = blocked_logits(twin, [B, A, Q], [1, 2, 3], starts=starts)
    assert (logits - expected).abs().max() < 1e-4 * expected.abs().max()
    _, swapped = read(model, [1, 2, 3], join([kv_b, kv_q, kv_a], offsets="shared"))
    assert (logits - swapped).abs().max() < 1e-4 * expected.abs().max()


def test_without_rotation_the_oracle_is_missed(pair, pool_for, read):
    model, twin = pair("llama")
    empty = KV(pool_for(model))
    joined = join([read(model, B, empty)[0], read(model, A, empty)[0]], rotate=False)
    assert joined.next_position == len(B) + len(A)
    _, logits = read(model, Q, joined)
    assert (logits - blocked_logits(twin, [B, A], Q)).abs().max() > 0.1


@pytest.mark.parametrize("family", FAMILIES)
def test_append_equals_one_text(family, pair, pool_for, read):
    model, twin = pair(family)
    kv, _ = read(model, B, KV(pool_for(model)))
    _, logits = read(model, A, kv)
    expected = twin(input_ids=_row(B + A)).logits[0, len(B) :]
    assert (logits - expected).abs().max() < 1e-4 * expected.abs().max()


def test_every_family_here_reads_spans(pair):
    assert all(attach(pair(family)[0]).layout.spans for family in FAMILIES)


def _row(ids):
    import torch

    return torch.tensor([ids])
