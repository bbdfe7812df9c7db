"""Put a sender's keys behind a receiver's in three ways, and get the same logits from each.

python examples/three_ways.py [model]
"""

import sys

import agentprim as ap


def main(model: str = "smollm2") -> None:
    engine = ap.Engine.from_pretrained(model, pool_tokens=4096)
    receiver = engine.prefill("You answer from the notes. ")
    sender = engine.prefill("Note: the spare key lies under the blue flower pot. ")
    question = "Where is the spare key?"

    def show(way: str, kv: ap.KV) -> None:
        logits = engine.forward(question, kv)
        seen.append(logits)
        gap = float((logits - seen[0]).abs().max())
        deltas, best = [span.delta for span in kv.spans], int(logits[-1].argmax())
        print(f"{way:13} deltas {deltas!s:8} next id {best:6} differs by at most {gap:.1e}")

    seen = []

    # 1. lazy: a join is a list of spans; keys stay, the query is turned once per span
    lazy = ap.join([receiver, sender])
    show("lazy", lazy)

    # 2. paged concat: gather, rotate and write into private pages, in one pass
    show("paged concat", lazy.materialize())

    # 3. in place: rotate the stored keys, which nobody else may see then
    moved = sender.moved(len(receiver))
    lazy.release()
    sender.release()
    moved.rotate_()
    show("in place", ap.join([receiver, moved]))


if __name__ == "__main__":
    main(*sys.argv[1:])
