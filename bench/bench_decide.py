"""A decision on 2,048 cached tokens of an artifact, against reading its text again.

SmolLM2-135M, fp32, one thread. The short question has at most 16 tokens with its options, the long
one at most 48; the turn of the chat template comes on top. Reading the text again is only that: the
question itself is left out of it.
"""

import pytest
import torch

import agentprim as ap
from agentprim.decide import judge
from bench import hugging_face
from bench.conftest import threads_of

TOKENS, ROUNDS = 2048, 3
SHORT, LONG = judge("Is every sum in it correct?"), judge(
    "Does the list hold a price for each thing that the order names, with nothing counted twice "
    "and nothing left out, and does the total agree with the single prices?"
)  # fmt: skip


@pytest.fixture(scope="module")
def engine():
    return ap.Engine.from_pretrained("smollm2", pool_tokens=16384)


@pytest.mark.parametrize(
    ("question", "most", "wanted"), [(SHORT, 16, 20), (LONG, 48, 10)], ids=["short", "long"]
)
def test_decide(measure, engine, question, most, wanted):
    tokens = len(engine.encode(question.prompt)) + sum(
        len(engine.encode(o)) for o in question.options
    )
    assert tokens <= most
    text = engine.encode(" ".join(f"item {i} costs {i * 7 % 19} coins." for i in range(400)))
    artifact, decider = engine.prefill(text[:TOKENS]), ap.Decider(engine)
    turn = decider.backend._chat.turn([{"role": "user", "content": question.prompt}])

    def check():
        """Hold the decision to plain forward passes over all of it."""
        want = []
        for option in question.options:
            reply = engine.encode(option)
            ids = torch.tensor([[*artifact.ids, *turn, *reply]])
            logits = engine.model(ids, logits_to_keep=len(reply) + 1).logits[0]
            lines = torch.log_softmax(logits.double(), -1)
            said = sum(float(lines[i, token]) for i, token in enumerate(reply))
            want.append(said + float(lines[-1, decider.backend._ends].logsumexp(0)))
        have = decider.ask([question], artifact)[0]
        torch.testing.assert_close(
            torch.tensor(list(have.log_probs.values())), torch.tensor(want), rtol=0, atol=1e-2
        )

    with threads_of(1), torch.no_grad():
        found = measure(
            lambda: decider.ask([question], artifact), check=check, rounds=ROUNDS, warmup=1,
            against={"reading": lambda: hugging_face.read(engine.model, artifact.ids)},
            tokens=TOKENS, question_tokens=tokens, threads=1,
        )  # fmt: skip
    ratio = found["reading"] / found["work"]
    assert ratio >= wanted, (
        f"a decision came {ratio:.1f}x sooner than reading again, {wanted}x was wanted; on a busy "
        "machine this says nothing"
    )
