"""A remote agent speaks the OpenAI protocol with a server on loopback, and hands over text."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from agentprim import Output
from agentprim.agent.remote import RemoteAgent, RemoteError
from tests.agent.crew import SHORT, agent

pytest.importorskip("openai")


def reply(content, finish="stop"):
    return {
        "id": "1", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "finish_reason": finish,
                     "message": {"role": "assistant", "content": content}}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
    }  # fmt: skip


class Server:
    """Answers each request by a function of its body: `(status, json)`."""

    def __init__(self, answer):
        self.requests = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append(body)
                status, found = answer(body)
                data = json.dumps(found).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exception):
        self.server.shutdown()
        self.server.server_close()

    def agent(self, **options):
        return RemoteAgent("m", "Be brief.", base_url=self.url, api_key="k", **options)


def test_a_question_is_answered_with_its_cost():
    with Server(lambda body: (200, reply("Four."))) as server:
        out = server.agent(temperature=0.2)("2 + 2?", max_new_tokens=9, seed=5)
    assert out == "Four." and out.kv is None and out.finish == "stop"
    assert (out.usage.prefilled, out.usage.decoded, out.usage.generative_calls) == (11, 3, 1)
    body = server.requests[0]
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?"},
    ]  # fmt: skip
    assert (body["max_tokens"], body["temperature"], body["seed"]) == (9, 0.2, 5)


def test_a_batch_keeps_its_order_and_samples_their_seeds():
    with Server(lambda b: (200, reply(f"{b['messages'][-1]['content']}{b['seed']}"))) as server:
        outs = server.agent()(["a", "b", "c"], samples=2, seed=[10, 20, 30])
    assert outs == ["a10", "a11", "b20", "b21", "c30", "c31"]


def test_what_others_said_stands_in_front_of_the_question():
    draft = agent("solver")("why?", **SHORT).but(text="Because.")
    with Server(lambda body: (200, reply("No."))) as server:
        remote = server.agent(name="critic")
        remote("Right?", context=[draft])
        with pytest.raises(ValueError, match="a cache without text"):
            remote("Right?", context=[draft.kv])
        with pytest.raises(ValueError, match="inner must be 'text'"):
            remote.think("Right?", inner="latent")
        assert remote.think("Right?", inner="text") == "No."
    assert server.requests[0]["messages"][-1]["content"] == "solver:\nBecause.\n\nRight?"


@pytest.mark.parametrize(
    ("answer", "message", "requests"),
    [
        ((200, reply(None, "length")), r"answer with text, got none \(length\)", 1),
        ((200, {**reply("x"), "choices": []}), "no choices", 1),
        ((401, {"error": {"message": "no key"}}), "AuthenticationError", 1),
        ((503, {"error": {"message": "busy"}}), "InternalServerError", 2),
    ],
)
def test_an_unusable_answer_is_one_clear_error_and_no_storm(answer, message, requests):
    """See Tongyi-MAI/MobileWorld #61: content may be null."""
    with Server(lambda body: answer) as server:
        with pytest.raises(RemoteError, match=message):
            server.agent(retries=1)("2 + 2?")
        assert len(server.requests) == requests


def test_an_answer_may_be_empty_or_cut():
    with Server(lambda body: (200, reply("", "length"))) as server:
        out = server.agent()("2 + 2?")
    assert isinstance(out, Output) and out == "" and out.finish == "length"
