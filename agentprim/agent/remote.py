"""An agent behind an OpenAI-compatible endpoint: it exchanges text, never caches."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from agentprim.agent.endpoint import Endpoint
from agentprim.agent.rows import read_contexts, read_rows, read_seeds
from agentprim.engine import Event, Output, Usage

AT_ONCE = 8  # requests under way for one batch


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
            base_url, api_key, timeout, retries, client: Of the endpoint; see `Endpoint`.
            sampling: Defaults for its calls: max_new_tokens, temperature, top_p, seed, stop.

        Raises:
            ImportError: The `openai` package is not installed.
        """
        self._endpoint = Endpoint(
            model, base_url, api_key=api_key, timeout=timeout, retries=retries, client=client
        )
        self.model, self.system, self.name, self.sampling = model, system, name, sampling

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
        request = dict(options) if seed is None else {**options, "seed": seed}
        said = self._endpoint(messages, max_tokens=request.pop("max_new_tokens"), **request)
        cost = {
            "generative_calls": 1, "seconds": said.seconds,
            "prefilled": said.prefilled, "decoded": said.decoded,
        }  # fmt: skip
        return Output(
            said.text,
            usage=Usage.of(self.name, **cost),
            trace=(Event(kind="call", role=self.name, detail={"inner": "text", **cost}),),
            finish="length" if said.cut else "stop",
            name=self.name,
        )
