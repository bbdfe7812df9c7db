"""An endpoint that speaks the OpenAI protocol: one request, one answer or one clear error."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from agentprim.errors import AgentPrimError


class RemoteError(AgentPrimError):
    """An endpoint did not answer, or answered nothing usable."""


class RequestRefused(RemoteError):
    """An endpoint did not take a request as it was put (status 400 or 422)."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What an endpoint said.

    Attributes:
        text: The answer; it may be empty.
        cut: Whether a limit of tokens ended it.
        seconds: How long it took.
        prefilled, decoded: Tokens that the endpoint counted; 0 where it counts none.
    """

    text: str
    cut: bool
    seconds: float
    prefilled: int = 0
    decoded: int = 0


class Endpoint:
    """A model at an endpoint."""

    def __init__(
        self, model: str, base_url: str | None = None, *, api_key: str | None = None,
        timeout: float = 60.0, retries: int = 0, client=None,
    ) -> None:  # fmt: skip
        """Name an endpoint.

        Args:
            model: Name of the model there.
            base_url: Address, up to `/v1`; None is OpenAI's.
            api_key: For endpoints that want one; None takes what the `openai` package finds in the
                environment, and sends a made-up one to an address where that is nothing.
            timeout: Seconds for one attempt.
            retries: Attempts after the first; the client makes them.
            client: An `openai.OpenAI` to use instead.

        Raises:
            ImportError: The `openai` package is not installed.
        """
        try:
            import openai
        except ImportError:
            raise ImportError(
                "a remote model must have openai, got none; pip install agentprim[organizer]"
            ) from None
        options = {"base_url": base_url, "timeout": timeout, "max_retries": retries}
        self.model, self._errors = model, openai
        try:
            self._client = client or openai.OpenAI(api_key=api_key, **options)
        except openai.OpenAIError:
            if base_url is None:
                raise
            # servers at home want a header, whatever is in it
            self._client = openai.OpenAI(api_key="none", **options)

    def __call__(self, messages: Sequence[dict], **request) -> Answer:
        """Send chat messages, and further fields of a request.

        Raises:
            RequestRefused: The endpoint does not take such a request.
            RemoteError: It cannot be reached, fails, or says nothing.
        """
        begun = time.perf_counter()
        try:
            reply = self._client.chat.completions.create(
                model=self.model, messages=list(messages), **request
            )
        except self._errors.OpenAIError as error:
            refusals = self._errors.BadRequestError, self._errors.UnprocessableEntityError
            kind = RequestRefused if isinstance(error, refusals) else RemoteError
            raise kind(f"{self.model} must answer, got {type(error).__name__}: {error}") from None
        seconds = time.perf_counter() - begun
        choices = getattr(reply, "choices", None)
        if not choices:
            raise RemoteError(f"{self.model} must answer, got no choices")
        text, finish = choices[0].message.content, choices[0].finish_reason
        if not isinstance(text, str):
            hint = "; raise max_tokens" if finish == "length" else ""
            raise RemoteError(f"{self.model} must answer with text, got none ({finish}){hint}")
        usage = getattr(reply, "usage", None)
        return Answer(
            text=text, cut=finish == "length", seconds=seconds,
            prefilled=usage.prompt_tokens if usage else 0,
            decoded=usage.completion_tokens if usage else 0,
        )  # fmt: skip
