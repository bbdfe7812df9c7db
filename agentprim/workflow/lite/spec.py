"""A workflow as a file: experts, how they are routed and screened, and the budget."""

from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentprim.agent import Agent, RemoteAgent
from agentprim.decide import Calibration, Decider
from agentprim.engine import Engine
from agentprim.primitives import Planning, Review, Voting
from agentprim.workflow.lite.budget import Budget
from agentprim.workflow.lite.expert import Expert
from agentprim.workflow.lite.prompts import CRITERION
from agentprim.workflow.lite.workflow import LiteWorkflow

PRIMITIVES = {"review": Review, "voting": Voting, "planning": Planning}
REVIEWER = "You are a reviewer. Check work against its criterion. Say exactly what is wrong."
Positive = Annotated[int, Field(ge=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ExpertSpec(_Strict):
    """One expert.

    Attributes:
        name: What routers call it.
        kind: `agent`, a primitive, or `remote`.
        system: System prompt of an agent or a remote agent.
        duty, criterion, checkpoint: As in `Expert`.
        options: Of a primitive, or of `RemoteAgent`, whose `model` must be given.
    """

    name: str
    kind: Literal["agent", "review", "voting", "planning", "remote"] = "agent"
    system: str | None = None
    duty: str = ""
    criterion: str = CRITERION
    checkpoint: bool = True
    options: dict = Field(default_factory=dict)


class BudgetSpec(_Strict):
    """As `Budget`."""

    calls: Positive | None = 8
    tokens: Positive | None = None
    seconds: Annotated[float, Field(gt=0)] | None = None


class Spec(_Strict):
    """A whole workflow; the fields are those of `LiteWorkflow`.

    Attributes:
        calibration: A file of `agentprim calibrate`, relative to the spec.
        reviewer: System prompt of the reviewer.
        prior: Content-free correction of the decider.
    """

    experts: list[ExpertSpec] = Field(min_length=1)
    router: Literal["decider", "rule", "llm"] = "decider"
    screening: Literal["none", "decider", "llm", "cascade"] = "cascade"
    feedback: bool = True
    repairs: Annotated[int, Field(ge=0)] = 2
    comm: Literal["kv", "text"] = "kv"
    budget: BudgetSpec = BudgetSpec()
    max_new_tokens: Positive = 256
    review_tokens: Positive = 96
    reviewer: str = REVIEWER
    calibration: Path | None = None
    prior: bool = False

    @classmethod
    def load(cls, path: Path) -> "Spec":
        """Read a YAML or JSON file.

        Raises:
            ValueError: It is no such file; one message names every place that is wrong.
        """
        try:
            found = yaml.safe_load(path.read_text())
            spec = cls.model_validate(found if isinstance(found, dict) else {})
        except yaml.YAMLError as error:
            raise ValueError(f"spec must be YAML, got a fault in {path}: {error}") from error
        except ValidationError as error:
            wrong = "; ".join(
                f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()
            )
            raise ValueError(f"spec must be a workflow, got {path} with {wrong}") from error
        if spec.calibration is not None:
            spec = spec.model_copy(update={"calibration": path.parent / spec.calibration})
        return spec


def build(spec: Spec, engine: Engine) -> LiteWorkflow:
    """Build the workflow of a spec on one engine.

    Raises:
        ValueError: An option of an expert is unknown or out of range.
    """
    calibration = Calibration.load(spec.calibration) if spec.calibration else None
    return LiteWorkflow(
        [_expert(one, engine) for one in spec.experts],
        Decider(engine, calibration=calibration, prior=spec.prior),
        Agent(engine, spec.reviewer, name="reviewer"),
        Budget(**spec.budget.model_dump()),
        router=spec.router,
        screening=spec.screening,
        feedback=spec.feedback,
        repairs=spec.repairs,
        comm=spec.comm,
        max_new_tokens=spec.max_new_tokens,
        review_tokens=spec.review_tokens,
    )


def _expert(spec: ExpertSpec, engine: Engine) -> Expert:
    try:
        if spec.kind == "agent":
            agent = Agent(engine, spec.system, name=spec.name, **spec.options)
        elif spec.kind == "remote":
            agent = RemoteAgent(system=spec.system, name=spec.name, **spec.options)
        else:
            agent = PRIMITIVES[spec.kind](engine, name=spec.name, **spec.options)
    except TypeError as error:
        raise ValueError(f"options of {spec.name} must be those of {spec.kind}: {error}") from error
    return Expert(
        name=spec.name, agent=agent, duty=spec.duty or spec.system or spec.kind,
        criterion=spec.criterion, checkpoint=spec.checkpoint,
    )  # fmt: skip
