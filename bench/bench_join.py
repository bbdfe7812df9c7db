"""Join costs the same for 512 and for 32,768 tokens; moving the keys does not.

A model of three tiny layers, since a join knows nothing of the size of a key.
"""

import pytest

import agentprim as ap
from agentprim_kernels import native
from agentprim_kernels.bench import seconds_of
from tests.support.keys import some_ids
from tests.support.oracle import blocked_logits
from tests.support.tiny import build

TOKENS = (512, 2048, 8192, 32768)
GROWTH, TRIES = 1.05, 5


@pytest.fixture(scope="module")
def engine():
    sizes = {"max_position_embeddings": 65536}
    return ap.Engine(build("llama", **sizes), pool_tokens=3 * max(TOKENS))


def test_join(measure, engine):
    system, longest = (engine.prefill(some_ids(n, seed=n)[0].tolist()) for n in (64, max(TOKENS)))
    parts = [longest[:tokens] for tokens in TOKENS]

    def check():
        query = [5, 6, 7]
        with ap.join([system, parts[0]]) as joined:
            have = engine.forward(query, joined)
        twin = build("llama", max_position_embeddings=65536)
        want = blocked_logits(twin, [system.ids, parts[0].ids], query)
        assert (have - want).abs().max() < 1e-3

    def join(part):
        return lambda: ap.join([system, part]).release()

    def copy(part):
        def work():
            with ap.join([system, part]) as joined:
                joined.materialize().release()

        return work

    for _ in range(TRIES):  # a growth is one only if it stays
        joins = seconds_of(*map(join, parts), rounds=500)
        growth = max(joins) / joins[0]
        if growth <= GROWTH:
            break
    copies = seconds_of(*map(copy, parts), rounds=10)
    measure(
        join(longest), check=check, rounds=500, tokens=max(TOKENS),
        tokens_of_each=TOKENS, seconds_of_each=joins, materialize_seconds_of_each=copies,
        growth=round(growth, 3), long_over_short=round(joins[-1] / joins[0], 3),
        materialize_long_over_short=round(copies[-1] / copies[0], 2),
        join_sooner_than_materialize=round(copies[-1] / joins[-1], 1),
    )  # fmt: skip
    assert growth <= GROWTH, f"joins of {TOKENS} tokens took {joins} s"
    assert native.available(), native.why_not()
