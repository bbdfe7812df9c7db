"""A certificate: what was proved and measured about hand-overs on one model, as plain data."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from agentprim.engine.way import Way


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A mean with its 95 % bootstrap interval.

    Attributes:
        mean: Over the items.
        low: Lower end of the interval.
        high: Upper end.
        n: Number of items.
    """

    mean: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, kw_only=True)
class Fidelity:
    """How near one way of handing over comes to recomputing, at one size.

    KL divergences are of the next-token distribution at the answer cue, in nats, recomputed
    against handed over; shares are of items.

    Attributes:
        way: How caches were handed over.
        receiver_tokens: About how long the receiver's system prompt was.
        senders: How many caches were joined behind (or before) it.
        kl: Against the very same tokens in the same order in one plain forward; None where there
            are no such tokens.
        kl_text: Against the hand-over by text: the receiver's system prompt, the senders' turns
            without their system prompts, the question.
        top1: Share with the same most likely token, against the same tokens.
        top1_text: Against the text.
        answer: Share with the same greedy answer, over a few tokens, against the same tokens.
        answer_text: Against the text.
        prefilled: Mean tokens that the receiver had to read, its question included.
        recomputed: Mean tokens of the senders that were computed again.
        seconds: Median time until the receiver's first token was known, one row at a time.
    """

    way: Way
    receiver_tokens: int
    senders: int
    kl: Interval | None
    kl_text: Interval
    top1: Interval | None
    top1_text: Interval
    answer: Interval | None
    answer_text: Interval
    prefilled: float
    recomputed: float
    seconds: float | None


@dataclass(frozen=True, kw_only=True)
class RopeKind:
    """Layers that turn their keys alike.

    Attributes:
        layers: How many there are.
        layer_type: What the configuration calls them; `""` where it does not say.
        rotary_dim: Leading dims of a key that turn; 0 without RoPE.
        interleaved: Pairs are adjacent dims.
        error: Largest relative error of relocated keys, over the distances that were probed.
        delta: The distance at which it was found.
    """

    layers: int
    layer_type: str
    rotary_dim: int
    interleaved: bool
    error: float
    delta: int


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """What `verify` found out about one model, in one dtype, with one version of this package.

    Attributes:
        model: Name that the model was loaded by, without its folder.
        model_class: Name of its class.
        dtype: Of its cache.
        device: Type of the device that it was measured on.
        fingerprint: Of the weights, the configuration, the tables of frequencies and the version.
        version: Of agentprim.
        transformers: Version of transformers.
        refusal: Why keys of this model are not moved at all; None where they are.
        max_delta: Largest distance proved.
        max_position: Largest current position proved.
        rope: One entry for each kind of layer.
        machinery: Relative error of a query on joined caches by each way of reading them, against
            one plain forward in which the parts cannot see each other; empty if not measured.
        machinery_budget: The error allowed.
        machinery_note: `"measured"`, or why not.
        fidelity: How near hand-overs come to recomputing.
        fidelity_note: `"measured"`, or why not.
        full: Whether it is the long measurement.
        items: Items with one sender.
        right: Share of items with one sender that the text hand-over answers with the words
            looked for.
        tokens: Tokens run through the model for it.
        seconds: Wall time for it.
    """

    model: str
    model_class: str
    dtype: str
    device: str
    fingerprint: str
    version: str
    transformers: str
    refusal: str | None
    max_delta: int
    max_position: int
    rope: tuple[RopeKind, ...]
    machinery: dict[str, float]
    machinery_budget: float
    machinery_note: str
    fidelity: tuple[Fidelity, ...]
    fidelity_note: str
    full: bool
    items: int
    right: float | None
    tokens: int
    seconds: float

    def find(self, way: Way, *, receiver_tokens: int, senders: int) -> Fidelity | None:
        """Return what was measured of a way at the nearest size; None if nothing was.

        The nearest number of senders comes first, then the nearest length of the receiver's
        system prompt, both by ratio.
        """
        found = [one for one in self.fidelity if one.way == way]
        return min(found, key=lambda one: _distance(one, receiver_tokens, senders), default=None)

    def ways(self) -> Iterator[Way]:
        """List the ways that were measured, in the order of the table."""
        yield from dict.fromkeys(one.way for one in self.fidelity)

    def to_json(self) -> str:
        """Return everything as JSON."""
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> "Certificate":
        """Read what `to_json` wrote.

        Raises:
            ValueError: It is something else.
        """
        try:
            data = json.loads(text)
            data["rope"] = tuple(RopeKind(**kind) for kind in data["rope"])
            data["fidelity"] = tuple(_fidelity(row) for row in data["fidelity"])
            return cls(**data)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"text must be a certificate as JSON, got another: {error}") from error


def _fidelity(row: dict) -> Fidelity:
    names = ("kl", "kl_text", "top1", "top1_text", "answer", "answer_text")
    intervals = {name: Interval(**row[name]) if row[name] else None for name in names}
    return Fidelity(**{**row, **intervals, "way": Way(**row["way"])})


def _distance(one: Fidelity, receiver_tokens: int, senders: int) -> tuple[float, float]:
    def ratio(a: int, b: int) -> float:
        return max(a, b) / max(1, min(a, b))

    return ratio(one.senders, senders), ratio(one.receiver_tokens, receiver_tokens)
