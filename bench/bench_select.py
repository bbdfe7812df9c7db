"""Select every second of 4,096 tokens, one by one or in runs, and turn each key to its new place.

Tokens that lie alone are taken in pieces of one row of one head, 256 bytes: what bounds that is
seen in runs of 16, where a piece is a whole page of a head, and the bytes are the same.
"""

import pytest

from agentprim_kernels.bench import CASES
from bench.pools import LAYERS, PROVIDERS


@pytest.fixture(scope="module")
def case():
    return CASES["select"](layers=LAYERS)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_select(measure_case, case, provider):
    measure_case(case, provider)


def test_select_on_one_thread(measure_case, case):
    measure_case(case, PROVIDERS[0], threads=1)


@pytest.mark.parametrize("run", [4, 16])
def test_select_runs(measure_case, run):
    measure_case(CASES["select"](layers=LAYERS, run=run), PROVIDERS[0])
