"""Batches whose rows differ: in length, in when they end, and in the plan that they follow.

SmolLM2-135M, fp32, one thread. Each is held against the plain way: rows padded to the longest one,
rows kept until the last one ends, plans one after the other.
"""

import pytest
import torch

import agentprim as ap
from agentprim.engine import decode
from agentprim.engine.read import read
from agentprim.organizer.builtin import builtin
from agentprim.organizer.proposal import Proposal
from bench.conftest import threads_of

LENGTHS = [40 + 24 * row for row in range(8)]
ENDS = [4 + 3 * row for row in range(16)]
PLANS = 8
OPTIONS = {"steps": 4, "inner_tokens": 8}


@pytest.fixture(scope="module")
def engine():
    with threads_of(1):
        yield ap.Engine.from_pretrained("smollm2", pool_tokens=65536)


def test_ragged_prefill(measure, engine):
    text = engine.encode(" ".join(f"item {i} costs {i * 7 % 19} coins." for i in range(60)))
    ids = [text[:length] for length in LENGTHS]
    kvs = [engine.prefill("You read lists.")] * len(ids)

    def check():
        for have, want in zip(engine.prefill(ids, kvs), read(engine, ids, kvs)[0], strict=True):
            torch.testing.assert_close(have.hidden, want.hidden, rtol=1e-3, atol=1e-3)

    found = measure(
        lambda: engine.prefill(ids, kvs), check=check, rounds=3, warmup=0,
        against={"padded": lambda: read(engine, ids, kvs)}, threads=1,
        padding=1 - sum(LENGTHS) / (max(LENGTHS) * len(LENGTHS)),
    )  # fmt: skip
    assert found["padded"] / found["work"] >= 1.3


def test_rows_that_end(measure, engine, monkeypatch):
    end = decode.eos_ids(engine)[0]

    def until(count):
        mask = torch.zeros(engine.vocab_size, dtype=torch.bool)
        mask[end] = True
        return lambda said: mask if len(said) >= count else ~mask

    def work(share=decode.DROP):
        monkeypatch.setattr(decode, "DROP", share)
        constraints = [until(count) for count in ENDS]
        return engine.generate(
            ["Count to a hundred."] * len(ENDS), max_new_tokens=96, constraint=constraints
        )

    def check():
        found = work()
        assert [len(out.ids) - 1 for out in found] == ENDS and found == work(1.0)

    found = measure(
        work, check=check, rounds=3, warmup=0, threads=1, needed=sum(ENDS), rows=len(ENDS),
        against={"until the last ends": lambda: work(1.0)},
    )  # fmt: skip
    assert found["until the last ends"] / found["work"] >= 1.05


def test_plans_side_by_side(measure, engine):
    queries = [f"What is {number} times 7?" for number in range(PLANS)]
    plans = dict(zip(queries, [entry.plan for entry in builtin()[::5]], strict=False))

    class Fixed:
        def propose(self, query):
            return Proposal(plan=plans[query], source="fixed")

    system = ap.System(engine, organizer=Fixed(), **OPTIONS)
    each = lambda: [system(query, max_new_tokens=8) for query in queries]  # noqa: E731
    every = lambda: system(queries, max_new_tokens=8)  # noqa: E731

    def check():
        assert [out.usage.roles.keys() for out in every()] == [
            out.usage.roles.keys() for out in each()
        ]

    found = measure(
        every, check=check, rounds=1, warmup=0, against={"one by one": each}, threads=1,
        plans=len(queries),
    )  # fmt: skip
    assert found["one by one"] / found["work"] >= 1.5
