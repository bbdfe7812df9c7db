"""Ragged rows are read as one line: nothing is computed for padding, and nothing else changes."""

import gc

import pytest
import torch

import agentprim as ap
from agentprim.engine.prefill import is_ragged, prefill
from agentprim.engine.read import read
from tests.engine.making import A, B, Q, engine

RAGGED = [A + B, Q[:2], B]


@pytest.fixture
def shapes():
    """List the shape of the ids of each forward pass of two engines."""
    found = []
    hooks = [
        engine(family).model.base_model.register_forward_pre_hook(
            lambda _, args, kwargs: found.append(tuple(kwargs["input_ids"].shape)),
            with_kwargs=True,
        )
        for family in ("qwen3", "falcon")
    ]
    yield found
    for hook in hooks:
        hook.remove()


@pytest.mark.parametrize("family", [
    "qwen3", "mistral", "gemma3", "phi3_longrope", "llama_dynamic", "phi", "gpt_neox", "gptj",
    "cohere2", "glm4", "smollm3", "qwen3_moe", "gpt_oss",
])  # fmt: skip
def test_a_line_gives_what_a_padded_batch_gives(family):
    one = engine(family)
    first, second = (  # each fills up last pages of its own
        [one.prefill(Q), ap.join([one.prefill(B), one.prefill(A)]), one.prefill(B)]
        for _ in range(2)
    )
    got, (want, _) = prefill(one, RAGGED, first), read(one, RAGGED, second)
    for a, b in zip(got, want, strict=True):
        assert (a.ids, a.next_position, len(a.spans)) == (b.ids, b.next_position, len(b.spans))
        torch.testing.assert_close(a.hidden, b.hidden, rtol=1e-3, atol=1e-4)
        torch.testing.assert_close(one.forward(Q, a), one.forward(Q, b), rtol=1e-3, atol=1e-3)


def test_no_padding_is_computed(shapes):
    one = engine()
    one.prefill(RAGGED)
    assert shapes == [(1, 27)]
    shapes.clear()
    one.prefill([A, A[:-1], A[1:]])
    assert len(shapes) == 1 and shapes[0][0] == 1
    shapes.clear()
    one.prefill([A, A])
    assert shapes == [(2, 11)]
    shapes.clear()
    one.generate(RAGGED, max_new_tokens=2)
    assert shapes[:2] == [(1, 24), (3, 1)]


def test_dense_attention_is_padded(shapes):
    one = engine("falcon")
    assert not is_ragged(one, RAGGED)
    one.prefill(RAGGED)
    assert shapes == [(3, 18)]


def test_a_ragged_chain_takes_no_more_pages_and_spans_than_one_row():
    one = engine()
    gc.collect()
    free = one.pool.num_free
    kvs = one.prefill(RAGGED)
    for _ in range(4):
        kvs = one.prefill([Q, A + B, Q[:3]], kvs)
    assert [len(kv.spans) for kv in kvs] == [1, 1, 1]
    assert free - one.pool.num_free == sum(-(-len(kv) // 4) for kv in kvs)
    fork = kvs[0].fork()
    grown = one.prefill([A, Q[:1], B], [kvs[0], fork, kvs[2]])
    assert [kv.ids for kv in grown] == [kvs[0].ids + A, kvs[0].ids + Q[:1], kvs[2].ids + B]
    alone = one.prefill(Q[:1], one.prefill(kvs[0].ids))
    torch.testing.assert_close(grown[1].hidden, alone.hidden, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("options", [{}, {"temperature": 2.0, "seed": 3}])
def test_ragged_prompts_are_answered_as_each_is_alone(options):
    one = engine()
    kv = one.latent(one.prefill(B), 2)
    outs = one.generate(RAGGED, kv, max_new_tokens=6, suffix=[2], **options)
    for row, (ids, out) in enumerate(zip(RAGGED, outs, strict=True)):
        more = {**options, "seed": options["seed"] + row} if options else {}
        alone = one.generate(ids, kv, max_new_tokens=6, suffix=[2], **more)
        assert (out, out.kv.ids, out.reply_start) == (alone, alone.kv.ids, alone.reply_start)


@pytest.mark.parametrize("more", [1, 2])
def test_a_prompt_that_just_reaches_a_switch_is_read_as_one(more):
    one = engine("phi3_longrope")
    long = [3 + i % 90 for i in range(one.pool.layout.switch + more)]
    out = one.generate([long, A], max_new_tokens=1)[0]
    assert out.ids == one.generate(long, max_new_tokens=1).ids and out.kv.ids[:-1] == long


@pytest.mark.parametrize("family", ["qwen3", "gemma3"])
def test_gaps_and_shared_places_change_nothing(family):
    one = engine(family)
    kv_a, kv_b = one.prefill([A, B])
    shared = ap.join([kv_b, kv_a, kv_b], offsets="shared")
    kvs = [kv_a.select([0, 1, 5, 6, 10]), shared, kv_a[:7], kv_a, kv_a]
    rows = [A + B, Q[:1], Q, A, B[:1]]
    for kv, ids, got in zip(kvs, rows, prefill(one, rows, kvs), strict=True):
        alone = one.prefill(ids, kv)
        assert (got.ids, got.next_position) == (alone.ids, alone.next_position)
        torch.testing.assert_close(got.hidden, alone.hidden, rtol=1e-3, atol=1e-4)
        torch.testing.assert_close(one.forward(Q, got), one.forward(Q, alone), rtol=1e-3, atol=1e-3)
    rows = [A + B, Q, A, Q[:2], B]
    outs = one.generate(rows, kvs, max_new_tokens=6)
    for kv, ids, out in zip(kvs, rows, outs, strict=True):
        assert out == one.generate(ids, kv, max_new_tokens=6)


def test_what_does_not_fit_changes_nothing():
    one = engine()
    kv = one.prefill(A[:5])
    gc.collect()
    free = one.pool.num_free
    with pytest.raises(ap.PoolExhausted):
        one.prefill([Q, A * 1000], kv)
    gc.collect()
    assert one.pool.num_free == free
    assert len(one.prefill(Q, kv).spans) == 1, "its last page can still be filled up"
