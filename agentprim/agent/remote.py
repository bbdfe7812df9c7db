"""An agent behind an OpenAI-compatible endpoint: it exchanges text, never caches."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from agentprim.agent.rows import read_contexts, read_rows, read_seeds
from agentprim.engine import Event, Output, Usage
from agentprim.errors import AgentPrimError

AT_ONCE = 8  # requests under way for one batch


class RemoteError(AgentPrimError):
    """An endpoint did not answer, or answered nothing usable."""


class RemoteAgent:
    """A role that another server plays. Called like an `Agent`; its outputs carry no cache."""

    def __init__(
        self,
        model: str,
        system: str | None = None,
        *,
        name: str = "remote",
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
        retries: int = 2,
        client=None,
        **sampling,
    ) -> None:
        """Define a role.

        Args:
            model: Name of the model at the endpoint.
            system: Its system prompt.
            name: Role in usage and traces.
            base_url, api_key: Of the endpoint; None takes what the `openai` client finds.
            timeout: Seconds for one attempt.
            retries: Attempts after the first; the client makes them.
            client: An `openai.OpenAI` to use instead.
            sampling: Defaults for its calls: max_new_tokens, temperature, top_p, seed, stop.
        """
        if client is None:
            import openai

            client = openai.OpenAI(
                base_url=base_url, api_key=api_key, timeout=timeout, max_retries=retries
            )
        self.model, self.system, self.name = model, system, name
        self.sampling, self._client = sampling, client

    def __call__(
        self,
        x,
        *,
        context: Sequence = (),
        samples: int = 1,
        stream: Callable | None = None,
        carry: str | None = None,
        **sampling,
    ):
        """Answer in text.

        Args:
            x: As in `Agent`.
            context: Outputs of other agents; their texts stand in front of the last message.
            samples: Answers to each question.
            stream: Called with the whole text of each answer; with `(row, text)` for a batch.
            carry: Accepted for the sake of `Agent`; text is all that travels.
            sampling: max_new_tokens, temperature, top_p, seed, stop.

        Raises:
            RemoteError: The endpoint failed, or gave no text.
            ValueError: A sender has no text.
        """
        rows, single = read_rows(x)
        options = {"max_new_tokens": 256, **self.sampling, **sampling}
        seeds = read_seeds(options.pop("seed", None), len(rows), samples)
        asked = [
            self._messages(messages, senders)
            for messages, senders in zip(
                rows, read_contexts(context, len(rows), single), strict=True
            )
            for _ in range(samples)
        ]
        with ThreadPoolExecutor(AT_ONCE) as threads:
            outputs = list(
                threads.map(
                    lambda row: self._ask(row[1], options, seeds and seeds[row[0]]),
                    enumerate(asked),
                )
            )
        single = single and samples == 1
        for row, out in enumerate(outputs):
            if stream is not None:
                stream(str(out)) if single else stream(row, str(out))
        return outputs[0] if single else outputs

    def think(self, x, *, inner: str = "text", **options):
        """Answer in text, which is all that a remote agent can hand over.

        Raises:
            ValueError: `inner` is another than `"text"`.
        """
        if inner != "text":
            raise ValueError(f"inner must be 'text' for a remote agent, got {inner!r}")
        return self(x, **options)

    def _messages(self, messages: Sequence[dict], senders: Sequence) -> list[dict]:
        if any(not str(one).strip() or not isinstance(one, str) for one in senders):
            raise ValueError("context must carry text for a remote agent, got a cache without text")
        speeches = [f"{getattr(one, 'name', '') or 'context'}:\n{one}" for one in senders]
        last = {**messages[-1], "content": "\n\n".join([*speeches, messages[-1]["content"]])}
        system = [{"role": "system", "content": self.system}] if self.system else []
        return [*system, *messages[:-1], last]

    def _ask(self, messages: list[dict], options: dict, seed: int | None) -> Output:
        import openai

        options = dict(options)
        options["max_tokens"] = options.pop("max_new_tokens")
        if seed is not None:
            options["seed"] = seed
        begun = time.perf_counter()
        try:
            reply = self._client.chat.completions.create(
                model=self.model, messages=messages, **options
            )
        except openai.OpenAIError as error:
            raise RemoteError(
                f"{self.model} must answer, got {type(error).__name__}: {error}"
            ) from error
        seconds = time.perf_counter() - begun
        choice = reply.choices[0] if reply.choices else None
        text = choice.message.content if choice is not None else None
        if text is None:
            reason = choice.finish_reason if choice is not None else "no choices"
            raise RemoteError(f"{self.model} must answer with text, got none ({reason})")
        cost = {"generative_calls": 1, "seconds": seconds}
        if reply.usage is not None:
            cost |= {
                "prefilled": reply.usage.prompt_tokens, "decoded": reply.usage.completion_tokens,
            }  # fmt: skip
        return Output(
            text,
            usage=Usage.of(self.name, **cost),
            trace=(Event(kind="call", role=self.name, detail={"inner": "text", **cost}),),
            finish="length" if choice.finish_reason == "length" else "stop",
            name=self.name,
        )
