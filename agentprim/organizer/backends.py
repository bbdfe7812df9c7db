"""Who writes plans: the local engine, an endpoint that speaks the OpenAI protocol, or a function.

A backend is called with chat messages and returns a `Reply`; what fails in it is a `PlanError`.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentprim.agent import Agent
from agentprim.agent.endpoint import Answer, Endpoint, RemoteError, RequestRefused
from agentprim.engine import Engine, Usage
from agentprim.engine.chat import Message
from agentprim.errors import PlanError
from agentprim.organizer.grammar import Grammar, read_tokenizer
from agentprim.organizer.schema import gathered, narrow_schema, plan_schema


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a backend wrote.

    Attributes:
        text: The answer.
        cut: Whether a limit of tokens ended it.
        usage: What it cost here; tokens of an endpoint are not among it.
    """

    text: str
    cut: bool = False
    usage: Usage = field(default_factory=Usage)


class Unanswered(PlanError):
    """A backend gave nothing that could be read, and asking again would not help."""


Backend = Callable[[Sequence[Message]], Reply]


class Local:
    """The engine itself, held to a schema, so that all it writes to its end is a plan that can run.

    What no step reads is read by the last one.
    """

    def __init__(
        self, engine: Engine, *, most_steps: int = 3, max_new_tokens: int = 600, free: bool = False
    ) -> None:
        """Take an engine.

        Args:
            engine: Any, with a tokenizer that llguidance knows.
            most_steps: Of a plan.
            max_new_tokens: Of a plan.
            free: Do not hold it to the schema; for models that write plans by themselves.
        """
        self.engine, self.max_new_tokens, self.free = engine, max_new_tokens, free
        self._schema, self._tokenizer = narrow_schema(most_steps), None
        self._agents: dict[str, Agent] = {}

    def __call__(self, messages: Sequence[Message]) -> Reply:
        """Write a plan.

        Raises:
            ImportError: llguidance is not installed.
            ValueError: The tokenizer is not known to it.
        """
        system, *turns = messages
        agent = self._agents.setdefault(
            system["content"], Agent(self.engine, system["content"], name="organizer")
        )
        constraint = None
        if not self.free:
            self._tokenizer = self._tokenizer or read_tokenizer(self.engine)
            constraint = Grammar(self.engine, self._schema, self._tokenizer)
        out = agent(turns, max_new_tokens=self.max_new_tokens, constraint=constraint)
        out.kv.release()
        text, cut = str(out), out.finish == "length"
        if constraint is not None and not cut:
            text = json.dumps(gathered(json.loads(text)))
        return Reply(text=text, cut=cut, usage=out.usage)


class Remote:
    """An endpoint that speaks the OpenAI protocol.

    It is asked for structured output; where it refuses that, it is asked for text from then on. A
    request is never repeated by itself.
    """

    def __init__(
        self, model: str, base_url: str | None = None, *, api_key: str | None = None,
        timeout: float = 60.0, max_tokens: int = 4000, **options: Any,
    ) -> None:  # fmt: skip
        """Name an endpoint.

        Args:
            model, base_url, api_key, timeout: See `Endpoint`.
            max_tokens: Of an answer, reasoning included.
            options: More fields of a request, such as temperature.

        Raises:
            ImportError: The `openai` package is not installed.
        """
        self._endpoint = Endpoint(model, base_url, api_key=api_key, timeout=timeout)
        self.model, self._structured = model, True
        self._options = {"max_tokens": max_tokens, **options}

    def __call__(self, messages: Sequence[Message]) -> Reply:
        """Ask for a plan.

        Raises:
            Unanswered: The endpoint cannot be reached, refuses, or says nothing.
        """
        try:
            said = self._ask(messages)
        except RemoteError as error:
            raise Unanswered(f"organizer has no plan: {error}") from None
        if not said.text.strip():
            raise Unanswered(f"organizer must answer with text, got nothing from {self.model}")
        usage = Usage.of("organizer", generative_calls=1, seconds=said.seconds)
        return Reply(text=said.text, cut=said.cut, usage=usage)

    def _ask(self, messages: Sequence[Message]) -> Answer:
        if self._structured:
            shape = {
                "type": "json_schema",
                "json_schema": {"name": "plan", "schema": plan_schema()},
            }
            try:
                return self._endpoint(messages, response_format=shape, **self._options)
            except RequestRefused:
                self._structured = False
        return self._endpoint(messages, **self._options)


class Scripted:
    """A function from messages to text, for tests and for models of one's own."""

    def __init__(self, function: Callable[[Sequence[Message]], str]) -> None:
        """Take the function."""
        self._function = function

    def __call__(self, messages: Sequence[Message]) -> Reply:
        """Call it.

        Raises:
            Unanswered: It gives no text.
        """
        text = self._function(messages)
        if not isinstance(text, str):
            raise Unanswered(f"organizer must answer with text, got {type(text).__name__}")
        return Reply(text=text)


def backend(llm) -> Backend:
    """Make a backend of an engine, a backend, or a function.

    Raises:
        TypeError: It is none of them.
    """
    if isinstance(llm, Local | Remote | Scripted):
        return llm
    if isinstance(llm, Engine):
        return Local(llm)
    if callable(llm):
        return Scripted(llm)
    raise TypeError(f"llm must be an Engine, a Remote or a function, got {type(llm).__name__}")
