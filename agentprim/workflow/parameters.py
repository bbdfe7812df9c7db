"""Parameters of a step: what each primitive takes in a plan, typed, and nothing else."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from agentprim.agent.context import check

ROLES = {
    "solve": ("solver",),
    "review": ("solver", "critic"),
    "voting": ("solver", "selector"),
    "planning": ("planner", "executor"),
}


class Parameters(BaseModel):
    """What every step takes. A field that is None is left to the plan's caller.

    Attributes:
        instruction: Said behind the question, or alone where the step does not read the question.
        comm, inner, steps, settle, inner_tokens, join, carry, offsets, rotate: As in
            `agentprim.primitives.Options`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    instruction: str | None = Field(None, min_length=1)
    comm: Literal["kv", "text"] | None = None
    inner: Literal["latent", "text", "prefill"] | None = None
    steps: int | None = Field(None, ge=0, le=1024)
    settle: float | None = Field(None, ge=-1, le=1)
    inner_tokens: int | None = Field(None, ge=1, le=32768)
    join: str | None = None
    carry: Literal["all", "no_system", "reply"] | None = None
    offsets: Literal["consecutive", "shared"] | None = None
    rotate: bool | None = None

    @field_validator("join")
    @classmethod
    def _known(cls, join: str | None) -> str | None:
        if join is not None:
            check(join, "all", "consecutive")
        return join


class Spoken(Parameters):
    """What steps take that speak by themselves.

    Attributes:
        roles: What is added to the system prompt of a role, by its name: `solver` of solve;
            `solver` and `critic` of review; `solver` and `selector` of voting; `planner` and
            `executor` of planning.
        max_new_tokens, temperature, top_p, top_k, min_p, repetition_penalty: Of the answer, as in
            `Engine.generate`. In voting, temperature and top_p are those of the solvers.
    """

    roles: dict[str, str] | None = None
    max_new_tokens: int | None = Field(None, ge=1, le=32768)
    temperature: float | None = Field(None, ge=0)
    top_p: float | None = Field(None, gt=0, le=1)
    top_k: int | None = Field(None, ge=0)
    min_p: float | None = Field(None, ge=0, le=1)
    repetition_penalty: float | None = Field(None, gt=0)


class SolveParameters(Spoken):
    """One agent.

    Attributes:
        system: Its whole system prompt, instead of the solver's.
    """

    system: str | None = Field(None, min_length=1)


class ReviewParameters(Spoken):
    """A solver and a critic; see `agentprim.Review`."""

    rounds: int | None = Field(None, ge=1, le=16)
    stop: Literal["state", "words", "never"] | None = None
    threshold: float | None = None


class VotingParameters(Spoken):
    """Independent solvers and a selector; see `agentprim.Voting`."""

    solvers: int | None = Field(None, ge=1, le=32)
    vote: Literal["agreement", "all"] | None = None
    keep: int | None = Field(None, ge=1)
    spread: float | None = Field(None, ge=0)


class PlanningParameters(Spoken):
    """A planner and executors; see `agentprim.Planning`."""

    executors: int | None = Field(None, ge=1, le=16)


class PlanParameters(Parameters):
    """A plan inside a plan: only how its agents work with each other."""


PARAMETERS: dict[str, type[Parameters]] = {
    "solve": SolveParameters,
    "review": ReviewParameters,
    "voting": VotingParameters,
    "planning": PlanningParameters,
    "plan": PlanParameters,
}
# where a primitive's own argument has the name
SIZES = {
    "solve": (),
    "review": ("rounds", "stop", "threshold"),
    "voting": ("solvers", "vote", "keep", "spread", "temperature", "top_p"),
    "planning": ("executors",),
    "plan": (),
}
SAMPLING = ("max_new_tokens", "temperature", "top_p", "top_k", "min_p", "repetition_penalty")
HANDS = (
    "comm", "inner", "steps", "settle", "inner_tokens", "join", "carry", "offsets", "rotate",
)  # fmt: skip
