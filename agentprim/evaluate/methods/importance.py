"""Importance of agents in a layered network, spread backwards from the answer (DyLAN)."""

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

from agentprim.agent.aloud import aloud

Agent = TypeVar("Agent", bound=Hashable)
SCORES = re.compile(r"\[\s*([1-5](?:\s*,\s*[1-5])*)\s*\]")


def read_scores(text: str, count: int) -> tuple[list[int], str]:
    """Read the scores that a reply begins with.

    Args:
        text: A reply such as `[3, 5] The answer is 4.`
        count: How many scores there must be.

    Returns:
        The scores, zeros where there are not as many, and the rest of the reply.
    """
    found = SCORES.search(text, len(text) - len(aloud(text)))
    scores = [int(one) for one in found.group(1).split(",")] if found else []
    if not count or len(scores) != count:
        return [0] * count, text
    return scores, text[: found.start()] + text[found.end() :]


def importance(
    weights: Sequence[Mapping[Agent, Mapping[Agent, float]]], agreeing: Sequence[Agent]
) -> dict[Agent, float]:
    """Sum what each agent added to the answer, over all rounds.

    In the last round those that agree with the answer share 1; before, an agent gets from each
    agent that read it that one's importance times the share of its score.

    Args:
        weights: For each round, for each agent that spoke, the scores that it gave to those of the
            round before.
        agreeing: Agents of the last round that gave the final answer.

    Returns:
        Importance of each agent that spoke.
    """
    now = {agent: 0.0 for agent in weights[-1]}
    now |= {agent: 1 / len(agreeing) for agent in agreeing}
    total = dict(now)
    for given in reversed(weights[1:]):
        before: dict[Agent, float] = {}
        for agent, scores in given.items():
            whole = sum(scores.values())
            for one, score in scores.items():
                share = score / whole if whole else 1 / len(scores)
                before[one] = before.get(one, 0.0) + share * now.get(agent, 0.0)
        for one, value in before.items():
            total[one] = total.get(one, 0.0) + value
        now = before
    return total
