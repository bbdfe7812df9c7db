"""Terms: how an agent takes over what others hand it, settled once per call."""

from dataclasses import dataclass
from typing import Self

from agentprim.cache.join import OFFSETS
from agentprim.engine.repair import Repair

JOINS = ("relocate", "append", "repair")
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
    """

    join: str
    repair: Repair | None
    carry: str
    offsets: str
    rotate: bool

    @classmethod
    def of(
        cls,
        join: str | Repair = "relocate",
        carry: str | None = None,
        offsets: str = "consecutive",
        rotate: bool = True,
    ) -> Self:
        """Turn the choices of a call into terms.

        Args:
            join: The name of a mode, or a `Repair` with numbers of its own.
            carry: None takes `"all"` for `"append"`, since only that equals one text, else
                `"no_system"`.
            offsets: As in `agentprim.join`.
            rotate: As in `agentprim.join`.

        Raises:
            ValueError: A name is unknown.
        """
        mode, repair = ("repair", join) if isinstance(join, Repair) else (join, None)
        if mode not in JOINS:
            raise ValueError(f"join must be one of {JOINS} or a Repair, got {join!r}")
        if carry is None:
            carry = "all" if mode == "append" else "no_system"
        if carry not in CARRIES:
            raise ValueError(f"carry must be one of {CARRIES}, got {carry!r}")
        if offsets not in OFFSETS:
            raise ValueError(f"offsets must be one of {OFFSETS}, got {offsets!r}")
        if mode == "repair" and repair is None:
            repair = Repair()
        return cls(join=mode, repair=repair, carry=carry, offsets=offsets, rotate=rotate)
