"""Decode grows with the number of tokens and with nothing else.

As many layers as make the same bytes at every length, more than the caches hold, so that the time
of a layer is a line through zero if only tokens count.
"""

import pytest

from agentprim_kernels.bench import CASES, seconds_of
from bench.pools import PROVIDERS

ALL = 32768
TOKENS = (1024, 4096, 16384, ALL)


@pytest.mark.parametrize("spans", [8])
def test_decode_is_linear(measure_case, spans):
    cases = [CASES["attend"](layers=ALL // n, tokens=n, spans=spans) for n in TOKENS]
    works = [case.work(PROVIDERS[0]) for case in cases]
    layers = [took * n / ALL for took, n in zip(seconds_of(*works, rounds=11), TOKENS, strict=True)]
    slope = (layers[-1] - layers[0]) / (TOKENS[-1] - TOKENS[0])  # seconds a token
    measure_case(
        cases[-1], PROVIDERS[0], rounds=5, tokens_of_each=TOKENS, seconds_of_each=layers,
        ms_per_1000_tokens=round(slope * 1e6, 4), ms_of_no_token=round(
            (layers[0] - slope * TOKENS[0]) * 1e3, 4
        ),
    )  # fmt: skip
