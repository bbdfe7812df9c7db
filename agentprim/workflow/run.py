"""Run a plan for a batch of queries: wave by wave, equal steps of a wave as one batch.

What other steps of a wave ask of the engine runs together, too.
"""

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from agentprim.engine import Event, Output, Usage, together
from agentprim.engine.seat import now
from agentprim.primitives.primitive import Item, Speak
from agentprim.workflow.build import build, shape
from agentprim.workflow.check import QUERY
from agentprim.workflow.cost import answer_tokens, inherited, step_cost
from agentprim.workflow.guard import Guard, OutOfTime
from agentprim.workflow.ledger import Ledger
from agentprim.workflow.options import resolve
from agentprim.workflow.plan import Budget, Plan
from agentprim.workflow.state import Course, forget_frames

if TYPE_CHECKING:
    from agentprim.workflow.flow import Flow

Unit = tuple[Course, str]


class Run:
    """One call of a plan."""

    def __init__(self, flow: "Flow", plan: Plan, items: list[Item], speak: Speak) -> None:
        """Prepare a plan for some queries.

        Raises:
            PlanError: Options do not fit together.
        """
        self.flow, self.plan, self.speak = flow, plan, speak
        self.options = resolve(plan, flow.given, items[0].given)
        self.order = [step.id for step in plan.steps]
        begun, budget = time.perf_counter(), plan.budget or Budget()
        self.courses = [
            Course(item, plan, Ledger(budget, begun), flow.watch or (lambda *_: None))
            for item in items
        ]

    def __call__(self) -> list[Output]:
        """Run every step that can run, and return one answer for each query.

        Raises:
            Exception: A query has no answer, and neither has any other, or `strict` is set.
        """
        try:
            for wave in self.plan.graph.waves():
                # steps that spend of one budget begin one after the other
                parts = [wave] if self.plan.budget is None else [(name,) for name in wave]
                for part in parts:
                    self._wave([(course, name) for course in self.courses for name in part])
            answers = [self._answer(course) for course in self.courses]
            if all(out is None for out in answers):
                raise self.courses[0].fault()
            for course, out in zip(self.courses, answers, strict=True):
                course.free(out)
        finally:
            for course in self.courses:  # nothing is left where a fault ends the call
                course.outputs.clear()
                course.error = None  # it knows this very frame
        return [Output("", finish="error") if out is None else out for out in answers]

    def _wave(self, units: list[Unit]) -> None:
        groups: dict[tuple, list[Unit]] = {}
        for course, name in units:
            step, final = self.plan[name], name == self.plan.output
            # one turn is kept for an answer
            left, options = course.ledger.left(step, kept=not final), self.options[name]
            refused = course.ready(name) or course.ledger.refuses(left)
            cost = step_cost(step, options, final)
            most = None
            if left.decoded is not None and cost.speaking:
                most = min(left.decoded // cost.speaking, answer_tokens(step))
                refused = refused or ("" if most else "budget of decoded is spent")
            alone = 0 if left.calls is None or cost.calls <= left.calls else id(course)
            if refused:
                if "budget" in refused:
                    course.ledger.over = refused
                course.skip(name, refused)
                continue
            key = (shape(step), str(step.budget), final, QUERY in step.inputs, options, most, alone)
            groups.setdefault(key, []).append((course, name))
        together(*(
            partial(self._work, group, most, bool(alone))
            for (*_, most, alone), group in groups.items()
        ))  # fmt: skip

    def _work(self, units: list[Unit], most: int | None, tight: bool) -> None:
        """Run equal steps as one batch; if that fails, one by one, so that each has its fault.

        What is past already is left out: see `together`, under which this may begin again.
        """
        units = [(course, name) for course, name in units if name not in course.status]
        if not units:
            return
        step, begun = self.plan[units[0][1]], now()
        final = step.id == self.plan.output
        left = units[0][0].ledger.left(step, kept=not final)
        agent, guard, options = self._node(step, most, left)
        turns = left.calls if tight else None
        deadline = None if left.seconds is None else time.perf_counter() + left.seconds
        guard.start(f"step {step.id!r}", turns, deadline)
        for course, name in units:
            course.begin(name)
        try:
            outputs = self._call(agent, options, [self._item(*unit, options) for unit in units],
                                 final, most)  # fmt: skip
        except Exception as error:
            if len(units) == 1 or isinstance(error, OutOfTime):
                for course, name in units:
                    course.fail(name, error, guard.turns)
                return
            forget_frames(error)
            outputs = None
        if outputs is None:
            for unit in units:
                self._work([unit], most, tight)
            return
        seconds = (now() - begun) / len(units)
        for (course, name), out in zip(units, outputs, strict=True):
            course.done(name, out, seconds)

    def _call(self, agent, options, items: list[Item], final: bool, most: int | None):
        turns, contexts = [item.messages for item in items], [item.context for item in items]
        if final:
            return self.speak(agent, items, turns, contexts, most)
        return self.flow.thinking(agent, items, turns, contexts, options)

    def _item(self, course: Course, name: str, options) -> Item:
        """Make what a step is called with for one query."""
        step, item = self.plan[name], course.item
        asked = [item.task] if QUERY in step.inputs else []
        if step.parameters.instruction:
            asked.append(step.parameters.instruction)
        before = item.messages[:-1] if QUERY in step.inputs else []
        outside = item.context if QUERY in step.inputs else []
        if step.reads and options.inherits:
            outside = []  # it is in the caches that come from the steps before
        return Item(
            messages=[*before, {"role": "user", "content": "\n\n".join(asked)}],
            context=[*outside, *(course.outputs[one] for one in step.reads)],
            options=options,
            seed=item.seed + (self.order.index(name) << 12),  # steps draw apart from each other
            row=item.row,
            given=item.given,
        )

    def _node(self, step, most: int | None, left: Budget) -> tuple:
        """Return the primitive of a step, its guard, and its options."""
        options = self.options[step.id]
        if most is not None:
            options = replace(options, inner_tokens=min(options.inner_tokens, most))
        guard = Guard()
        if step.plan is not None:
            inner = self.flow.inside(step, left.least(step.plan.budget), inherited(options))
            return inner, guard, options
        return build(self.flow.agents, step, options, guard), guard, options

    def _answer(self, course: Course) -> Output | None:
        """Return a query's answer, or the best that is there."""
        if course.status[self.plan.output] == "done":
            return course.outputs[self.plan.output].but(name=self.flow.name)
        if self.flow.strict:
            raise course.fault()
        out = course.best()
        if out is None:
            return None
        reason = course.rescued(out, self.flow.name)
        if not str(out) and not course.ledger.refuses(course.ledger.left()):
            if (out := self._rescue(course, out)) is None:
                return None
        return out.but(name=self.flow.name, finish=reason, usage=Usage(), trace=())

    def _rescue(self, course: Course, out: Output) -> Output | None:
        """Let a solver say what a thought amounts to; None where it fails, too."""
        item, left = course.item, course.ledger.left()
        agent = self.flow.agents("rescue", self.flow.rescue_prompt)
        one = replace(item, context=[out])
        try:
            said = self.speak(agent, [one], [item.messages], [[out]], left.decoded)[0]
        except Exception as error:
            forget_frames(error)
            detail = {"error": f"{type(error).__name__}: {error}"}
            item.trace.append(Event(kind="rescue", role=self.flow.name, detail=detail))
            return None
        item.usage += said.usage
        item.trace += said.trace
        return said
