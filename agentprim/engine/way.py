"""A way of handing over: every choice that decides what the receiver sees."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Way:
    """How caches are handed over, in the words of an agent's call.

    Attributes:
        join: `"append"`, `"relocate"`, `"repair"`, or `"none"` where nothing is handed over.
        carry: What travels of a sender: `"all"`, `"no_system"` or `"reply"`.
        offsets: `"consecutive"` or `"shared"` places for several senders.
        rotate: Whether relocated keys were turned.
        first: With `"repair"`: tokens recomputed at the start of each part.
        share: With `"repair"`: share of the senders' tokens recomputed where values changed most.
    """

    join: str
    carry: str = "no_system"
    offsets: str = "consecutive"
    rotate: bool = True
    first: int = 0
    share: float = 0.0

    def __str__(self) -> str:
        """Say it in a few words, for tables and messages."""
        if self.join == "none":
            return "nothing handed over"
        words = [self.join]
        if self.join == "repair":
            words += [f"first {self.first}"] * bool(self.first)
            words += [f"share {self.share:g}"] * bool(self.share)
        words.append(self.carry)
        words += ["shared offsets"] * (self.offsets == "shared")
        words += ["not rotated"] * (not self.rotate)
        return ", ".join(words)
