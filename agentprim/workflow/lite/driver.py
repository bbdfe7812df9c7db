"""Run many tasks side by side: what they ask of the same agent at the same time is one batch."""

from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from agentprim.agent.remote import AT_ONCE
from agentprim.engine import Output, together
from agentprim.workflow.lite.requests import Act, Ask, Failure, Reply, Request, hand

Task = Generator[Request, Reply, Output]


def drive(tasks: Sequence[Task]) -> list[Output]:
    """Run tasks to their ends.

    A task is a generator that yields requests and is sent replies. In each round all tasks that
    wait for the same agent are answered by one call; where that raises, each is called alone, so
    that one task's fault stays its own. What several agents ask of an engine runs together.
    """
    results: list[Output | None] = [None] * len(tasks)
    waiting: dict[int, Request] = {}

    def send(index: int, reply: Reply | None) -> None:
        try:
            waiting[index] = tasks[index].send(reply)
        except StopIteration as end:
            results[index] = end.value
            waiting.pop(index, None)

    for index in range(len(tasks)):
        send(index, None)
    while waiting:
        groups = _groups(waiting)
        answers = together(
            *(partial(_answer, [waiting[index] for index in group]) for group in groups)
        )
        for group, replies in zip(groups, answers, strict=True):
            for index, reply in zip(group, replies, strict=True):
                send(index, reply)
    return results


def _groups(waiting: dict[int, Request]) -> list[list[int]]:
    """Put together what one call can answer."""
    groups: dict[object, list[int]] = {}
    for index, request in waiting.items():
        if isinstance(request, Act):
            key = (id(request.agent), request.max_new_tokens)
        else:
            key = id(request.decider)
        groups.setdefault(key, []).append(index)
    return list(groups.values())


def _answer(requests: list[Request]) -> list[Reply]:
    local = hasattr(getattr(requests[0], "agent", None), "engine")
    if len(requests) > 1 and isinstance(requests[0], Act) and not local:
        with ThreadPoolExecutor(AT_ONCE) as threads:  # it has no batch of its own to gain from
            return [replies[0] for replies in threads.map(lambda one: _answer([one]), requests)]
    try:
        return _decide(requests) if isinstance(requests[0], Ask) else _act(requests)
    except Exception as error:  # agents may be anybody's; a fault belongs to its task
        if len(requests) == 1:
            return [Failure(error=error)]
        return [_answer([one])[0] for one in requests]


def _decide(requests: list[Ask]) -> list[Reply]:
    return requests[0].decider.ask_each([(one.question, one.state) for one in requests])


def _act(requests: list[Act]) -> list[Output]:
    agent, hands = requests[0].agent, [hand(one) for one in requests]
    options = {"max_new_tokens": requests[0].max_new_tokens}
    contexts = [context for _, context in hands]
    if any(contexts):
        options["context"] = contexts
    if all(one.seed is not None for one in requests):
        options["seed"] = [one.seed for one in requests]
    return list(agent([turn for turn, _ in hands], **options))
