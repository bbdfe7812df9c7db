"""Experts that are routed and screened by bounded decisions, against the same team in words.

python examples/lite_workflow.py [model]
"""

import sys

import agentprim as ap
from agentprim.workflow.lite import Budget, Expert
from agentprim.workflow.lite.account import lines, savings

TASK = (
    "The bus leaves at 14:10 and needs 35 minutes to the station. The train leaves at 14:50. "
    "How many minutes are left at the station?"
)


def main(model: str = "smollm2") -> None:
    engine = ap.Engine.from_pretrained(model, pool_tokens=16384)
    solver = ap.Agent(engine, "Solve the task in two short sentences.", name="solver")
    checker = ap.Agent(engine, "Check the numbers and give the final answer.", name="checker")
    reviewer = ap.Agent(engine, "Review work. Say exactly what is wrong.", name="reviewer")
    experts = [
        Expert(name="solver", agent=solver, duty="solves the task",
               criterion="Is the answer to the task correct?"),
        Expert(name="checker", agent=checker, duty="checks what was found"),
    ]  # fmt: skip
    common = {"budget": Budget(calls=5), "repairs": 1, "max_new_tokens": 48, "review_tokens": 24}
    lite = ap.LiteWorkflow(experts, ap.Decider(engine), reviewer, **common)
    control = ap.LiteWorkflow(experts, None, reviewer, router="llm", screening="llm", **common)

    outs = {"decisions": lite(TASK), "words": control(TASK)}
    for name, out in outs.items():
        steps = [e.detail["chosen"] for e in out.trace if e.kind == "route"]
        print(f"{name}: {' > '.join(steps)}, ended by {out.finish}: {' '.join(out.split())}")
        for line in lines(out.usage):
            print(
                f"  {line.activity:10} {line.calls} calls, {line.decisions} decisions, "
                f"{line.tokens} generative tokens, {line.decided} decision tokens"
            )
    saved = savings([outs["decisions"]], [outs["words"]])
    print(f"generative tokens saved: {saved.tokens:.0%}" if saved.tokens is not None else "")


if __name__ == "__main__":
    main(*sys.argv[1:])
