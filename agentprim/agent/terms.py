"""Terms: how an agent takes over what others hand it, settled once per call."""

from dataclasses import dataclass, replace
from typing import Self

from agentprim.cache.join import OFFSETS
from agentprim.engine import Engine
from agentprim.engine.repair import Repair
from agentprim.engine.way import Way
from agentprim.trust.auto import Auto, settle

JOINS = ("relocate", "append", "repair", "auto")
CARRIES = ("all", "no_system", "reply")


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The mode of a hand-over, and what goes with it.

    Attributes:
        join: One of `JOINS`.
        repair: What is recomputed; None unless `join` is `"repair"`.
        carry: One of `CARRIES`.
        offsets: As in `agentprim.join`.
        rotate: False leaves relocated keys unrotated.
        auto: How to choose the rest, once it is known who hands over; None where it is chosen.
        why: Why it was chosen so; empty where the caller chose.
    """

    join: str
    repair: Repair | None
    carry: str | None
    offsets: str
    rotate: bool
    auto: Auto | None = None
    why: str = ""

    @classmethod
    def of(
        cls,
        join: str | Repair | Auto = "relocate",
        carry: str | None = None,
        offsets: str = "consecutive",
        rotate: bool = True,
    ) -> Self:
        """Turn the choices of a call into terms.

        Args:
            join: The name of a mode, a `Repair` with numbers of its own, or an `Auto` with a bound
                of its own.
            carry: None takes `"all"` for `"append"`, since only that equals one text, else
                `"no_system"`.
            offsets: As in `agentprim.join`.
            rotate: As in `agentprim.join`.

        Raises:
            ValueError: A name is unknown.
        """
        mode, repair = ("repair", join) if isinstance(join, Repair) else (join, None)
        mode, auto = ("auto", join) if isinstance(join, Auto) else (mode, None)
        if mode not in JOINS:
            raise ValueError(f"join must be one of {JOINS}, a Repair or an Auto, got {join!r}")
        if mode == "auto":
            auto = auto or Auto()
            if not rotate:
                raise ValueError("rotate must be left on with join='auto', got rotate=False")
        elif carry is None:
            carry = "all" if mode == "append" else "no_system"
        if carry not in CARRIES and not (carry is None and auto):
            raise ValueError(f"carry must be one of {CARRIES}, got {carry!r}")
        if offsets not in OFFSETS:
            raise ValueError(f"offsets must be one of {OFFSETS}, got {offsets!r}")
        if mode == "repair" and repair is None:
            repair = Repair()
        return cls(join=mode, repair=repair, carry=carry, offsets=offsets, rotate=rotate, auto=auto)

    def settled(self, engine: Engine, receiver_tokens: int, senders: int) -> Self:
        """Return terms in which nothing is left to choose.

        Args:
            engine: Its certificate decides.
            receiver_tokens: Length of the receiver's system prompt.
            senders: How many caches are handed over; with none, nothing needs to be chosen.

        Raises:
            ValueError: There is something to choose, and no certificate to choose by.
        """
        if self.auto is None:
            return self
        if not senders:
            return replace(self, join="relocate", carry=self.carry or "no_system", auto=None)
        choice = settle(
            engine, self.auto, carry=self.carry, offsets=self.offsets,
            receiver_tokens=receiver_tokens, senders=senders,
        )  # fmt: skip
        way, repair = choice.way, None
        if way.join == "repair":
            repair = Repair(first=way.first, share=way.share)
        return replace(
            self, join=way.join, carry=way.carry, repair=repair, auto=None, why=choice.why
        )

    def way(self) -> Way | None:
        """Return the way by which a certificate may know these terms; None for others."""
        repair, way = self.repair, Way(
            join=self.join, carry=self.carry or "", offsets=self.offsets, rotate=self.rotate
        )  # fmt: skip
        if repair is None:
            return way
        usual = Repair(first=repair.first, share=repair.share)
        if repair != usual:
            return None
        return replace(way, first=repair.first, share=repair.share)
