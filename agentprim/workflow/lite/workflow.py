"""LiteWorkflow: experts that are routed and screened by bounded decisions."""

from collections.abc import Callable, Sequence

from agentprim.agent.rows import read_contexts, read_rows, read_seeds
from agentprim.decide import Decider
from agentprim.engine import Output
from agentprim.workflow.lite.artifact import Artifact
from agentprim.workflow.lite.budget import Budget, Spent
from agentprim.workflow.lite.driver import drive
from agentprim.workflow.lite.expert import read_experts
from agentprim.workflow.lite.route import ROUTERS, in_turn
from agentprim.workflow.lite.run import run
from agentprim.workflow.lite.screen import SCREENINGS
from agentprim.workflow.lite.task import Task

COMMS = ("kv", "text")


class LiteWorkflow:
    """Experts act; a decider routes and screens; only flagged work is reviewed in words.

        flow = LiteWorkflow([solver, coder], Decider(engine), reviewer, budget=Budget(calls=6))
        answer = flow("How many ...?")

    The chosen expert acts on the task and all prior work, which it is handed as a cache. At a
    checkpoint the decider judges it against the expert's criterion. A pass releases it; flagged
    work is reviewed in words, which accepts it or gives feedback; on feedback its expert repairs
    it, and the repair is screened again. Then the router chooses an expert or STOP from the latest
    work.
    *Jev-LiteMAS* (arXiv 2610.21411).

    Several tasks run side by side: calls of one agent at one time are one batch.
    """

    def __init__(
        self,
        experts,
        decider: Decider | None = None,
        reviewer=None,
        budget: Budget | None = None,
        *,
        router: str | Decider | Callable = "decider",
        screening: str = "cascade",
        feedback: bool = True,
        repairs: int = 2,
        comm: str = "kv",
        max_new_tokens: int = 256,
        review_tokens: int = 96,
        route_tokens: int = 16,
        finalizer: Callable[[str, Sequence[Artifact]], str] | None = None,
        inject: Callable | None = None,
        name: str = "workflow",
    ) -> None:
        """Put a team together.

        Args:
            experts: `Expert`s, agents with a name, or a mapping of names to agents. Agents may be
                primitives, remote, or of several engines: caches travel within one engine, text
                between others.
            decider: Routes and screens.
            reviewer: An agent that reviews in words.
            budget: Of one task.
            router: `"decider"`; `"llm"`: the reviewer chooses in words; `"rule"`: each expert once
                in the order of the list; another `Decider` (a smaller model); or a function
                `(task, artifacts, eligible) -> name or "STOP"`.
            screening: `"cascade"`, `"decider"`, `"llm"` or `"none"`; see `screen`.
            feedback: Whether the router reads the work; else only who has acted and whether it
                passed.
            repairs: Most repairs of one piece of work.
            comm: `"kv"`, or `"text"` for the text twin.
            max_new_tokens, review_tokens, route_tokens: Most tokens of an expert's, a reviewer's
                and a router's answer.
            finalizer: Makes an answer of a task and its artifacts when the budget is spent;
                default the latest released work, else the latest.
            inject: Changes work before it is screened: an experiment; see `inject`.
            name: Who answers.

        Raises:
            ValueError: A name is unknown, a number out of range, or a part is missing that the
                choices need.
        """
        self.experts = read_experts(experts)
        if screening not in SCREENINGS:
            raise ValueError(f"screening must be one of {SCREENINGS}, got {screening!r}")
        if isinstance(router, str) and router not in ROUTERS:
            raise ValueError(f"router must be one of {ROUTERS}, got {router!r}")
        if comm not in COMMS:
            raise ValueError(f"comm must be one of {COMMS}, got {comm!r}")
        if repairs < 0 or min(max_new_tokens, review_tokens, route_tokens) < 1:
            raise ValueError("repairs must be at least 0 and tokens at least 1, got less")
        if decider is None and (router == "decider" or screening in ("decider", "cascade")):
            raise ValueError("decider must be given for its routing or screening, got None")
        if reviewer is None and (router == "llm" or screening in ("llm", "cascade")):
            raise ValueError("reviewer must be given to review or route in words, got None")
        self.decider, self.reviewer, self.budget = decider, reviewer, budget or Budget()
        known = {"decider": decider, "rule": in_turn, "llm": None}
        self.router = known[router] if isinstance(router, str) else router
        self.screening, self.feedback, self.repairs, self.comm = screening, feedback, repairs, comm
        self.max_new_tokens, self.review_tokens = max_new_tokens, review_tokens
        self.route_tokens, self.finalizer, self.inject = route_tokens, finalizer, inject
        self.name = name

    def __call__(self, x, *, context: Sequence = (), seed=None):
        """Work on a task, or on a list of tasks side by side.

        Args:
            x: A question, chat messages, or a list of either; the last message is the task.
            context: Outputs of others, as in `Agent`.
            seed: Of sampling and injection; one for each task, used as it is, or a number that
                gives each task its own.

        Returns:
            An `Output` or a list of them; `finish` is `"stop"`, `"budget"`, or `"failure"` where
            there is no work at all. `usage` is by activity, and `trace` holds every decision with
            its probabilities.
        """
        rows, single = read_rows(x)
        contexts = read_contexts(context, len(rows), single)
        if isinstance(seed, int):  # apart, since a task counts on from its seed
            seed = [seed + (number << 20) for number in range(len(rows))]
        seeds = read_seeds(seed, len(rows), 1) or [None] * len(rows)
        tasks = [
            Task(
                text=messages[-1]["content"], context=tuple(senders), comm=self.comm,
                spent=Spent(self.budget), seed=one,
            )
            for messages, senders, one in zip(rows, contexts, seeds, strict=True)
        ]  # fmt: skip
        outputs = drive([run(task, self) for task in tasks])
        return outputs[0] if single else outputs

    def reads(self, decider: Decider, artifact: Artifact) -> bool:
        """Tell whether a decider can read a piece of work as a cache."""
        pool = getattr(getattr(decider.backend, "engine", None), "pool", None)
        kv = artifact.output.kv
        return self.comm == "kv" and kv is not None and kv.pool is pool

    def finalize(self, task: Task, chosen: Artifact | None, finish: str) -> Output:
        """Make the answer of a task that ended."""
        if finish == "budget" and self.finalizer is not None:
            output = Output(self.finalizer(task.text, tuple(task.artifacts)))
        elif chosen is None:
            output, finish = Output(""), "failure"
        else:
            output = chosen.output
        return output.but(usage=task.usage, trace=tuple(task.trace), finish=finish, name=self.name)
