"""A remote agent speaks the OpenAI protocol with a server on loopback, and hands over text."""

import pytest

from agentprim import Output
from agentprim.agent import RemoteAgent, RemoteError
from tests.agent.crew import SHORT, agent
from tests.support.server import answer, serving

pytest.importorskip("openai")


def remote(url: str, **options) -> RemoteAgent:
    return RemoteAgent("m", "Be brief.", base_url=url, api_key="k", **options)


def test_a_question_is_answered_with_its_cost():
    with serving(answer("Four.")) as (url, seen):
        out = remote(url, temperature=0.2)("2 + 2?", max_new_tokens=9, seed=5)
    assert out == "Four." and out.kv is None and out.finish == "stop"
    assert (out.usage.prefilled, out.usage.decoded, out.usage.generative_calls) == (5, 7, 1)
    body = seen[0]
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"},
    ]  # fmt: skip
    assert (body["max_tokens"], body["temperature"], body["seed"]) == (9, 0.2, 5)


def test_a_batch_keeps_its_order_and_samples_their_seeds():
    with serving(lambda b: answer(f"{b['messages'][-1]['content']}{b['seed']}")) as (url, _):
        outs = remote(url)(["a", "b", "c"], samples=2, seed=[10, 20, 30])
    assert outs == ["a10", "a11", "b20", "b21", "c30", "c31"]


def test_what_others_said_stands_in_front_of_the_question():
    draft = agent("solver")("why?", **SHORT).but(text="Because.")
    with serving(answer("No.")) as (url, seen):
        critic = remote(url, name="critic")
        critic("Right?", context=[draft])
        with pytest.raises(ValueError, match="a cache without text"):
            critic("Right?", context=[draft.kv])
        with pytest.raises(ValueError, match="inner must be 'text'"):
            critic.think("Right?", inner="latent")
        assert critic.think("Right?", inner="text") == "No."
    assert seen[0]["messages"][-1]["content"] == "solver:\nBecause.\n\nRight?"


@pytest.mark.parametrize(
    ("said", "message", "requests"),
    [
        (answer(None, "length"), r"answer with text, got none \(length\)", 1),
        ({**answer("x"), "choices": []}, "no choices", 1),
        ((401, {"error": {"message": "no key"}}), "AuthenticationError", 1),
        ((503, {"error": {"message": "busy"}}), "InternalServerError", 2),
    ],
)
def test_an_unusable_answer_is_one_clear_error_and_no_storm(said, message, requests):
    """See Tongyi-MAI/MobileWorld #61: content may be null."""
    with serving(said) as (url, seen):
        with pytest.raises(RemoteError, match=message):
            remote(url, retries=1)("2 + 2?")
        assert len(seen) == requests


def test_an_answer_may_be_empty_or_cut():
    with serving(answer("", "length")) as (url, _):
        out = remote(url)("2 + 2?")
    assert isinstance(out, Output) and out == "" and out.finish == "length"


@pytest.mark.parametrize(("key", "sent"), [(None, "none"), ("of the environment",) * 2])
def test_a_key_is_that_of_the_environment_if_there_is_one(monkeypatch, key, sent):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    if key is not None:
        monkeypatch.setenv("OPENAI_API_KEY", key)
    endpoint = RemoteAgent("m", base_url="http://127.0.0.1:9/v1")._endpoint
    assert endpoint._client.api_key == sent
