"""The command line, called in this process on a tiny model that was saved to a folder."""

import pytest
from typer.testing import CliRunner

from agentprim import Engine
from agentprim.cli.app import app
from tests.support.saved import saved

QUESTION = "How many legs has a spider?"


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="session")
def engine(folder):
    return Engine.from_pretrained(folder, pool_tokens=8192)


@pytest.fixture
def call():
    """Return a function that runs a command and gives its exit code, stdout and stderr."""

    def run(*arguments: str):
        return CliRunner().invoke(app, list(arguments))

    return run
