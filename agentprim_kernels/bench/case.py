"""One op on given data, done by several providers that must agree with the reference."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import torch
from torch import Tensor

REFERENCE = "reference"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One op on given data.

    Attributes:
        op: Name of the op.
        moved: Bytes that it must read and write at least.
        targets: What it writes, `[layers, ...]`: NaN before, or the keys that are turned in place.
        providers: Who can do it, each called with targets, in the order of their names here.
        tolerance: How far a row of the last dimension may be from the reference's, as a share of
            its length; more than the rounding of the dtype, less than what a wrong row shows.
        about: Sizes, to be recorded.
    """

    op: str
    moved: int
    targets: tuple[Tensor, ...]
    providers: dict[str, Callable[..., None]]
    tolerance: float = 2**-7
    about: dict[str, int]

    def work(self, provider: str) -> Callable[[], None]:
        """Return a call that does it once, to be timed."""
        return partial(self.providers[provider], *self.targets)

    def check(self, provider: str) -> None:
        """Do it once on fresh targets and compare every row with the reference's.

        Raises:
            AssertionError: A row is too far away, or was not written.
        """
        have = [one.clone() for one in self._start]
        self.providers[provider](*have)
        for mine, wanted in zip(have, self._wanted, strict=True):
            for layer, (a, b) in enumerate(zip(mine, wanted, strict=True)):
                a, b = a.float(), b.float()
                near = (a - b).norm(dim=-1) <= self.tolerance * b.norm(dim=-1)  # false for NaN
                if not bool(near.all()):
                    raise AssertionError(
                        f"{self.op} by {provider} is wrong in layer {layer}: "
                        f"{int((~near).sum())} of {near.numel()} rows differ from the reference"
                    )

    @cached_property
    def _start(self) -> list[Tensor]:
        """Keep the targets as they are before anything is timed on them, in place."""
        return [one.clone() for one in self.targets]

    @cached_property
    def _wanted(self) -> list[Tensor]:
        wanted = [one.clone() for one in self._start]
        with torch.no_grad():
            self.providers[REFERENCE](*wanted)
        return wanted
