"""A primitive: several agents behind the call of one."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from agentprim.agent.agent import INNERS
from agentprim.agent.context import check
from agentprim.agent.rows import read_contexts, read_rows, read_seeds
from agentprim.engine import Engine, Event, Output, Repair, Usage
from agentprim.engine.chat import Message
from agentprim.engine.voice import Voice
from agentprim.primitives.prompts import said, worded
from agentprim.trust.auto import Auto

COMMS = ("kv", "text")
RESTATE = ("always", "last", "never")


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
        restate: Which turns repeat a task, and the messages before it, that stand in the caches
            handed over already: `"always"` all of them; `"last"` only that of the agent who
            answers; `"never"` none. A role that is a primitive itself is always told. An ablation
            of cost; with text nothing stands there already.
        seed: Makes pushes and sampling repeatable.
    """

    comm: str = "kv"
    inner: str | None = None
    steps: int = 40
    settle: float | None = None
    inner_tokens: int = 256
    join: str | Repair | Auto = "relocate"
    carry: str | None = None
    offsets: str = "consecutive"
    rotate: bool = True
    restate: str = "always"
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
        check(self.join, self.carry or "all", self.offsets)
        if self.restate not in RESTATE:
            raise ValueError(f"restate must be one of {RESTATE}, got {self.restate!r}")
        if self.steps < 0:
            raise ValueError(f"steps must be at least 0, got {self.steps}")
        if self.inner_tokens < 1:
            raise ValueError(f"inner_tokens must be at least 1, got {self.inner_tokens}")

    @property
    def inherits(self) -> bool:
        """Whether what an agent hands over holds what it was handed itself.

        A whole cache does; a reply alone, as cache or as text, does not.
        """
        return self.comm == "kv" and self.carry != "reply"


@dataclass
class Item:
    """One question on its way through a primitive.

    Attributes:
        messages: What was asked.
        context: What came from outside.
        options: How its agents work with each other in this call.
        seed: Of its pushes and sampling; samples of one question have seeds far apart.
        row: Its number in the call.
        given: Those fields of `options` that the call itself named.
        usage: What all inner agents cost so far.
        trace: What they and the primitive did so far, in order.
    """

    messages: list[Message]
    context: list
    options: Options
    seed: int
    row: int = 0
    given: dict = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    trace: list[Event] = field(default_factory=list)

    @property
    def task(self) -> str:
        """The last question."""
        return self.messages[-1]["content"]

    def knows(self, senders: Sequence) -> bool:
        """Tell whether the task stands in the caches of senders: of those who worked on it."""
        outside = {id(one) for one in self.context}
        return self.options.inherits and any(
            id(one) not in outside and getattr(one, "kv", None) is not None for one in senders
        )


# speak(agent, items, turns, contexts, most): `most` ends a text earlier than the call says
Speak = Callable[..., list[Output]]


class Primitive(ABC):
    """Several agents that are called like one: same call, same `Output`, so primitives nest."""

    def __init__(self, engine: Engine, *, name: str, **options) -> None:
        """Take the engine of all roles and the fields of `Options`."""
        self.engine, self.name = engine, name
        self.options = Options(**options)

    @abstractmethod
    def run(self, items: list[Item], speak: Speak) -> list[Output]:
        """Work on a batch; `speak(agent, items, turns, contexts)` lets the final agent answer."""

    def __call__(
        self,
        x: str | Sequence[Message] | Sequence[str],
        *,
        context: Sequence = (),
        stream: Callable | None = None,
        samples: int = 1,
        join: str | Repair | Auto | None = None,
        carry: str | None = None,
        offsets: str | None = None,
        rotate: bool | None = None,
        **sampling,
    ):
        """Answer in text: inner agents work, the final one decodes. Arguments as in `Agent`.

        What is given here for `join`, `carry`, `offsets` and `rotate` holds for all agents of this
        call, sampling for the final one.
        """
        seed = sampling.pop("seed", None)
        items, single = self._items(x, context, samples, seed, join, carry, offsets, rotate)
        # what has to begin again says nothing twice
        voices = {
            item.row: Voice(stream if single else partial(stream, item.row))
            for item in items if stream is not None
        }  # fmt: skip

        def speak(agent, rows: list[Item], turns: list, contexts: list, most=None) -> list[Output]:
            emit = None
            if stream is not None:
                spoken = [voices[item.row].attempt() for item in rows]
                emit = lambda number, text: spoken[number](text)  # noqa: E731
            more = {**self._hands(rows), **_ended(sampling, most)}
            return agent(turns, context=contexts, stream=emit, **more)

        return self._collect(items, self.run(items, speak), single)

    def think(
        self,
        x: str | Sequence[Message] | Sequence[str],
        *,
        inner: str = "latent",
        context: Sequence = (),
        samples: int = 1,
        join: str | Repair | Auto | None = None,
        carry: str | None = None,
        offsets: str | None = None,
        rotate: bool | None = None,
        seed: int | Sequence[int] | None = None,
        **thinking,
    ):
        """Hand over instead of answering: the final agent thinks. Arguments as in `Agent.think`."""
        items, single = self._items(x, context, samples, seed, join, carry, offsets, rotate)

        def speak(agent, rows: list[Item], turns: list, contexts: list, most=None) -> list[Output]:
            ended = _ended(thinking, most) if inner == "text" else thinking
            more = {**self._hands(rows), **ended}
            return agent.think(turns, inner=inner, context=contexts, **more)

        return self._collect(items, self.run(items, speak), single)

    def hand_over(
        self, agent, items: list[Item], template: str, senders: list[list[Output]], **thinking
    ) -> list[Output]:
        """Let an inner agent work on a turn for each item and remember what it cost.

        Args:
            agent: The role.
            items: The questions.
            template: What the agent is asked about each, with a place for the task.
            senders: Whose caches (or texts) it gets, one list each.
            thinking: Overrides for `Agent.think`.

        Returns:
            One output for each item; `samples` each where that is asked for.
        """
        o = items[0].options
        if o.inner == "text":
            thinking = {"max_new_tokens": o.inner_tokens, **thinking}
        whole = o.restate == "always" or isinstance(agent, Primitive)
        turns, contexts = self.address(items, template, senders, whole=whole)
        outputs = agent.think(
            turns, context=contexts, inner=o.inner, steps=o.steps, settle=o.settle,
            **self._hands(items), **thinking,
        )  # fmt: skip
        each = len(outputs) // len(items)
        for number, out in enumerate(outputs):
            item = items[number // each]
            item.usage += out.usage
            item.trace += out.trace
        return outputs

    def address(
        self, items: list[Item], template: str, senders: list[list[Output]], *, whole: bool
    ) -> tuple[list[list[Message]], list[list]]:
        """Word the turn of each item, with what others hand over as contexts or in front of it.

        Args:
            items: The questions.
            template: The turn, with a place for the task.
            senders: Whose caches (or texts) each gets.
            whole: Whether the task is told also to those who find it in their senders' caches.
        """
        text = items[0].options.comm == "text"
        turns = []
        for item, row in zip(items, senders, strict=True):
            told = whole or not item.knows(row)
            content = worded(template, item.task, whole=told)
            content = said(content, [_speech(sender) for sender in row] if text else [])
            before = item.messages[:-1] if told else []
            turns.append([*before, {"role": "user", "content": content}])
        return turns, [[] for _ in items] if text else senders

    def finish(
        self, agent, items: list[Item], template: str, senders: list[list[Output]], speak: Speak
    ) -> list[Output]:
        """Let the final agent answer."""
        whole = items[0].options.restate != "never" or isinstance(agent, Primitive)
        return speak(agent, items, *self.address(items, template, senders, whole=whole))

    def _hands(self, items: list[Item]) -> dict:
        o = items[0].options
        return {
            "join": o.join, "carry": o.carry, "offsets": o.offsets, "rotate": o.rotate,
            "seed": [item.seed for item in items],
        }  # fmt: skip

    def _items(
        self, x, context, samples: int, seed, join, carry, offsets, rotate
    ) -> tuple[list[Item], bool]:
        if samples < 1:
            raise ValueError(f"samples must be at least 1, got {samples}")
        given = {"join": join, "carry": carry, "offsets": offsets, "rotate": rotate}
        given = {name: value for name, value in given.items() if value is not None}
        options = replace(self.options, **given)
        rows, single = read_rows(x)
        contexts = read_contexts(context, len(rows), single)
        seeds = read_seeds(self.options.seed if seed is None else seed, len(rows), 1)
        items = [
            Item(
                messages=list(messages), context=list(senders), options=options, given=given,
                seed=first + (number << 20),  # an item's own samples count on from its seed
                row=place * samples + number,
            )
            for place, (messages, senders, first) in enumerate(
                zip(rows, contexts, seeds, strict=True)
            )
            for number in range(samples)
        ]  # fmt: skip
        return items, single and samples == 1

    def _collect(self, items: list[Item], outputs: list[Output], single: bool):
        """Give each answer the cost and trace of everything that led to it."""
        whole = [
            out.but(usage=item.usage + out.usage, trace=(*item.trace, *out.trace))
            for item, out in zip(items, outputs, strict=True)
        ]
        return whole[0] if single else whole


def _ended(sampling: dict, most: int | None) -> dict:
    if most is None:
        return sampling
    return {**sampling, "max_new_tokens": min(sampling.get("max_new_tokens", most), most)}


def _speech(sender) -> tuple[str, str]:
    if not isinstance(sender, Output) or not str(sender).strip():
        raise ValueError("context must carry text with comm='text', got a cache without text")
    return sender.name.capitalize() or "Context", str(sender)
