"""Routing: who acts next, or STOP."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from agentprim.agent.aloud import aloud
from agentprim.decide import Decider, choose
from agentprim.workflow.lite import prompts
from agentprim.workflow.lite.artifact import Artifact, transcript
from agentprim.workflow.lite.prompts import STOP
from agentprim.workflow.lite.requests import Failure
from agentprim.workflow.lite.task import Steps, Task

ROUTERS = ("decider", "rule", "llm")
Rule = Callable[[str, Sequence[Artifact], Sequence[str]], str]


def in_turn(task: str, artifacts: Sequence[Artifact], eligible: Sequence[str]) -> str:
    """Let each expert act once, in the order of the list, then stop: the default rule."""
    done = {one.expert for one in artifacts}
    return next((name for name in eligible if name not in done), STOP)


def route(task: Task, flow) -> Steps:
    """Choose the next expert; return its name or STOP.

    STOP can be chosen once there is work. A router that fails is replaced by the rule, once.
    """
    eligible = [name for name in flow.experts if name not in task.failed]
    if not eligible:
        return STOP
    options = [*eligible, STOP] if task.artifacts else eligible
    if len(options) == 1:
        chosen, detail = options[0], {"by": "only one"}
    elif isinstance(flow.router, Decider):
        chosen, detail = yield from _by_decider(task, flow, options)
    elif flow.router is None:
        chosen, detail = yield from _in_words(task, flow, options)
    else:
        chosen, detail = flow.router(task.text, tuple(task.artifacts), eligible), {"by": "rule"}
    if chosen not in options:
        detail = {**detail, "refused": chosen, "by": "rule"}
        chosen = in_turn(task.text, task.artifacts, eligible)
    task.note("route", "router", chosen=chosen, **detail)
    return chosen


def _by_decider(task: Task, flow, options: list[str]) -> Steps:
    duties = prompts.duties(flow.experts[name] for name in options if name != STOP)
    question = choose(options, f"{duties}\n\n{prompts.ROUTE}")
    decision = yield from task.decide("routing", flow.router, question, _state(task, flow))
    if isinstance(decision, Failure):
        return None, {"by": "decider"}
    return decision.choice, {"by": "decider", "probabilities": decision.probabilities}


def _in_words(task: Task, flow, options: list[str]) -> Steps:
    turn = prompts.ROUTE_IN_WORDS.format(
        experts=prompts.duties(flow.experts[name] for name in options if name != STOP),
        stop=f"{STOP}: the task is solved." if STOP in options else "",
        task=task.text if flow.feedback else transcript(task.text, task.artifacts, contents=False),
    )
    senders = task.known() if flow.feedback else ()
    reply = yield from task.act("routing", flow.reviewer, turn, senders, flow.route_tokens)
    if isinstance(reply, Failure):
        return None, {"by": "llm"}
    return named(str(reply), options), {"by": "llm", "said": str(reply)}


def named(text: str, options: Sequence[str]) -> str | None:
    """Find the option that a text names first behind its reasoning; of two there the longest."""
    text = aloud(text)
    places: list[tuple[int, int, Any]] = []
    for option in options:
        found = re.search(rf"(?<!\w){re.escape(option)}(?!\w)", text, re.IGNORECASE)
        if found:
            places.append((found.start(), -len(option), option))
    return min(places)[2] if places else None


def _state(task: Task, flow) -> Any:
    """Return what the router reads: the latest work as a cache, or all of it as text."""
    if flow.feedback and task.artifacts and flow.reads(flow.router, task.artifacts[-1]):
        return task.artifacts[-1].output
    return transcript(task.text, task.artifacts, contents=flow.feedback)
