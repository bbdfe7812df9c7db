"""Usage: what a call cost, each token counted once, where it was computed."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Counts of one role, or of a whole call.

    Attributes:
        prefilled: Prompt tokens run through the model.
        decoded: Tokens generated as text.
        latent: Latent steps, which give keys and values but no text.
        reused: Tokens read from the pool instead of being computed.
        relocated: Of the reused ones, those that stand elsewhere than they were computed.
        recomputed: Tokens of other agents computed again in their new place (`join="repair"`).
        generative_calls: Calls that decoded text.
        decision_calls: Calls that only chose between given options.
        decision_tokens: Tokens that those calls ran through the model; not counted elsewhere.
        seconds: Wall time.
    """

    prefilled: int = 0
    decoded: int = 0
    latent: int = 0
    reused: int = 0
    relocated: int = 0
    recomputed: int = 0
    generative_calls: int = 0
    decision_calls: int = 0
    decision_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: "Cost") -> "Cost":
        """Add two costs field by field."""
        if not isinstance(other, Cost):
            return NotImplemented
        return Cost(
            **{f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        )

    def to_dict(self) -> dict[str, int | float]:
        """Return the counts by name."""
        return asdict(self)


@dataclass(frozen=True)
class Usage:
    """Costs by role; totals are read like fields, for example `usage.decoded`.

    Attributes:
        roles: Cost of each role.
    """

    roles: Mapping[str, Cost] = field(default_factory=dict)

    @classmethod
    def of(cls, role: str, **counts: int | float) -> "Usage":
        """Count for one role."""
        return cls({role: Cost(**counts)})

    @property
    def total(self) -> Cost:
        """Sum over the roles."""
        return sum(self.roles.values(), Cost())

    def __add__(self, other: "Usage") -> "Usage":
        """Add two usages role by role."""
        if not isinstance(other, Usage):
            return NotImplemented
        names = [*self.roles, *(name for name in other.roles if name not in self.roles)]
        none = Cost()
        return Usage({n: self.roles.get(n, none) + other.roles.get(n, none) for n in names})

    def __getattr__(self, name: str) -> int | float:
        """Read a total by its name."""
        if name.startswith("_") or name not in Cost.__dataclass_fields__:
            raise AttributeError(f"{type(self).__name__} has no {name!r}")
        return getattr(self.total, name)

    def to_dict(self) -> dict[str, dict[str, int | float]]:
        """Return counts by role and name."""
        return {role: cost.to_dict() for role, cost in self.roles.items()}
