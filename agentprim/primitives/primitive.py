"""A primitive: several agents behind the call of one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agentprim.agent.agent import INNERS, Agent
from agentprim.agent.chat import Message
from agentprim.agent.rows import read_contexts, read_rows
from agentprim.engine import Engine, Event, Output, Usage
from agentprim.primitives.prompts import said

COMMS = ("kv", "text")


@dataclass(frozen=True, kw_only=True)
class Options:
    """How the agents of a primitive work with each other.

    Attributes:
        comm: What they hand over: `"kv"`, or `"text"` for the text twin of the same structure.
        inner: What an inner agent does before it hands over: `"latent"`, `"text"` or `"prefill"`.
            The default is `"latent"` over kv; over text it must be `"text"`.
        steps: Most latent steps of an inner agent.
        settle: Ends latent steps early, as in `Engine.latent`.
        inner_tokens: Most tokens that an inner agent decodes with `inner="text"`.
        join, carry, offsets, rotate: How caches are handed over, as in `Agent`.
        seed: Makes pushes and sampling repeatable.
    """

    comm: str = "kv"
    inner: str | None = None
    steps: int = 40
    settle: float | None = None
    inner_tokens: int = 256
    join: str = "relocate"
    carry: str | None = None
    offsets: str = "consecutive"
    rotate: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the names and choose the default of `inner`."""
        if self.comm not in COMMS:
            raise ValueError(f"comm must be one of {COMMS}, got {self.comm!r}")
        if self.inner is None:
            object.__setattr__(self, "inner", "latent" if self.comm == "kv" else "text")
        if self.inner not in INNERS:
            raise ValueError(f"inner must be one of {INNERS}, got {self.inner!r}")
        if self.comm == "text" and self.inner != "text":
            raise ValueError(f"inner must be 'text' with comm='text', got {self.inner!r}")


@dataclass
class Item:
    """One question on its way through a primitive.

    Attributes:
        messages: What was asked.
        context: What came from outside.
        spent: Outputs of all inner agents, in order.
        events: Decisions of the primitive.
    """

    messages: list[Message]
    context: list
    spent: list[Output] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    @property
    def task(self) -> str:
        """The last question."""
        return self.messages[-1]["content"]


Speak = Callable[[Agent, list, list], list[Output]]


class Primitive(ABC):
    """Several agents that are called like one: same call, same `Output`, so primitives nest."""

    def __init__(self, engine: Engine, *, name: str, **options) -> None:
        """Take the engine of all roles and the fields of `Options`."""
        self.engine, self.name = engine, name
        self.options = Options(**options)

    @abstractmethod
    def run(self, items: list[Item], speak: Speak) -> list[Output]:
        """Work on a batch; `speak(agent, turns, contexts)` lets the final agent answer."""

    def __call__(
        self,
        x: str | Sequence[Message] | Sequence[str],
        *,
        context: Sequence = (),
        stream: Callable | None = None,
        samples: int = 1,
        join: str | None = None,
        carry: str | None = None,
        offsets: str | None = None,
        rotate: bool | None = None,
        **sampling,
    ):
        """Answer in text: inner agents work, the final one decodes. Arguments as in `Agent`."""
        items, single = self._items(x, context, samples)
        hands = self._hands(join, carry, offsets, rotate)

        def speak(agent, turns: list, contexts: list) -> list[Output]:
            emit = stream
            if stream is not None and single:
                emit = lambda _, text: stream(text)  # noqa: E731
            return agent(turns, context=contexts, stream=emit, **hands, **sampling)

        return self._collect(items, self.run(items, speak), single)

    def think(
        self,
        x: str | Sequence[Message] | Sequence[str],
        *,
        inner: str = "latent",
        context: Sequence = (),
        samples: int = 1,
        join: str | None = None,
        carry: str | None = None,
        offsets: str | None = None,
        rotate: bool | None = None,
        **thinking,
    ):
        """Hand over instead of answering: the final agent thinks. Arguments as in `Agent.think`."""
        items, single = self._items(x, context, samples)
        hands = self._hands(join, carry, offsets, rotate)

        def speak(agent, turns: list, contexts: list) -> list[Output]:
            return agent.think(turns, inner=inner, context=contexts, **hands, **thinking)

        return self._collect(items, self.run(items, speak), single)

    def hand_over(
        self, agent, items: list[Item], turns: list[str], senders: list[list[Output]], **thinking
    ) -> list[Output]:
        """Let an inner agent work on a turn for each item and remember what it cost.

        Args:
            agent: The role.
            items: The questions.
            turns: What the agent is asked, one each.
            senders: Whose caches (or texts) it gets, one list each.
            thinking: Overrides for `Agent.think`.

        Returns:
            One output for each item; `samples` each where that is asked for.
        """
        o = self.options
        if o.inner == "text":
            thinking = {"max_new_tokens": o.inner_tokens, **thinking}
        turns, contexts = self.address(items, turns, senders)
        outputs = agent.think(
            turns, context=contexts, inner=o.inner, steps=o.steps, settle=o.settle, seed=o.seed,
            **self._hands(None, None, None, None), **thinking,
        )  # fmt: skip
        each = len(outputs) // len(items)
        for number, out in enumerate(outputs):
            items[number // each].spent.append(out)
        return outputs

    def address(
        self, items: list[Item], turns: list[str], senders: list[list[Output]]
    ) -> tuple[list[list[Message]], list[list]]:
        """Turn what others hand over into contexts, or into text in front of each turn."""
        if self.options.comm == "kv":
            speeches, contexts = [[] for _ in items], senders
        else:
            speeches = [[_speech(sender) for sender in row] for row in senders]
            contexts = [[] for _ in items]
        return [
            [*item.messages[:-1], {"role": "user", "content": said(turn, speech)}]
            for item, turn, speech in zip(items, turns, speeches, strict=True)
        ], contexts

    def finish(
        self, agent, items: list[Item], turns: list[str], senders: list[list[Output]], speak: Speak
    ) -> list[Output]:
        """Let the final agent answer."""
        return speak(agent, *self.address(items, turns, senders))

    def _hands(self, join, carry, offsets, rotate) -> dict:
        o = self.options
        return {
            "join": o.join if join is None else join,
            "carry": o.carry if carry is None else carry,
            "offsets": o.offsets if offsets is None else offsets,
            "rotate": o.rotate if rotate is None else rotate,
        }

    def _items(self, x, context, samples: int) -> tuple[list[Item], bool]:
        rows, single = read_rows(x)
        contexts = read_contexts(context, len(rows), single)
        items = [
            Item(messages=list(messages), context=list(senders))
            for messages, senders in zip(rows, contexts, strict=True)
            for _ in range(samples)
        ]
        return items, single and samples == 1

    def _collect(self, items: list[Item], outputs: list[Output], single: bool):
        """Give each answer the cost and trace of everything that led to it."""
        whole = []
        for item, out in zip(items, outputs, strict=True):
            usage = sum((one.usage for one in [*item.spent, out]), Usage())
            inner = [event for one in item.spent for event in one.trace]
            whole.append(out.but(usage=usage, trace=(*inner, *item.events, *out.trace)))
        return whole[0] if single else whole


def _speech(sender) -> tuple[str, str]:
    if not isinstance(sender, Output) or not str(sender).strip():
        raise ValueError("context must carry text with comm='text', got a cache without text")
    return sender.name.capitalize() or "Context", str(sender)
