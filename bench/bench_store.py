"""Store the keys and values of 4,096 tokens, given in Hugging Face's layout."""

import pytest

from agentprim_kernels.bench import CASES
from bench.pools import LAYERS, PROVIDERS


@pytest.fixture(scope="module")
def case():
    return CASES["store"](layers=LAYERS)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_store(measure_case, case, provider):
    measure_case(case, provider)


def test_store_on_one_thread(measure_case, case):
    measure_case(case, PROVIDERS[0], threads=1)
