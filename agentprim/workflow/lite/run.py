"""The loop: an expert acts, its work is screened and repaired, and a router says who is next."""

from agentprim.errors import BudgetExceeded
from agentprim.workflow.lite import prompts
from agentprim.workflow.lite.artifact import Artifact, best
from agentprim.workflow.lite.expert import Expert
from agentprim.workflow.lite.prompts import STOP
from agentprim.workflow.lite.requests import Failure
from agentprim.workflow.lite.route import route
from agentprim.workflow.lite.screen import screen
from agentprim.workflow.lite.task import Steps, Task
from agentprim.workflow.lite.wording import says, wording


def run(task: Task, flow) -> Steps:
    """Work on a task until the router says STOP or the budget is spent; return an Output.

    *Jev-LiteMAS* (arXiv 2610.21411): only STOP or the budget ends a run, never a pass. At the end
    of the budget, `flow.finalize` makes an answer of what there is.
    """
    finish = "stop"
    try:
        while (name := (yield from route(task, flow))) != STOP:
            yield from _turn(task, flow, flow.experts[name])
    except BudgetExceeded as error:
        finish = "budget"
        task.note("budget", "workflow", exceeded=str(error))
    chosen = best(task.artifacts)
    task.note("finish", "workflow", reason=finish, artifact=chosen and chosen.number)
    return flow.finalize(task, chosen, finish)


def _turn(task: Task, flow, expert: Expert) -> Steps:
    """Let one expert act, and repair its work until it passes or was repaired often enough."""
    turn = prompts.ACT.format(task=task.text)
    artifact = yield from _work(task, flow, expert, "execution", turn, task.known(), None)
    for attempt in range(flow.repairs + 1):
        if artifact is None:
            return
        verdict = yield from screen(task, flow, artifact, expert)
        task.settle(artifact, released=verdict.passed)
        if verdict.passed or attempt == flow.repairs:
            return
        turn = prompts.REPAIR.format(feedback=verdict.feedback, task=task.text)
        artifact = yield from _work(
            task, flow, expert, "repair", turn, task.known(), artifact
        )  # fmt: skip


def _work(
    task: Task, flow, expert: Expert, activity: str, turn: str, senders, repairs: Artifact | None
) -> Steps:
    """Make one artifact; None where the expert failed, who is then not chosen again."""
    output = yield from task.act(activity, expert.agent, turn, senders, flow.max_new_tokens)
    if isinstance(output, Failure):
        task.failed.add(expert.name)
        return None
    output = output.but(name=expert.name)
    if flow.inject is not None:
        changed = flow.inject(task.seed, len(task.artifacts), output, expert.agent)
        if changed is not None:
            task.note("inject", expert.name, artifact=len(task.artifacts), before=str(output),
                      wording=_new(str(output), str(changed), task.text))  # fmt: skip
            output = changed
    return task.keep(expert.name, output, repairs)


def _new(before: str, after: str, task: str) -> list[str]:
    """Return what only changed work says; nothing where the task or the work said it before."""
    words = wording(before, after)
    return [] if says(before, words) or says(task, words) else words
