"""Experts: agents with a name, a duty, and what their work must meet."""

from dataclasses import dataclass
from typing import Any

from agentprim.workflow.lite.prompts import CRITERION, STOP


@dataclass(frozen=True, kw_only=True)
class Expert:
    """One who can be chosen to act.

    Attributes:
        name: What routers call it.
        agent: Called like an `Agent`: also a primitive, or a `RemoteAgent`.
        duty: What it is good for, for routers.
        criterion: A yes/no question that its work must meet.
        checkpoint: Whether its work is screened at all.
    """

    name: str
    agent: Any
    duty: str = ""
    criterion: str = CRITERION
    checkpoint: bool = True

    def __post_init__(self) -> None:
        """Check the name.

        Raises:
            ValueError: The name is empty or taken.
        """
        if not self.name.strip() or self.name == STOP:
            raise ValueError(f"name must be another than '' and {STOP!r}, got {self.name!r}")


def read_experts(experts) -> dict[str, Expert]:
    """Read what callers list: Experts, agents with a name, or a mapping of names to agents.

    Raises:
        ValueError: There are none, or two of one name.
    """
    if isinstance(experts, dict):
        experts = [Expert(name=name, agent=agent) for name, agent in experts.items()]
    read = [
        one
        if isinstance(one, Expert)
        else Expert(name=one.name, agent=one, duty=getattr(one, "system", None) or "")
        for one in experts
    ]
    if not read:
        raise ValueError("experts must have at least one entry, got none")
    found: dict[str, Expert] = {}
    for one in read:
        if one.name in found:
            raise ValueError(f"experts must have different names, got {one.name!r} twice")
        found[one.name] = one
    return found
