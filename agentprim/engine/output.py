"""Output: the text of an answer that also carries its cache, its cost and its trace."""

from dataclasses import asdict, dataclass, field

from torch import Tensor

from agentprim.cache.kv import KV
from agentprim.engine.usage import Usage


@dataclass(frozen=True, kw_only=True)
class Event:
    """One thing that happened during a call.

    Attributes:
        kind: `"call"`, `"handover"`, `"stop"` or `"vote"`; of plans `"plan"`, `"step"` or
            `"rescue"`.
        role: Who did it.
        detail: Numbers and names, JSON-serialisable.
    """

    kind: str
    role: str
    detail: dict = field(default_factory=dict)

    def to_dict(self) -> dict:
        """Return the event as one flat dictionary."""
        fields = asdict(self)
        return {**{k: v for k, v in fields.items() if k != "detail"}, **self.detail}


class Output(str):
    """An answer. Use it as a string; hand it to another agent as `context`.

    String operations and pickling give the text without the cache.

    Attributes:
        kv: What the agent read and said, or None.
        ids: Generated token ids.
        usage: What it cost.
        trace: What happened, in order.
        finish: `"stop"`, `"length"`, or `"handover"` for an answer that stayed latent; `"error"`
            or `"budget"` for what a plan has where it could not end.
        system_end: Tokens of `kv` that are the agent's system prompt.
        reply_start: Tokens of `kv` before the reply; before what was asked, where it was only read.
        hidden: Last hidden state of what was said or thought `[hidden_size]`, before the turn was
            closed; None where there is none.
        name: Who answered.
    """

    kv: KV | None
    ids: tuple[int, ...]
    usage: Usage
    trace: tuple[Event, ...]
    finish: str
    system_end: int
    reply_start: int
    hidden: Tensor | None
    name: str

    def __new__(
        cls,
        text: str,
        *,
        kv: KV | None = None,
        ids: tuple[int, ...] = (),
        usage: Usage | None = None,
        trace: tuple[Event, ...] = (),
        finish: str = "stop",
        system_end: int = 0,
        reply_start: int = 0,
        hidden: Tensor | None = None,
        name: str = "",
    ) -> "Output":
        """Attach everything to a text."""
        self = super().__new__(cls, text)
        self.kv, self.ids, self.finish, self.name = kv, ids, finish, name
        self.usage = usage if usage is not None else Usage()
        self.trace, self.system_end, self.reply_start = trace, system_end, reply_start
        self.hidden = hidden
        return self

    @property
    def message(self) -> dict[str, str]:
        """The answer as a chat message."""
        return {"role": "assistant", "content": str(self)}

    def but(self, **changes) -> "Output":
        """Return a copy with some attributes changed; `text` changes the string."""
        kept = dict(vars(self))
        return Output(changes.pop("text", str(self)), **{**kept, **changes})

    def __str__(self) -> str:
        """Return the plain text."""
        return str.__str__(self)

    def __reduce__(self):
        """Pickle without the cache and its state: pages belong to a process."""
        return _restore, (str(self), {**vars(self), "kv": None, "hidden": None})


def _restore(text: str, attributes: dict) -> Output:
    return Output(text, **attributes)
