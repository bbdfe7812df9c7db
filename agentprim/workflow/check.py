"""Check a plan as data, before anything runs, and name everything that is wrong with it."""

import re
from collections.abc import Mapping
from difflib import get_close_matches

from pydantic import BaseModel, ValidationError

from agentprim.workflow.graph import Graph
from agentprim.workflow.parameters import PARAMETERS, ROLES

MAX_STEPS = 64
MAX_DEPTH = 3
QUERY = "query"
_ID = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
_PLAN = ("name", "steps", "output", "budget")
_STEP = ("id", "primitive", "parameters", "inputs", "plan", "budget")


def plan_problems(data, depth: int = 1) -> list[str]:
    """List what is wrong with a plan; an empty list is a plan that can run.

    Args:
        data: A plan as plain data, or a `Plan`.
        depth: How deep it is nested in others, from 1.
    """
    data = plain(data)
    if not isinstance(data, Mapping):
        return [f"plan must be an object, got {type(data).__name__}"]
    if depth > MAX_DEPTH:
        return [f"plan must be nested at most {MAX_DEPTH} deep, got more"]
    steps = data.get("steps")
    if not isinstance(steps, list | tuple):
        return [f"plan must have a list of steps, got {type(steps).__name__}"]
    if not steps:
        return ["plan must have at least one step, got none"]
    if len(steps) > MAX_STEPS:
        return [f"plan must have at most {MAX_STEPS} steps, got {len(steps)}"]
    problems = _strangers("plan", data, _PLAN)
    problems += budget_problems("plan", data.get("budget"))
    if not isinstance(data.get("name", ""), str):
        problems.append(f"plan's name must be a text, got {type(data['name']).__name__}")
    steps = [plain(step) for step in steps]
    for number, step in enumerate(steps, 1):
        problems += step_problems(step, number, depth)
    return problems + _graph_problems(data.get("output"), steps)


def step_problems(step, number: int = 1, depth: int = 1) -> list[str]:
    """List what is wrong with one step, leaving out where it stands in a plan."""
    step = plain(step)
    if not isinstance(step, Mapping):
        return [f"step {number} must be an object, got {type(step).__name__}"]
    name = step.get("id")
    who = f"step {name!r}" if isinstance(name, str) else f"step {number}"
    problems = _strangers(who, step, _STEP)
    if not isinstance(name, str) or not _ID.fullmatch(name) or name == QUERY:
        problems.append(
            f"step {number} must have an id of letters, digits and -_. other than {QUERY!r}, "
            f"got {name!r}"
        )
    inputs = step.get("inputs", (QUERY,))
    if not isinstance(inputs, list | tuple) or not all(isinstance(i, str) for i in inputs):
        problems.append(f"{who} must have a list of ids as inputs, got {inputs!r}")
    elif not inputs:
        problems.append(f"{who} must have at least one input, got none")
    elif len(set(inputs)) < len(inputs):
        problems.append(f"{who} must read each input once, got {list(inputs)}")
    problems += budget_problems(who, step.get("budget"))
    problems += _primitive_problems(who, step, inputs, depth)
    return problems


def budget_problems(who: str, budget) -> list[str]:
    """List what is wrong with a budget."""
    from agentprim.workflow.plan import Budget  # a plan is checked before it is one

    budget = plain(budget)
    if budget is None:
        return []
    if not isinstance(budget, Mapping):
        return [f"{who} must have an object as budget, got {type(budget).__name__}"]
    return _invalid(f"budget of {who}", Budget, budget)


def plain(thing):
    """Turn a model of pydantic into plain data; leave everything else."""
    return thing.model_dump(exclude_none=True) if isinstance(thing, BaseModel) else thing


def _primitive_problems(who: str, step: Mapping, inputs, depth: int) -> list[str]:
    primitive = step.get("primitive")
    if not isinstance(primitive, str) or primitive not in PARAMETERS:
        return [f"{who} must have a primitive of {list(PARAMETERS)}, got {primitive!r}"]
    problems, given = [], plain(step.get("parameters", {}))
    if (primitive == "plan") != (step.get("plan") is not None):
        problems.append(f"{who} must have a plan if its primitive is 'plan', and only then")
    elif primitive == "plan":
        problems += [f"{who}: {one}" for one in plan_problems(step["plan"], depth + 1)]
    if not isinstance(given, Mapping):
        return [*problems, f"{who} must have an object as parameters, got {given!r}"]
    problems += _invalid(f"{who} ({primitive})", PARAMETERS[primitive], given)
    roles = given.get("roles")
    if isinstance(roles, Mapping) and primitive in ROLES:
        for role in roles:
            if role not in ROLES[primitive]:
                problems.append(
                    f"{who} must add to a role of {list(ROLES[primitive])}, got {role!r}"
                )
    keep, solvers = given.get("keep"), given.get("solvers", 3)
    if primitive == "voting" and isinstance(keep, int) and isinstance(solvers, int):
        if keep > solvers:
            problems.append(f"{who} must keep at most its {solvers} solvers, got {keep}")
    if isinstance(inputs, list | tuple) and QUERY not in inputs and not given.get("instruction"):
        problems.append(f"{who} must read {QUERY!r} or have an instruction, got neither")
    return problems


def _invalid(who: str, model: type[BaseModel], given: Mapping) -> list[str]:
    try:
        model.model_validate(dict(given))
    except ValidationError as error:
        found = []
        for one in error.errors(include_url=False):
            name = ".".join(map(str, one["loc"]))
            if one["type"] == "extra_forbidden":
                near = get_close_matches(name, model.model_fields, 1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                found.append(f"{who} must have known parameters, got {name!r}{hint}")
            else:
                found.append(f"{who}: {name} must be right, got {one['input']!r}: {one['msg']}")
        return found
    return []


def _strangers(who: str, data: Mapping, known: tuple[str, ...]) -> list[str]:
    found = [name for name in data if name not in known]
    return [f"{who} must have only {list(known)}, got {found}"] if found else []


def _graph_problems(output, steps: list) -> list[str]:
    """List what is wrong with how steps hang together."""
    problems, reads = [], {}
    for step in steps:
        name = step.get("id") if isinstance(step, Mapping) else None
        if not isinstance(name, str):
            continue
        if name in reads:
            problems.append(f"steps must have ids of their own, got {name!r} twice")
            continue
        inputs = step.get("inputs", (QUERY,))
        inputs = inputs if isinstance(inputs, list | tuple) else ()
        reads[name] = [i for i in inputs if isinstance(i, str) and i != QUERY]
    if not reads:
        return problems
    last = next(reversed(reads))
    output = last if output is None else output
    graph = Graph(reads)
    for name, inputs in reads.items():
        for one in inputs:
            if one == name:
                problems.append(f"step {name!r} must not read itself")
            elif one not in reads:
                problems.append(f"step {name!r} must read the query or a step, got {one!r}")
    for circle in graph.circles():
        if len(circle) > 1:
            problems.append(f"steps must not wait for each other, got {' -> '.join(circle)}")
    if not isinstance(output, str) or output not in reads:
        return [*problems, f"output must be the id of a step, got {output!r}"]
    if output not in graph.runnable():
        problems.append(f"output {output!r} must be reachable from the query, got a step before "
                        "it that can never run")  # fmt: skip
    needed = graph.before(output) | {output}
    idle = [name for name in reads if name not in needed]
    if idle:
        problems.append(f"steps must lead to the output {output!r}, got {idle} that do not")
    return problems
