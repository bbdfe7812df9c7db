"""The verbs of an engine give what the same model gives without any of this."""

import pytest
import torch

from agentprim import join
from tests.engine.making import END, A, B, Q, engine, plain_greedy, plain_logits, plain_states, twin
from tests.support.oracle import blocked_logits

FAMILIES = ["llama", "qwen3", "mistral", "gemma3", "cohere2", "gptj", "llama_yarn"]
ROWS = [B, A, Q]


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_equal_the_plain_model_with_and_without_what_stands_before(family):
    one, model = engine(family), twin(family)
    expected = plain_logits(model, B + A)
    torch.testing.assert_close(one.forward(B + A), expected, atol=1e-4, rtol=0)
    behind = one.forward(A, one.prefill(B))
    torch.testing.assert_close(behind, expected[len(B) :], atol=1e-4, rtol=0)


@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_replies_equal_the_plain_model_row_by_row(family):
    one, model = engine(family), twin(family)
    expected = [tuple(plain_greedy(model, ids, 6)) for ids in ROWS]
    assert [out.ids for out in one.generate(ROWS, max_new_tokens=6)] == expected
    before = [one.prefill(ids[:-2]) for ids in ROWS]
    behind = one.generate([ids[-2:] for ids in ROWS], before, max_new_tokens=6)
    assert [out.ids for out in behind] == expected


@pytest.mark.parametrize("family", FAMILIES)
def test_ragged_rows_read_like_single_ones(family):
    one = engine(family)
    for kv, ids in zip(one.prefill(ROWS), ROWS, strict=True):
        alone = one.prefill(ids)
        assert kv.ids == alone.ids == ids
        torch.testing.assert_close(kv.hidden, alone.hidden, atol=1e-4, rtol=0)
        expected = plain_states(twin(family), ids)[-1]
        torch.testing.assert_close(kv.hidden, expected, atol=1e-4, rtol=0)
        next_logits = one.forward(Q, kv)
        torch.testing.assert_close(next_logits, one.forward(Q, alone), atol=1e-4, rtol=0)


def test_rows_behind_caches_of_different_length_keep_their_own_positions():
    one = engine()
    before = [one.prefill(A), one.prefill(B[:3])]
    read = one.prefill([Q, B], before)
    for kv, ids in zip(read, [A + Q, B[:3] + B], strict=True):
        torch.testing.assert_close(kv.hidden, one.prefill(ids).hidden, atol=1e-4, rtol=0)
        assert kv.next_position == len(ids)


def test_one_cache_serves_all_rows_and_is_not_changed():
    one = engine()
    kv = one.prefill(B)
    outs = one.generate([A, Q], kv, max_new_tokens=3)
    assert [out.kv.ids[: len(B)] for out in outs] == [B, B]
    assert kv.ids == B
    assert outs[1].ids == one.generate(Q, kv, max_new_tokens=3).ids


@pytest.mark.parametrize("family", ["llama", "mistral", "gemma3"])
@pytest.mark.parametrize("offsets", ["consecutive", "shared"])
def test_replies_behind_joined_caches_equal_one_blocked_text(family, offsets):
    one, model = engine(family), twin(family)
    parts = [B, A, Q[:3]]
    joined = join([one.prefill(part) for part in parts], offsets=offsets)
    starts = [0, len(B), len(B) + (len(A) if offsets == "consecutive" else 0), len(B) + len(A)]
    if offsets == "consecutive":
        starts[3] += len(parts[2])
    reply: list[int] = []
    while len(reply) < 4 and reply[-1:] != [END]:
        logits = blocked_logits(model, parts, Q + reply, starts=starts)
        reply.append(int(logits[-1].argmax()))
    assert list(one.generate(Q, joined, max_new_tokens=4).ids) == reply


def test_given_positions_are_where_the_ids_stand():
    one, model = engine(), twin()
    kv = one.prefill(B)
    places = [len(B), len(B) + 4, len(B) + 5]
    with torch.no_grad():
        ids = torch.tensor([B + Q[:3]])
        expected = model(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            position_ids=torch.tensor([[*range(len(B)), *places]]),
        ).logits[0, len(B) :]
    torch.testing.assert_close(one.forward(Q[:3], kv, places), expected, atol=1e-4, rtol=0)
    assert len(kv) == len(B)


def test_text_and_ids_and_tensors_are_the_same_input():
    one = engine()
    ids = one.encode("hello")
    for x in ("hello", ids, tuple(ids), torch.tensor(ids)):
        assert one.prefill(x).ids == ids
    assert [kv.ids for kv in one.prefill(torch.tensor([ids, ids]))] == [ids, ids]
