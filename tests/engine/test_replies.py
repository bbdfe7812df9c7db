"""Where a reply ends, what its cache holds then, and what was said aloud on the way."""

import pytest
import torch

from agentprim import Engine
from tests.engine.making import A, B, Q, engine
from tests.support.tiny import build
from tests.support.tokenizer import tiny_tokenizer

SUFFIX = [2, 5]


@pytest.fixture
def ending():
    """Return a function: an id -> an engine that takes this id for the end of a reply."""

    def make(end):
        one = Engine(build("qwen3"), tiny_tokenizer(), pool_tokens=2048, page_size=4)
        one.model.generation_config.eos_token_id = end
        return one

    return make


def _holds(one, out, ids):
    """Check that a cache holds exactly these ids, computed as one text."""
    assert out.kv.ids == ids
    expected = one.forward(ids + Q)[-len(Q) :]
    torch.testing.assert_close(one.forward(Q, out.kv), expected, atol=1e-4, rtol=0)


def test_a_cache_holds_prompt_reply_and_suffix_once():
    one = engine()
    out = one.generate(A, one.prefill(B), max_new_tokens=5, suffix=SUFFIX)
    assert len(out.ids) == 5 and out.finish == "length"
    assert out.reply_start == len(A) + len(B)
    _holds(one, out, [*B, *A, *out.ids, *SUFFIX])


def test_a_row_that_ends_early_keeps_no_padding(ending):
    free = engine().generate([A, B], max_new_tokens=8)
    end = free[0].ids[2]
    assert end not in free[0].ids[:2] and end not in free[1].ids
    one = ending(end)
    short, full = one.generate([A, B], max_new_tokens=8, suffix=SUFFIX)
    assert short.ids == free[0].ids[:3] and short.finish == "stop"
    assert full.ids == free[1].ids and full.finish == "length"
    _holds(one, short, [*A, *short.ids[:-1], *SUFFIX])  # the suffix ends the turn instead
    _holds(one, full, [*B, *full.ids, *SUFFIX])


def test_a_reply_that_ends_as_the_suffix_begins_says_it_once(ending):
    end = engine().generate(A, max_new_tokens=3).ids[2]
    one = ending(end)
    out = one.generate(A, max_new_tokens=8, suffix=[end, 5])
    _holds(one, out, [*A, *out.ids, 5])
    assert out.ids[-1] == end
    _holds(one, one.generate(A, max_new_tokens=8), [*A, *out.ids])


@pytest.mark.parametrize("prompts", [[A, B], [B, A]])
def test_a_stop_text_ends_its_own_row_only(prompts):
    one = engine()
    free = one.generate(prompts, max_new_tokens=8)
    stop = str(free[0])[2:4]
    assert stop not in str(free[1])
    first, second = one.generate(prompts, max_new_tokens=8, stop=[stop], suffix=SUFFIX)
    assert first == str(free[0])[:4] and first.finish == "stop"
    assert second == free[1] and second.finish == "length"
    _holds(one, first, [*prompts[0], *first.ids, *SUFFIX])
    assert one.generate(prompts[0], max_new_tokens=8, stop=stop) == first


def test_a_stop_text_may_be_a_special_token():
    one = engine()
    prompt = next(
        ids for ids in ([i] * 4 + B for i in range(3, 97))
        if 1 in one.generate(ids, max_new_tokens=12).ids[:-1]
    )  # fmt: skip
    out = one.generate(prompt, max_new_tokens=12, stop=["<|im_start|>"])
    assert out.ids[-1] == 1 and out.finish == "stop"
    assert "<|im_start|>" not in out


def test_pieces_of_a_stream_add_up_to_the_text_of_each_row():
    one, heard = engine(), {0: "", 1: ""}

    def hear(row, piece):
        heard[row] += piece

    outs = one.generate([A, B], max_new_tokens=12, stream=hear)
    assert [heard[0], heard[1]] == [str(out) for out in outs]
    pieces = []
    out = one.generate(A, max_new_tokens=12, stream=pieces.append)
    assert "".join(pieces) == out == outs[0] and len(pieces) > 3


def test_pieces_add_up_where_a_tokenizer_would_clean_up_spaces():
    tokenizer = tiny_tokenizer()
    tokenizer.clean_up_tokenization_spaces = True
    one = Engine(build("qwen3"), tokenizer, pool_tokens=1024)
    said = tokenizer.convert_tokens_to_ids([*"a .b ,c !"])
    replies = iter(said)
    _speak(one, replies)
    pieces = []
    out = one.generate(A, max_new_tokens=len(said), stream=pieces.append)
    assert "".join(pieces) == out == "a .b ,c !"


def test_pieces_leave_special_tokens_out():
    one = Engine(build("qwen3"), tiny_tokenizer(), pool_tokens=1024)
    _speak(one, iter([10, 1, 11, 0, 12, 2]))
    pieces = []
    out = one.generate(A, max_new_tokens=9, stream=pieces.append)
    assert out.ids == (10, 1, 11, 0, 12, 2) and out.finish == "stop"
    assert "".join(pieces) == out == one.tokenizer.decode([10, 11, 12])


def test_a_reply_in_ids_where_there_is_no_tokenizer():
    one = Engine(build("qwen3"), pool_tokens=1024)
    out = one.generate(A, max_new_tokens=3)
    assert str(out) == " ".join(map(str, out.ids))
    assert out.ids == engine().generate(A, max_new_tokens=3).ids


def test_the_state_of_a_reply_is_that_of_its_last_token():
    one = engine()
    out = one.generate(A, max_new_tokens=4, suffix=SUFFIX)
    expected = one.prefill([*A, *out.ids])
    torch.testing.assert_close(out.hidden, expected.hidden, atol=1e-4, rtol=0)
    assert not torch.allclose(out.kv.hidden, out.hidden, atol=0.1)


def _speak(one, replies):
    """Make a model say given ids."""

    def say(module, args, output):
        output.logits[:, -1] = 0
        output.logits[:, -1, next(replies)] = 50.0

    one.model.register_forward_hook(say)
