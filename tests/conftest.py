"""Options and defaults of the whole suite."""

import pytest
import torch
from hypothesis import settings

from agentprim.cache.group import build_groups
from agentprim_kernels import native

# two cores shared with others: a slow example is no fault
settings.register_profile("agentprim", deadline=None, max_examples=50)
settings.load_profile("agentprim")


def pytest_addoption(parser):
    parser.addoption(
        "--require-native",
        action="store_true",
        help="fail, instead of skipping, tests of the compiled module where it is not built",
    )


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def pools_begin_as_garbage(monkeypatch):
    """Fill new pools with NaN: what was never written must not be read, in no test."""

    def filled(*args):
        groups = build_groups(*args)
        for group in groups:
            group.k_cache.fill_(torch.nan)
            group.v_cache.fill_(torch.nan)
        return groups

    monkeypatch.setattr("agentprim.cache.pool.build_groups", filled)


@pytest.fixture(scope="session")
def compiled(request):
    """Return the compiled module; skip without it, or fail under --require-native."""
    if native.available():
        return native.module()
    if request.config.getoption("--require-native"):
        pytest.fail(native.why_not())
    return pytest.skip(native.why_not())
