"""Select half of 4,096 tokens, and turn each key to its new place.

Ascending tokens are what `kv.select` takes. In any order they lie alone: a piece is one row of one
head, 256 bytes in a place of memory of its own. What that costs is seen beside runs of 16, where a
piece is all that a page has of a head; the bytes are the same.
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


@pytest.mark.parametrize("run", [1, 16])
def test_select_runs(measure_case, run):
    measure_case(CASES["select"](layers=LAYERS, run=run), PROVIDERS[0])
