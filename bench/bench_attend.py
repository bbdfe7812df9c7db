"""Decode: from one new token to 4,096 tokens at every layer, as one span or several, and dense."""

import pytest

from agentprim_kernels.bench import CASES
from agentprim_kernels.bench.cases import COMPILED
from bench.pools import PROVIDERS

LAYERS = 8
DENSE = ("torch SDPA", "torch SDPA, heads repeated", "torch eager", COMPILED)
OURS = PROVIDERS[0]


def case_of(spans: int):
    return CASES["attend"](layers=LAYERS, spans=spans)


@pytest.fixture(scope="module")
def one_span():
    return case_of(1)


@pytest.mark.parametrize("threads", [1, None], ids=["one thread", "all threads"])
@pytest.mark.parametrize("spans", [1, 2, 8, 64])
def test_attend(measure_case, one_span, spans, threads):
    against = {"one_span": one_span.work(OURS)} if spans > 1 else {}
    case = case_of(spans) if spans > 1 else one_span
    measure_case(case, OURS, threads, against=against, rounds=31)


@pytest.mark.parametrize("provider", DENSE)
@pytest.mark.parametrize("threads", [1, None], ids=["one thread", "all threads"])
def test_attend_dense(measure_case, one_span, provider, threads):
    against = {"spans": one_span.work(OURS)}
    measure_case(one_span, provider, threads, against=against)
