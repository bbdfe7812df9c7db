"""Run a graph of primitives on shared caches: two views of a draft, and an answer on both.

python examples/plan_graph.py [model]
"""

import sys

import agentprim as ap

PLAN = {
    "steps": [
        {"id": "draft", "primitive": "solve"},
        {"id": "doubts", "primitive": "solve", "inputs": ["query", "draft"],
         "parameters": {"instruction": "What may be wrong?"}},
        {"id": "facts", "primitive": "solve", "inputs": ["query", "draft"],
         "parameters": {"instruction": "Which facts matter?"}},
        {"id": "end", "primitive": "solve", "inputs": ["query", "doubts", "facts"]},
    ],
    "budget": {"calls": 6},
}  # fmt: skip


def main(model: str = "smollm2") -> None:
    engine = ap.Engine.from_pretrained(model, pool_tokens=8192)
    system = ap.System(engine, ap.Plan.from_dict(PLAN), steps=4)
    out = system("How many legs has a spider?", max_new_tokens=16)
    print(f"answer: {str(out)!r}")
    for event in out.trace:
        if event.kind == "step":
            print(f"{event.role:8} {event.detail['status']}")
    cost = out.usage.total
    print(f"prefilled {cost.prefilled} reused {cost.reused} latent {cost.latent}")

    # the same graph over text: every hand-over is decoded, and read again
    text = ap.System(engine, PLAN, comm="text", inner_tokens=8)
    cost = text("How many legs has a spider?", max_new_tokens=16).usage.total
    print(f"over text: prefilled {cost.prefilled} decoded {cost.decoded}")

    # a structure of the knowledge pool instead
    pool = ap.KnowledgePool.builtin()
    for entry, score in pool.search("How many legs has a spider?", 2):
        print(f"{entry.id}: {entry.cost.calls} calls, score {score:.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
