"""What a tiny model says, alone or held by several processes; run under torchrun for the latter."""

import json
import os
import sys
from pathlib import Path

from agentprim import Agent, Decider, Engine, Review
from agentprim.decide import choose
from agentprim.engine import load


def sayings(folder: str, **placed) -> dict:
    """Let engines of one model read, hand over, think, draw and decide."""
    model, tokenizer = load.from_pretrained(folder, device="cpu", **placed)
    found = {}
    for latent in ("softmax", "realign"):
        engine = Engine(model, tokenizer, latent=latent, pool_tokens=8192, page_size=16)
        review = Review(engine, steps=4)
        found[latent] = review(["What is 3+4?", "Why?"], max_new_tokens=8)
    sender, receiver = Agent(engine, "You look."), Agent(engine, "You speak of it.")
    seen = sender.think("A red door.", inner="prefill")
    found["handed"] = receiver("Which?", context=[seen], max_new_tokens=8, temperature=1.0, seed=3)
    (decision,) = Decider(engine).ask([choose(["red", "green"], "which?")], seen.kv)
    found["odds"] = list(decision.probabilities.values())
    found["heads"] = engine.pool.layout.shapes[0].num_kv_heads
    return found | {"print": engine.shelf.fingerprint()}


if __name__ == "__main__":
    folder, out = sys.argv[1:]
    said = sayings(folder, tp_plan="auto")
    Path(out, os.environ["RANK"]).write_text(json.dumps(said))
