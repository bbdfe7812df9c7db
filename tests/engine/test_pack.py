"""Rows packed into one line say what each of them says alone, and see nothing of the others."""

import gc

import pytest

import agentprim as ap
from agentprim.cache.pack import Pack
from agentprim.engine.pack import can_pack, read_packed
from agentprim.engine.read import read
from tests.engine.making import A, B, Q, engine, plain_logits, twin

REPLIES = [[30], [31, 32, 33], [34, 35]]


def close(got, want) -> bool:
    return (got - want).abs().max() < 1e-4 * want.abs().max()


@pytest.mark.parametrize(
    "family", ["llama", "qwen3", "mistral", "gemma3", "gpt_oss", "phi3_longrope"]
)
def test_rows_behind_rows_are_whole_texts(family):
    one, model = engine(family), twin(family)
    rows, bases = [Q, A[:3], *REPLIES], [one.prefill(A), one.prefill(B), 0, 1, 1]
    texts = [A + Q, B + A[:3], A + Q + REPLIES[0], B + A[:3] + REPLIES[1], B + A[:3] + REPLIES[2]]
    _, states = read_packed(one, rows, bases)
    for state, row, text in zip(states, rows, texts, strict=True):
        assert close(one.logits(state), plain_logits(model, text)[-len(row) :])


@pytest.mark.parametrize("family", ["llama", "mistral"])
def test_rows_behind_moved_keys_are_those_of_a_padded_batch(family):
    one = engine(family)
    kv = ap.join([one.prefill(B), one.prefill(A)])
    gapped = kv.select([0, 1, 5, 6, 9])
    kvs, states = read_packed(one, [Q, A, REPLIES[1]], [kv, gapped, 1])
    (whole, kept), padded = read(one, [Q, A], [kv, gapped])
    (reply,), after = read(one, [REPLIES[1]], [kept])
    for got, want in zip(states, [*padded, *after], strict=True):
        assert close(got, want)
    for got, want in zip(kvs, [whole, kept, reply], strict=True):
        assert (got.ids, got.next_position) == (want.ids, want.next_position)
        assert close(one.forward([9], got), one.forward([9], want))  # their keys can be read later


def test_a_line_leaves_no_page_behind():
    one = engine()
    kv = one.prefill(A)
    before = one.pool.num_free
    read_packed(one, [Q, *REPLIES], [kv, 0, 0, 0])
    with pytest.raises(ap.PoolExhausted):
        read_packed(one, [Q, A * 1000], [kv, 0])
    gc.collect()
    assert one.pool.num_free == before


def test_a_pass_that_fails_leaves_no_page_behind():
    one = engine()
    kv = one.prefill(A)
    before, layer = one.pool.num_free, one.model.base_model.layers[1]
    handle = layer.register_forward_pre_hook(lambda *_: 1 / 0)
    try:
        with pytest.raises(ZeroDivisionError):
            read_packed(one, [Q, *REPLIES], [kv, 0, 0, 0])
    finally:
        handle.remove()
    gc.collect()
    assert one.pool.num_free == before
    assert close(one.forward(Q, kv), plain_logits(twin(), A + Q)[-len(Q) :])


def test_a_line_of_another_length_is_refused():
    one = engine()
    with pytest.raises(ValueError, match=r"must have shape \(1, 5\)"):
        Pack(one.pool, [one.prefill(A)], [Q]).begin(1, 4, spans=True)


def test_a_model_whose_attention_was_taken_back_is_not_packed():
    one = engine("qwen3")
    assert can_pack(one)
    name = one.model.config._attn_implementation
    one.model.set_attn_implementation("eager")
    try:
        assert not can_pack(one)
        with pytest.raises(ap.UnsupportedModel, match="cannot be packed"):
            read_packed(one, [Q], [one.prefill(A)])
    finally:
        one.model.set_attn_implementation(name)
