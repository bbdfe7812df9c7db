"""Methods on a tiny engine, and agents that really work but say what a script tells them."""

import functools

from agentprim import Agent, Engine
from agentprim.engine import decode
from agentprim.evaluate.base import Limits
from agentprim.evaluate.methods import method
from agentprim.evaluate.methods import talk as talking
from tests.support.tiny import build
from tests.support.tokenizer import tiny_tokenizer

LIMITS = Limits(max_new_tokens=2, steps=2)
QUESTIONS = ["what is 1+1?", "why?", "how many are there?"]
SEEDS = [7, 8, 30]


@functools.cache
def engine() -> Engine:
    """Return an engine of two layers: prompts are long where each character is a token."""
    model = build("qwen3", num_hidden_layers=2)
    return Engine(model, tiny_tokenizer(), pool_tokens=32768, page_size=16)


@functools.cache
def expert() -> Engine:
    """Return an engine of another model."""
    model = build("llama", num_hidden_layers=2)
    return Engine(model, tiny_tokenizer(), pool_tokens=32768, page_size=16)


class Script:
    """Says what `speak(role, turn, question)` returns, and keeps who was asked what.

    Attributes:
        heard: Role and turn of each answer, in order, the last message of chats.
        chats: Each turn as it was given.
    """

    def __init__(self, monkeypatch, speak, module=talking) -> None:
        """Let all agents that a module makes follow the script; default those of a talk."""
        self.heard, self.chats = [], []
        script = self

        class Scripted(Agent):
            def __call__(self, x, **options):
                outputs = super().__call__(x, **{**options, "max_new_tokens": 1})
                each = len(outputs) // len(x)
                script.chats += [(self.name, turn) for turn in x]
                turns = [turn if isinstance(turn, str) else turn[-1]["content"] for turn in x]
                said = []
                for number, out in enumerate(outputs):
                    turn = turns[number // each]
                    script.heard.append((self.name, turn))
                    said.append(out.but(text=speak(self.name, turn)))
                return said

        monkeypatch.setattr(module, "Agent", Scripted)

    def roles(self, question: str = "") -> list[str]:
        """List who was asked about a question, in order."""
        return [role for role, turn in self.heard if question in turn]

    def turns(self, role: str) -> list[str]:
        """List what a role was asked, in order."""
        return [turn for one, turn in self.heard if one == role]


def run(
    name: str, questions=QUESTIONS, seeds=SEEDS, limits: Limits = LIMITS, extracts=None, **options
):
    """Let a method answer on the shared tiny engine."""
    more = {} if extracts is None else {"extracts": extracts}
    found = method(name, **options)
    if getattr(found, "takes_expert", False):
        more["expert"] = expert()
    return found(engine(), questions, limits, seeds, **more)


def passes(monkeypatch) -> list[int]:
    """Return a list that will hold the rows of each batch that is decoded from now on."""
    rows, generate = [], decode.generate

    def counted(engine, ids, *args, **more):
        rows.append(len(ids))
        return generate(engine, ids, *args, **more)

    monkeypatch.setattr(decode, "generate", counted)
    return rows


def calls(out) -> list[str]:
    """List who worked, in order."""
    return [event.role for event in out.trace if event.kind == "call"]


def events(out, kind: str) -> list[dict]:
    """List the events of a kind."""
    return [event.detail for event in out.trace if event.kind == kind]
