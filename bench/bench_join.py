"""Join costs the same for 512 and for 8,192 tokens; moving the keys does not."""

import pytest

import agentprim as ap
from agentprim_kernels import native
from bench.conftest import seconds_of
from tests.support.keys import some_ids
from tests.support.oracle import blocked_logits
from tests.support.tiny import build

SHORT, LONG = 512, 8192


@pytest.fixture(scope="module")
def engine():
    sizes = {"max_position_embeddings": 32768}
    return ap.Engine(build("llama", **sizes), pool_tokens=65536)


def test_join(measure, engine):
    system, short, long = (
        engine.prefill(some_ids(n, seed=n)[0].tolist()) for n in (64, SHORT, LONG)
    )

    def check():
        query = [5, 6, 7]
        with ap.join([system, short]) as joined:
            have = engine.forward(query, joined)
        twin = build("llama", max_position_embeddings=32768)
        want = blocked_logits(twin, [system.ids, short.ids], query)
        assert (have - want).abs().max() < 1e-3

    def join(part):
        return lambda: ap.join([system, part]).release()

    def copy(part):
        def work():
            joined = ap.join([system, part])
            joined.materialize().release()
            joined.release()

        return work

    joins = seconds_of(join(short), join(long), rounds=200)
    copies = seconds_of(copy(short), copy(long), rounds=20)
    measure(
        join(long), check=check, rounds=200, tokens=LONG,
        seconds_short=joins[0], long_over_short=round(joins[1] / joins[0], 2),
        materialize_long_over_short=round(copies[1] / copies[0], 2),
        join_sooner_than_materialize=round(copies[1] / joins[1], 1),
    )  # fmt: skip
    assert joins[1] < 2 * joins[0], f"join of {LONG} tokens took {joins[1] / joins[0]:.2f}x"
    assert native.available(), native.why_not()
