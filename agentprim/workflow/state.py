"""What became of each step of one query."""

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from agentprim.engine import Event, Output, Usage
from agentprim.errors import BudgetExceeded
from agentprim.primitives.primitive import Item
from agentprim.workflow.ledger import Ledger
from agentprim.workflow.plan import Plan

Watch = Callable[[str, str, int], None]


@dataclass
class Course:
    """One query on its way through a plan.

    Attributes:
        item: The query; usage and trace of every step are added to it.
        plan: The plan.
        ledger: What it spent.
        watch: Called as `watch(step, status, row)` when something changes.
        status: `"done"`, `"failed"` or `"skipped"` of each step that is past.
        outputs: Of steps that are done. One that was read by all its readers keeps its text only.
        error: The first fault.
    """

    item: Item
    plan: Plan
    ledger: Ledger
    watch: Watch
    status: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, Output] = field(default_factory=dict)
    error: Exception | None = None

    def __post_init__(self) -> None:
        """Count the readers of each step."""
        reads = [one for step in self.plan.steps for one in step.reads]
        self._readers = {step.id: reads.count(step.id) for step in self.plan.steps}

    def begin(self, name: str) -> None:
        """Say that a step begins."""
        self.watch(name, "running", self.item.row)

    def done(self, name: str, out: Output, seconds: float) -> None:
        """Keep what a step says, and free what was handed to it where nobody else waits for it."""
        self.ledger.count(out)
        costs = {f"{name}.{role}": cost for role, cost in out.usage.roles.items()}
        self.item.usage += Usage(costs)
        self.item.trace += [
            replace(event, detail={**event.detail, "step": _path(name, event.detail)})
            for event in out.trace
        ]
        self.outputs[name] = out.but(name=name, usage=Usage(), trace=())
        for one in self.plan[name].reads:
            self._readers[one] -= 1
            if not self._readers[one] and self.outputs[one].kv is not None:
                self.outputs[one].kv.release()
                self.outputs[one] = self.outputs[one].but(kv=None, hidden=None)
        self._note(name, "done", seconds=seconds, finish=out.finish)

    def fail(self, name: str, error: Exception, turns: int) -> None:
        """Note the fault of a step; its frames are emptied, since they hold caches."""
        forget_frames(error)
        error.add_note(f"in step {name!r} of plan {self.plan.name!r}")
        self.error = self.error or error
        self.ledger.calls += turns
        if isinstance(error, BudgetExceeded):
            self.ledger.over = f"budget is spent: {error}"
        self._note(name, "failed", error=f"{type(error).__name__}: {error}")

    def skip(self, name: str, reason: str) -> None:
        """Note why a step does not run."""
        self._note(name, "skipped", reason=reason)

    def ready(self, name: str) -> str:
        """Say why a step cannot run; empty if it can."""
        if self.ledger.over:
            return self.ledger.over
        waits = [one for one in self.plan[name].reads if self.status.get(one) != "done"]
        return f"step {waits[0]!r} gave nothing" if waits else ""

    def best(self) -> Output | None:
        """Return what is nearest to the answer: of what nobody has read, the deepest."""
        left = [name for name, out in self.outputs.items() if out.kv is not None]
        graph = self.plan.graph
        left.sort(key=lambda name: len(graph.before(name)))
        return self.outputs[left[-1]] if left else None

    def fault(self) -> Exception:
        """Return why there is no output."""
        return self.error or BudgetExceeded(
            f"plan must end within its budget, got an end before its output: {self.ledger.over}"
        )

    def rescued(self, out: Output, role: str) -> str:
        """Note that another step answers for the output; return why."""
        error = self.fault()
        reason = "budget" if isinstance(error, BudgetExceeded) else "error"
        detail = {"reason": reason, "from": out.name, "error": f"{type(error).__name__}: {error}"}
        self.item.trace.append(Event(kind="rescue", role=role, detail=detail))
        return reason

    def free(self, kept: Output | None) -> None:
        """Free all caches but one."""
        for out in self.outputs.values():
            if out.kv is not None and (kept is None or out.kv is not kept.kv):
                out.kv.release()
        self.outputs.clear()

    def _note(self, name: str, status: str, **detail) -> None:
        self.status[name] = status
        detail = {"status": status, "primitive": self.plan[name].primitive, **detail}
        self.item.trace.append(Event(kind="step", role=name, detail=detail))
        self.watch(name, status, self.item.row)


def forget_frames(error: BaseException | None) -> None:
    """Empty the frames of a fault and of what led to it: their variables hold caches."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__


def _path(name: str, detail: dict) -> str:
    return f"{name}.{detail['step']}" if "step" in detail else name
