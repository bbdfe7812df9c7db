"""LiteWorkflow, and its control that routes and reviews everything in words."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentprim.agent import Agent
from agentprim.decide import Calibration, Decider
from agentprim.engine import Engine, Output
from agentprim.evaluate.base import Limits
from agentprim.evaluate.methods.line import bare, mixed
from agentprim.workflow.lite import Budget, Expert, LiteWorkflow
from agentprim.workflow.lite.inject import Injection

# whoever acted last may have the last word, so each of them ends with an answer
EXPERTS = {
    "analyst": (
        "works out what is given and asked, and solves",
        "You are an analyst. Work out what is given and what is asked, then solve the task step "
        "by step and give the final answer.",
    ),
    "solver": (
        "solves the task step by step",
        "You are a solver. Solve the task step by step and give the final answer.",
    ),
    "verifier": (
        "checks the work and corrects it",
        "You are a verifier. Check the work on the task, correct it where it is wrong, and give "
        "the final answer.",
    ),
}
REVIEWER = "You are a reviewer. Check work against its criterion. Say exactly what is wrong."
CRITERION = "Is the task solved correctly and completely?"


@dataclass(frozen=True, kw_only=True)
class Lite:
    """*Jev-LiteMAS* (arXiv 2610.21411): bounded decisions route and screen.

    Only flagged work is reviewed in words. The decider reads its decisions out of the model under
    test; in the paper it is a hosted decision model. The paper's experts differ from benchmark to
    benchmark and may be other models; here the same three play for every task. The decider is not
    calibrated unless `calibration` is given.

    With both `"llm"` it is the generative control: the same experts and budget, but the router
    chooses in words and the reviewer reads every piece of work (the paper's "LAS" baseline is not
    identified in public; this is what we take it to be).

    Attributes:
        router, screening, feedback: As in `LiteWorkflow`.
        inject: Whether an error is put into the first piece of work, where it can be; which, and
            where, depends on the question's seed. So repairs and later experts can mend it.
        team: The model of each expert, A or B; routing, screening and reviews are always A's. What
            the letters of the paper's AAA, ABB and ABA stand for is not public; here it is the
            analyst, the solver and the verifier.
        comm: `"kv"`, or `"text"` for the text twin.
        twin: Name of the text twin, None for a text twin.
        calls: Budget of one task.
        repairs: Most repairs of one piece of work.
        calibration: Of the decider.
    """

    name: str = "lite"
    about: str = "experts routed and screened by bounded decisions (arXiv 2610.21411)"
    router: str = "decider"
    screening: str = "cascade"
    feedback: bool = True
    inject: bool = False
    team: str = "AAA"
    comm: str = "kv"
    twin: str | None = None
    calls: int = 6
    repairs: int = 1
    calibration: Calibration | None = None

    @property
    def takes_expert(self) -> bool:
        """Whether a second model must be given."""
        return "B" in self.team

    def __call__(
        self,
        engine: Engine,
        questions: Sequence[str],
        limits: Limits,
        seeds: Sequence[int],
        expert: Engine | None = None,
    ) -> list[Output]:
        """Answer; see `Method`.

        Raises:
            ValueError: The team needs a second model, and there is none.
        """
        if not questions:
            return []
        if self.takes_expert and expert is None:
            raise ValueError(f"expert must be the engine of model B for {self.name}, got None")
        engines = [expert if letter == "B" else engine for letter in self.team]
        flow = LiteWorkflow(
            self._experts(engines, limits), Decider(engine, calibration=self.calibration),
            self._agent(engine, "reviewer", REVIEWER, limits), Budget(calls=self.calls),
            router=self.router, screening=self.screening, feedback=self.feedback, comm=self.comm,
            repairs=self.repairs, max_new_tokens=limits.max_new_tokens,
            review_tokens=limits.max_new_tokens, name=self.name,
            inject=Injection(only=0) if self.inject else None,
        )  # fmt: skip
        return [bare(out) for out in flow(list(questions), seed=[mixed(seed) for seed in seeds])]

    def _experts(self, engines: Sequence[Engine], limits: Limits) -> list[Expert]:
        return [
            Expert(name=name, agent=self._agent(engine, name, system, limits), duty=duty,
                   criterion=CRITERION)
            for engine, (name, (duty, system)) in zip(engines, EXPERTS.items(), strict=True)
        ]  # fmt: skip

    @staticmethod
    def _agent(engine: Engine, name: str, system: str, limits: Limits) -> Agent:
        agent = Agent(engine, system, name=name, temperature=limits.temperature, top_p=limits.top_p)
        agent.prepare()
        return agent
