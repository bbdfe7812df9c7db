"""Materialize 4,096 tokens of 8 moved spans as a dense cache: gather, turn and write."""

import pytest

from agentprim_kernels.bench import CASES
from bench.pools import LAYERS, PROVIDERS


@pytest.fixture(scope="module")
def case():
    return CASES["materialize"](layers=LAYERS)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_materialize(measure_case, case, provider):
    measure_case(case, provider)


def test_materialize_on_one_thread(measure_case, case):
    measure_case(case, PROVIDERS[0], threads=1)
