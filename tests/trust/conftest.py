"""Tiny engines with a tokenizer, and a cache folder of their own."""

import pytest

from agentprim import Engine, verify
from agentprim.engine.certificates import save
from agentprim.trust.measure import Task
from tests.support.tiny import build
from tests.support.tokenizer import tiny_tokenizer

# a character is a token here, so notes are long and the shortest prompt has 64
PLAN = [
    Task(index=0, senders=1, lengths=(64, 180), timed=True),
    Task(index=1, senders=1, lengths=(64, 180), append=False),
    Task(index=1, senders=2, lengths=(180,)),
]


@pytest.fixture(autouse=True)
def cache_home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def new_engine(seed=0, *, tokenizer=True, **options):
    model = build("llama", seed=seed, max_position_embeddings=4096, **options)
    return Engine(model, tiny_tokenizer() if tokenizer else None, pool_tokens=8192)


@pytest.fixture
def make_engine():
    """Return a function: a new tiny engine, the same for the same arguments."""
    return new_engine


@pytest.fixture(scope="session")
def measured(tmp_path_factory):
    """Measure once what many tests look at."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("measured")))
        return verify(new_engine(), plan=PLAN)


@pytest.fixture
def certified(measured):
    """Return a new engine with its certificate in place."""
    engine = new_engine()
    save(measured)
    return engine, measured


@pytest.fixture
def plan():
    return PLAN
