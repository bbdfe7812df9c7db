"""What tiny models say, alone or held by several processes; run under torchrun for the latter."""

import json
import os
import sys
from pathlib import Path

from agentprim import Agent, Decider, Engine, Repair, Review
from agentprim.decide import choose
from agentprim.engine import load
from agentprim.trust.mass import attention_mass


def sayings(untied: str, tied: str, **placed) -> dict:
    """Let engines of two models read, hand over, think, draw, mend and decide."""
    model, tokenizer = load.from_pretrained(untied, **placed)
    found = {}
    for latent in ("softmax", "realign"):
        engine = Engine(model, tokenizer, latent=latent, pool_tokens=8192, page_size=16)
        found[latent] = Review(engine, steps=4)(["What is 3+4?", "Why?"], max_new_tokens=8)
    sender, receiver = Agent(engine, "You look."), Agent(engine, "You speak of it.")
    seen = sender.think("A red door, and a green one.", inner="prefill")
    asked = {"context": [seen], "max_new_tokens": 8}
    found["handed"] = receiver("Which?", temperature=1.0, seed=3, **asked)
    mended = receiver("Which?", join=Repair(share=0.4), **asked)
    found["mended"], found["recomputed"] = str(mended), mended.usage.recomputed
    found["odds"] = []
    for kv in (seen.kv, mended.kv):
        (decision,) = Decider(engine).ask([choose(["red", "green"], "which?")], kv)
        found["odds"] += decision.probabilities.values()
    found["mass"] = attention_mass(engine, receiver("Which?", **asked).kv, "So?").parts
    found["heads"] = engine.pool.layout.shapes[0].num_kv_heads
    found["print"] = engine.shelf.fingerprint()
    try:
        found["unseeded"] = receiver("Which?", temperature=1.0, **asked) and "drawn"
    except ValueError as error:
        found["unseeded"] = str(error)
    other = Engine(*load.from_pretrained(tied, **placed), pool_tokens=8192, page_size=16)
    found["tied"] = other.realigner.method, *Review(other, steps=4)(["Why?"], max_new_tokens=8)
    return found


if __name__ == "__main__":
    *folders, out = sys.argv[1:]
    said = sayings(*folders, tp_plan="auto")
    Path(out, os.environ["RANK"]).write_text(json.dumps(said))
