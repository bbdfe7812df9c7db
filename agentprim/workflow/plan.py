"""Plans: which primitives work on a query, with which parameters, and who reads whom."""

import json
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, model_validator

from agentprim.errors import PlanError
from agentprim.workflow.check import QUERY, plain, plan_problems, step_problems
from agentprim.workflow.graph import Graph
from agentprim.workflow.mermaid import to_mermaid
from agentprim.workflow.parameters import PARAMETERS, Parameters


class Budget(BaseModel):
    """What may be spent at most; a field that is None has no end.

    Attributes:
        calls: Turns of agents, whether they speak or only think.
        decoded: Tokens generated as text.
        seconds: Wall time, looked at before each turn of an agent.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    calls: int | None = Field(None, ge=1)
    decoded: int | None = Field(None, ge=1)
    seconds: float | None = Field(None, gt=0)

    def least(self, other: "Budget | None") -> "Budget":
        """Return the lesser of two budgets, field by field."""
        pairs = {name: (getattr(self, name), getattr(other, name, None)) for name in _PARTS}
        found = {name: [v for v in pair if v is not None] for name, pair in pairs.items()}
        # what is left of a budget may be nothing
        return Budget.model_construct(**{n: min(v) if v else None for n, v in found.items()})


_PARTS = tuple(Budget.model_fields)


class Step(BaseModel):
    """One primitive of a plan.

    Attributes:
        id: Its name in the plan.
        primitive: `"solve"` (one agent), `"review"`, `"voting"`, `"planning"`, or `"plan"`.
        parameters: Of the primitive; see `agentprim.workflow.parameters`.
        inputs: `"query"`, ids of other steps, or both. Their outputs are its context, in this
            order; with `"query"` its turn holds the question.
        plan: The plan inside, where the primitive is `"plan"`.
        budget: What it alone may spend.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    primitive: str
    parameters: SerializeAsAny[Parameters] = Field(default_factory=Parameters)
    inputs: tuple[str, ...] = (QUERY,)
    plan: "Plan | None" = None
    budget: Budget | None = None

    @model_validator(mode="before")
    @classmethod
    def _check(cls, data: Any) -> dict:
        data = plain(data)
        refuse("step", step_problems(data))
        model = PARAMETERS[data["primitive"]]
        return {**data, "parameters": model.model_validate(dict(plain(data.get("parameters", {}))))}

    @property
    def reads(self) -> list[str]:
        """The steps among the inputs."""
        return [one for one in self.inputs if one != QUERY]

    def to_dict(self) -> dict[str, Any]:
        """Return the step as plain data, without what is left to defaults."""
        found = {"id": self.id, "primitive": self.primitive}
        if self.plan is not None:
            found["plan"] = self.plan.to_dict()
        if given := self.parameters.model_dump(exclude_none=True):
            found["parameters"] = given
        found["inputs"] = list(self.inputs)
        if self.budget is not None:
            found["budget"] = self.budget.model_dump(exclude_none=True)
        return found


class Plan(BaseModel):
    """A graph of primitives with one output.

    Attributes:
        steps: At most 64, in any order.
        output: Id of the step that answers; the last one by default.
        name: For people.
        budget: What the whole may spend for one query.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    steps: tuple[Step, ...]
    output: str
    name: str = ""
    budget: Budget | None = None

    @model_validator(mode="before")
    @classmethod
    def _check(cls, data: Any) -> dict:
        data = plain(data)
        refuse("plan", plan_problems(data))
        steps = [plain(step) for step in data["steps"]]
        return {**data, "steps": steps, "output": data.get("output") or steps[-1]["id"]}

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Read a plan from plain data.

        Raises:
            PlanError: It names all that is wrong.
        """
        return cls.model_validate(data)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a plan from JSON.

        Raises:
            PlanError: The text is no JSON, or it names all that is wrong with the plan.
        """
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise PlanError(f"plan must be JSON, got an error: {error}") from None
        return cls.from_dict(data)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain data, without what is left to defaults."""
        found: dict[str, Any] = {"name": self.name} if self.name else {}
        found |= {"steps": [step.to_dict() for step in self.steps], "output": self.output}
        if self.budget is not None:
            found["budget"] = self.budget.model_dump(exclude_none=True)
        return found

    def to_json(self, indent: int | None = 2) -> str:
        """Return the plan as JSON; `Plan.from_json` gives an equal plan back."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False)

    def to_mermaid(self) -> str:
        """Draw the plan as a Mermaid flowchart."""
        return to_mermaid(self)

    @property
    def graph(self) -> Graph:
        """Who reads whom."""
        return Graph({step.id: step.reads for step in self.steps})

    def __getitem__(self, name: str) -> Step:
        """Return a step by its id."""
        return next(step for step in self.steps if step.id == name)


def refuse(what: str, problems: list[str]) -> None:
    """Raise one error for all problems; do nothing without one.

    Raises:
        PlanError: There is a problem.
    """
    if len(problems) == 1:
        raise PlanError(problems[0])
    if problems:
        listed = "; ".join(f"({n}) {one}" for n, one in enumerate(problems, 1))
        raise PlanError(f"{what} must be valid, got {len(problems)} problems: {listed}")
