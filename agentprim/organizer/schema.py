"""JSON schemas of plans, for models whose answers can be held to one."""

from typing import Any

from agentprim.workflow.check import QUERY

SIZES = {
    "review": {"rounds": 3}, "voting": {"solvers": 5}, "planning": {"executors": 4}, "solve": {},
}  # fmt: skip
MAX_TEXT = 160  # characters of an instruction


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


def narrow_schema(most_steps: int = 4) -> dict[str, Any]:
    """Return a schema under which even a small model writes a plan that can run.

    Step n is called `s<n>`, reads the query and steps before it, and its size is bounded. So ids
    are right and there is no circle. Whether each step is read is left to the model.
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


def _narrow_step(number: int, kind: str) -> dict[str, Any]:
    earlier = [f"s{n}" for n in range(1, number)]
    inputs: dict[str, Any] = {
        "type": "array", "minItems": 1, "maxItems": 1 + len(earlier),
        "prefixItems": [{"const": QUERY}, *({"enum": earlier} for _ in earlier)], "items": False,
    }  # fmt: skip
    sizes = {name: {"type": "integer", "minimum": 1, "maximum": most}
             for name, most in SIZES[kind].items()}  # fmt: skip
    text = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT,
            "pattern": "^[A-Za-z][A-Za-z0-9 ,.;:'?!()+*/=-]*$"}  # fmt: skip
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
