"""Draw a plan as a Mermaid flowchart."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentprim.workflow.plan import Plan, Step

_SHAPES = {
    "solve": '["{}"]', "review": '(["{}"])', "voting": '{{{{"{}"}}}}', "planning": '[/"{}"/]',
    "plan": '["{}"]',
}  # fmt: skip
_SHOWN = ("rounds", "solvers", "executors", "comm", "inner", "join", "carry")


def to_mermaid(plan: "Plan") -> str:
    """Return the chart's source: the query above, one node a step, edges to the answer below."""
    lines = ["flowchart TD", '  query(["query"])']
    lines += _nodes(plan, "")
    lines += [f"  {_end(plan, '')} --> answer", '  answer(["answer"])']
    return "\n".join(lines)


def _nodes(plan: "Plan", prefix: str, query: str = "query", pad: str = "  ") -> list[str]:
    lines = []
    for step in plan.steps:
        node = _name(prefix, step.id)
        if step.plan is None:
            lines.append(pad + node + _SHAPES[step.primitive].format(_label(step)))
        else:
            lines.append(f'{pad}subgraph {node}["{_text(step.id)}"]')
            lines += _nodes(step.plan, node, f"{node}_in", pad + "  ")
            lines.append(f"{pad}  {node}_in((in))")
            lines.append(f"{pad}end")
    for step in plan.steps:
        node = _name(prefix, step.id)
        target = node if step.plan is None else f"{node}_in"
        for one in step.inputs:
            source = query if one == "query" else _out(plan, prefix, one)
            lines.append(f"{pad}{source} --> {target}")
    return lines


def _out(plan: "Plan", prefix: str, name: str) -> str:
    step, node = plan[name], _name(prefix, name)
    return node if step.plan is None else _end(step.plan, node)


def _end(plan: "Plan", prefix: str) -> str:
    return _out(plan, prefix, plan.output)


def _name(prefix: str, name: str) -> str:
    # a word of its own for each id: `end` and `graph` mean something in Mermaid
    safe = "".join(c if c.isalnum() else f"_{ord(c)}_" for c in name)
    return f"{prefix}_{safe}" if prefix else f"s_{safe}"


def _label(step: "Step") -> str:
    given = step.parameters.model_dump(exclude_none=True)
    shown = [f"{name} {given[name]}" for name in _SHOWN if name in given]
    shown += [f"{role}: {text}" for role, text in (given.get("roles") or {}).items()]
    if "instruction" in given:
        shown.append(given["instruction"])
    lines = [f"{step.id}: {step.primitive}", *shown]
    return "<br/>".join(_text(line if len(line) <= 60 else line[:57] + "...") for line in lines)


def _text(text: str) -> str:
    for character, entity in (("&", "#amp;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        text = text.replace(character, entity)
    return " ".join(text.split())
