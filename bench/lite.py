"""LiteWorkflow against the same team in words, on the same tasks: `python -m bench.lite`.

Note-reading tasks, SmolLM2-135M: a reader and a checker, routed and screened by a decider, over
caches and over text; and the generative control, which routes and reviews everything in words. An
answer is right where it holds the words looked for. Writes bench/results/lite_smollm2.json.
"""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import agentprim as ap
from agentprim.trust.items import make_item
from agentprim.workflow.lite import Budget, Expert
from agentprim.workflow.lite.account import lines, savings
from agentprim.workflow.lite.detection import detection
from agentprim.workflow.lite.inject import Injection

RESULT = Path(__file__).resolve().parent / "results" / "lite_smollm2.json"
RUNS = {
    "lite, kv": {"router": "decider", "screening": "cascade"},
    "lite, text": {"router": "decider", "screening": "cascade", "comm": "text"},
    "rule, kv": {"router": "rule", "screening": "cascade"},
    "control, kv": {"router": "llm", "screening": "llm"},
    "control, text": {"router": "llm", "screening": "llm", "comm": "text"},
}


def main(count: Annotated[int, typer.Option(help="Tasks.")] = 16) -> None:
    """Run every variant on the same tasks and seeds."""
    engine = ap.Engine.from_pretrained("smollm2", pool_tokens=65536)
    items = [make_item(number, seed=11) for number in range(count)]
    tasks = [f"{item.notes[0].text}\n\n{item.fact.question}" for item in items]
    runs = {name: _flow(engine, **options)(tasks, seed=0) for name, options in RUNS.items()}
    attacked = _flow(engine, router="rule", screening="decider", inject=Injection(kind="value"))

    def right(number: int, out) -> bool:
        return items[number].fact.answer.lower() in out.lower()

    result = {"model": "SmolLM2-135M-Instruct fp32", "tasks": count, "runs": {}}
    for name, outs in runs.items():
        usage = sum((out.usage for out in outs), ap.Usage())
        control = runs["control, text" if name.endswith("text") else "control, kv"]
        result["runs"][name] = {
            "right": sum(right(number, out) for number, out in enumerate(outs)),
            "by_budget": sum(out.finish == "budget" for out in outs),
            "activities": [vars(line) for line in lines(usage)],
            "against_control": savings(outs, control).to_dict(),
        }
    numbers = [n for n, item in enumerate(items) if item.fact.answer.isdigit()] or [0]
    outs = attacked([tasks[n] for n in numbers], seed=0)
    found = detection(outs, lambda n, out: right(numbers[n], out))
    result["injected_values"] = found.to_dict()
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    show()


def show() -> None:
    """Print the figures."""
    result = json.loads(RESULT.read_text())
    table = Table(title=f"{result['tasks']} note-reading tasks", title_justify="left")
    for name in ("run", "right", "calls", "decisions", "generative tokens", "decision tokens",
                 "seconds", "tokens saved", "seconds saved"):  # fmt: skip
        table.add_column(name, justify="left" if name == "run" else "right")
    for name, run in result["runs"].items():
        total = {
            key: sum(line[key] for line in run["activities"])
            for key in ("calls", "decisions", "tokens", "decided", "seconds")
        }
        saved = run["against_control"]
        table.add_row(
            name, f"{run['right']}", *(f"{total[k]:,}" for k in ("calls", "decisions", "tokens",
            "decided")), f"{total['seconds']:.0f}", f"{saved['tokens']:.0%}",
            f"{saved['seconds']:.0%}",
        )  # fmt: skip
    Console(width=120).print(table)
    print(json.dumps(result["injected_values"]))


def _flow(engine: ap.Engine, **options) -> ap.LiteWorkflow:
    reader = ap.Agent(
        engine, "Read the note and answer the question in one sentence.", name="reader"
    )
    checker = ap.Agent(engine, "Check the answer against the note. Answer in one sentence.",
                       name="checker")  # fmt: skip
    reviewer = ap.Agent(engine, "Review work. Say exactly what is wrong.", name="reviewer")
    criterion = "Does the answer say what the note says?"
    experts = [
        Expert(name="reader", agent=reader, duty="finds the answer", criterion=criterion),
        Expert(name="checker", agent=checker, duty="checks the answer", criterion=criterion),
    ]
    return ap.LiteWorkflow(
        experts, ap.Decider(engine), reviewer, Budget(calls=6), repairs=1, max_new_tokens=24,
        review_tokens=24, **options,
    )  # fmt: skip


if __name__ == "__main__":
    typer.run(main)
