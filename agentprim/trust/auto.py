"""Choosing a way of handing over by its certificate, and saying what is certified of one."""

from dataclasses import dataclass, replace

from agentprim.engine import Engine
from agentprim.engine.certificate import Certificate, Fidelity
from agentprim.engine.way import Way
from agentprim.trust.ways import APPEND, RELOCATE, REPAIRS

# all that the senders hold, computed again in its new place: one text, up to rounding
RECOMPUTE = Way(join="repair", share=1.0)


@dataclass(frozen=True, kw_only=True)
class Auto:
    """Let the certificate of the model choose how caches are handed over.

    Attributes:
        max_kl: Most nats that the next token's distribution may be off by: the upper end of the
            certified interval, against recomputing the same tokens.
    """

    max_kl: float = 0.1

    def __post_init__(self) -> None:
        """Check the bound."""
        if not self.max_kl > 0:
            raise ValueError(f"max_kl must be positive, got {self.max_kl}")


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What was chosen.

    Attributes:
        way: How caches are handed over.
        why: The reason, in one sentence.
    """

    way: Way
    why: str


def settle(
    engine: Engine,
    auto: Auto,
    *,
    carry: str | None,
    offsets: str,
    receiver_tokens: int,
    senders: int,
) -> Choice:
    """Choose the cheapest way whose certified KL is within the bound.

    From cheap to dear: relocate, the repairs, append, and at last repairing everything, which is
    one text and needs no certificate.

    Args:
        engine: The model, certified.
        auto: The bound.
        carry: What travels; None takes the default of each way.
        offsets: Places for several senders.
        receiver_tokens: Length of the receiver's system prompt.
        senders: How many caches are handed over.

    Raises:
        ValueError: The model has no certificate, or one without measurements.
    """
    certificate = engine.certificate
    if certificate is None or not certificate.fidelity:
        got = "none" if certificate is None else f"one that says: {certificate.fidelity_note}"
        raise ValueError(
            f"join='auto' must have measurements of this model in a certificate, got {got}; "
            "run ap.verify(engine), or `agentprim verify MODEL`, first"
        )
    tried = []
    for way in (RELOCATE, *REPAIRS, APPEND):
        asked = replace(way, carry=carry or way.carry, offsets=offsets)
        found = look_up(certificate, asked, receiver_tokens=receiver_tokens, senders=senders)
        if found is None or found.kl is None:
            continue
        if found.kl.high <= auto.max_kl:
            least = f"; cheaper: {', '.join(tried)}" if tried else ""
            return Choice(way=asked, why=f"{_say(found)} is within {auto.max_kl:g}{least}")
        tried.append(_say(found))
    asked = replace(RECOMPUTE, carry=carry or RECOMPUTE.carry, offsets=offsets)
    return Choice(
        way=asked, why=f"nothing measured is within {auto.max_kl:g} ({', '.join(tried) or 'none'})"
    )


def look_up(
    certificate: Certificate | None, way: Way, *, receiver_tokens: int, senders: int
) -> Fidelity | None:
    """Return what is certified of a way at the nearest size; None if nothing is.

    Where there is one sender only, its place is the same by any name.
    """
    if certificate is None or not senders:
        return None
    plain = senders == 1 or way.join == "append"
    asked = replace(way, offsets="consecutive") if plain else way
    if way.join == "append" and senders == 1:
        asked = replace(asked, rotate=True)  # nothing moves
    return certificate.find(asked, receiver_tokens=receiver_tokens, senders=senders)


def _say(found: Fidelity) -> str:
    kl = found.kl
    return f"{found.way}: KL {kl.mean:.3f}, at most {kl.high:.3f}"
