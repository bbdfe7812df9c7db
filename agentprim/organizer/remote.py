"""An endpoint as the model that writes plans."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from agentprim.agent.endpoint import Answer, Endpoint, RemoteError, RequestRefused
from agentprim.agent.remote import AT_ONCE
from agentprim.engine import Usage
from agentprim.engine.chat import Message
from agentprim.organizer.reply import Reply, Unanswered, alone
from agentprim.organizer.schema import plan_schema


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
        return alone([self._answer(messages)])

    def each(self, asked: Sequence[Sequence[Message]]) -> list[Reply | Unanswered]:
        """Ask for several plans, several requests under way at once."""
        with ThreadPoolExecutor(AT_ONCE) as threads:
            return list(threads.map(self._answer, asked))

    def _answer(self, messages: Sequence[Message]) -> Reply | Unanswered:
        try:
            said = self._ask(messages)
        except RemoteError as error:
            found = Unanswered(f"organizer has no plan: {error}")
            found.__cause__ = error
            return found
        if not said.text.strip():
            return Unanswered(f"organizer must answer with text, got nothing from {self.model}")
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
