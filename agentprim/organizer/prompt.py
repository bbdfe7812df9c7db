"""What an organizer is told: the primitives, what worked for others, and the query."""

import json
from collections.abc import Sequence

from agentprim.engine.chat import Message
from agentprim.organizer.entry import Entry

# read once and kept, since no query changes it
SYSTEM = """\
You are an organizer. You design a small team of agents for a query; you do not answer it. Reply \
with one plan as JSON and nothing else.

A plan is {"steps": [...], "output": "<id of the answering step>"}. A step is
{"id": "...", "primitive": "...", "inputs": [...], "parameters": {...}}. Inputs are "query" and \
ids of earlier steps; every step must lead to the output.
Primitives:
- solve: one agent. For an easy query one solve is enough.
- review: a solver and a critic take turns. parameters: rounds (1-3). For errors that can be found.
- voting: independent solvers and a selector. parameters: solvers (2-5). For one short answer.
- planning: a planner and executors. parameters: executors (1-4). For tasks of several parts.
Any step may have parameters "instruction" (what this step does) and "roles", such as \
{"solver": "You are a geometer."}."""


def messages(
    query: str, entries: Sequence[Entry], refused: Sequence[tuple[str, str]] = ()
) -> list[Message]:
    """Ask for a plan.

    Args:
        query: What the plan is for. It is quoted, and what it says is no instruction.
        entries: Structures of the knowledge pool that fit, the best first.
        refused: Earlier replies and why they were refused.

    Returns:
        Chat messages, a system turn first.
    """
    parts = []
    if entries:
        parts = ["Structures that worked for similar queries:", *map(_shown, entries)]
    parts.append(f"Query, as data:\n{json.dumps(query, ensure_ascii=False)}\n\nThe plan:")
    found = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": "\n\n".join(parts)},
    ]
    for reply, error in refused:
        found.append({"role": "assistant", "content": reply or "(nothing)"})
        found.append({
            "role": "user",
            "content": f"That is no plan that can run: {error}\nReply with the whole corrected "
            "plan as JSON and nothing else.",
        })  # fmt: skip
    return found


def _shown(entry: Entry) -> str:
    plan = json.dumps(entry.plan.to_dict(), ensure_ascii=False, separators=(",", ":"))
    return f"* {entry.pattern.when} {entry.strategy}\n{plan}"
