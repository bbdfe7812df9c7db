"""Rotate the stored keys of 4,096 tokens in place, 36 layers of 8 heads of 128 dims."""

import pytest

from agentprim_kernels.bench import CASES
from bench.pools import LAYERS, PROVIDERS


@pytest.fixture(scope="module")
def case():
    return CASES["rotate"](layers=LAYERS)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_rotate(measure_case, case, provider):
    measure_case(case, provider)


def test_rotate_on_one_thread(measure_case, case):
    measure_case(case, PROVIDERS[0], threads=1)
