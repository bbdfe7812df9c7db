"""Screening: does a piece of work pass, and if not, what is wrong with it."""

import re
from dataclasses import dataclass

from agentprim.agent.aloud import aloud
from agentprim.decide import judge
from agentprim.workflow.lite import prompts
from agentprim.workflow.lite.artifact import Artifact, transcript
from agentprim.workflow.lite.expert import Expert
from agentprim.workflow.lite.requests import Failure
from agentprim.workflow.lite.task import Steps, Task

SCREENINGS = ("none", "decider", "llm", "cascade")


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether work passes, and the feedback where it does not."""

    passed: bool
    feedback: str = ""


def screen(task: Task, flow, artifact: Artifact, expert: Expert) -> Steps:
    """Look at one artifact; return a `Verdict`.

    * `"none"`: everything passes;
    * `"decider"`: the decider's word is final, and feedback is the criterion itself;
    * `"llm"`: the reviewer reads every artifact;
    * `"cascade"`: what the decider does not pass goes to the reviewer, who accepts or corrects.

    Work that could not be looked at does not pass.
    """
    if flow.screening == "none" or not expert.checkpoint:
        return Verdict(passed=True)
    not_met = prompts.NOT_MET.format(criterion=expert.criterion)
    if flow.screening != "llm":
        known = flow.reads(flow.decider, artifact)
        state = artifact.output if known else transcript(task.text, [artifact])
        decision = yield from task.decide("screening", flow.decider, judge(expert.criterion), state)
        passed = not isinstance(decision, Failure) and flow.decider.passes(
            decision, expert.criterion
        )
        detail = {} if isinstance(decision, Failure) else {"probability": decision.value}
        task.note("screen", expert.name, artifact=artifact.number, passed=passed, **detail)
        if passed or flow.screening == "decider":
            return Verdict(passed=passed, feedback=not_met)
    turn = prompts.REVIEW.format(criterion=expert.criterion, task=task.text)
    review = yield from task.act(
        "review", flow.reviewer, turn, [artifact.output], flow.review_tokens
    )
    if isinstance(review, Failure):
        return Verdict(passed=False, feedback=not_met)
    passed = accepts(str(review))
    task.note("review", "reviewer", artifact=artifact.number, passed=passed, text=str(review))
    return Verdict(passed=passed, feedback=str(review).strip() or not_met)


def accepts(review: str) -> bool:
    """Tell whether a review accepts: its first word aloud is ACCEPT, and no `not` follows."""
    words = re.findall(r"[a-z']+", aloud(review).lower())
    return words[:1] in (["accept"], ["accepted"]) and "not" not in words
