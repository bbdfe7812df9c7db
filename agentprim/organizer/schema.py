"""JSON schemas of plans, for models whose answers can be held to one."""

from typing import Any

from agentprim.workflow.check import QUERY

SIZES = {
    "review": {"rounds": 3}, "voting": {"solvers": 5}, "planning": {"executors": 4}, "solve": {},
}  # fmt: skip
MAX_TEXT = 80  # characters of an instruction


def plan_schema() -> dict[str, Any]:
    """Return a schema that every plan of the four primitives follows."""
    step = {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "primitive": {"enum": list(SIZES)},
            "inputs": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "parameters": {
                "type": "object",
                "properties": {
                    "instruction": {"type": "string"},
                    "roles": {"type": "object", "additionalProperties": {"type": "string"}},
                    **{name: {"type": "integer", "minimum": 1} for sizes in SIZES.values()
                       for name in sizes},
                },
            },
        },
        "required": ["id", "primitive", "inputs"],
    }  # fmt: skip
    return {
        "type": "object",
        "properties": {
            "steps": {"type": "array", "items": step, "minItems": 1, "maxItems": 12},
            "output": {"type": "string"},
        },
        "required": ["steps", "output"],
    }


def narrow_schema(most_steps: int = 3) -> dict[str, Any]:
    """Return a schema under which even a small model writes a plan that can run.

    Step n is called `s<n>`, reads the query and steps before it, and its size is bounded. So ids
    are right and there is no circle; `gathered` sees to it that each step is read.
    """
    return {
        "type": "object",
        "properties": {
            "steps": {
                "type": "array", "minItems": 1, "maxItems": most_steps, "items": False,
                "prefixItems": [
                    {"anyOf": [_narrow_step(number, kind) for kind in SIZES]}
                    for number in range(1, most_steps + 1)
                ],
            },
        },
        "required": ["steps"],
        "additionalProperties": False,
    }  # fmt: skip


def gathered(plan: dict[str, Any]) -> dict[str, Any]:
    """Return a plan of the narrow schema whose last step reads all that no other step reads."""
    *steps, last = plan["steps"]
    read = {one for step in plan["steps"] for one in step["inputs"]}
    unread = [step["id"] for step in steps if step["id"] not in read]
    last = {**last, "inputs": [*last["inputs"], *unread]}
    return {"steps": [*steps, last], "output": last["id"]}


def _narrow_step(number: int, kind: str) -> dict[str, Any]:
    earlier = [f"s{n}" for n in range(1, number)]
    inputs: dict[str, Any] = {
        "type": "array", "minItems": 1, "maxItems": 1 + len(earlier),
        "prefixItems": [{"const": QUERY}, *({"enum": earlier} for _ in earlier)], "items": False,
    }  # fmt: skip
    sizes = {name: {"type": "integer", "minimum": 1, "maximum": most}
             for name, most in SIZES[kind].items()}  # fmt: skip
    letters = "[A-Za-z0-9 ,.;:'?!()+*/=-]"
    text = {"type": "string", "pattern": f"^[A-Za-z]{letters}{{0,{MAX_TEXT - 1}}}$"}
    properties = {
        "id": {"const": f"s{number}"},
        "primitive": {"const": kind},
        "inputs": inputs,
        "parameters": {
            "type": "object", "properties": {**sizes, "instruction": text},
            "required": list(sizes), "additionalProperties": False,
        },
    }  # fmt: skip
    return {
        "type": "object", "properties": properties, "required": list(properties),
        "additionalProperties": False,
    }  # fmt: skip
