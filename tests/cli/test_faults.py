"""Faults: one line on stderr that says what must be otherwise, and an exit code."""

import subprocess
import sys

import pytest

from agentprim.cli import run as run_module
from tests.cli.conftest import QUESTION

USAGE = [
    (("run", "  "), "question must have at least one character"),
    (("run", QUESTION, "--model", "no/such folder"), "model must be a Hugging Face name or"),
    (("run", QUESTION, "--max-new-tokens", "0"), "max_new_tokens must be at least 1, got 0"),
    (("run", QUESTION, "--comm", "smoke"), "'--comm'"),
    (("run", QUESTION, "--colour", "red"), "--colour"),
    (("run",), "question"),
    (("sing",), "sing"),
    (("--wrong",), "--wrong"),
    (("demo", "--steps", "many"), "--steps"),
]
TINY = [
    (("--rounds", "0"), "rounds must be at least 1, got 0"),
    (("--steps", "-1"), "steps must be at least 0, got -1"),
    (("--comm", "text", "--inner", "latent"), "inner must be 'text' with comm='text'"),
    (("--solvers", "2"), "solvers must be used with --primitive voting, got review"),
    (("--primitive", "single", "--comm", "text"), "comm must be used with --primitive review"),
    (("--comm", "text", "--no-rotate"), "rotate must be left on with comm='text'"),
    (("--comm", "text", "--join", "append"), "join must be left out with comm='text'"),
    (("--primitive", "single", "--join", "repair"), "join must be used with --primitive review"),
    (("--join", "glue"), "'--join'"),
]


def one_line(done, code: int, words: str) -> None:
    assert done.exit_code == code
    lines = [line for line in done.stderr.splitlines() if line.startswith("agentprim: ")]
    assert len(lines) == 1, done.stderr
    assert words in lines[0]
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(("arguments", "words"), USAGE, ids=lambda v: str(v)[:24])
def test_a_wrong_call_ends_with_one_line_and_2(call, arguments, words):
    done = call(*arguments)
    one_line(done, 2, words)
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(("options", "words"), TINY, ids=lambda v: str(v)[:24])
def test_an_option_that_does_not_fit_ends_with_one_line_and_2(call, folder, options, words):
    one_line(call("run", QUESTION, "--model", folder, *options), 2, words)


def test_a_pool_that_is_too_small_ends_with_one_line_and_1(call, folder):
    done = call("run", QUESTION, "--model", folder, "--pool-tokens", "32")
    one_line(done, 1, "pages but only")


def test_a_trace_that_cannot_be_written_is_told_before_a_model_is_loaded(
    call, tmp_path, monkeypatch
):
    monkeypatch.setattr(run_module, "load", lambda *_: pytest.fail("loaded a model"))
    done = call("run", QUESTION, "--trace", str(tmp_path / "absent" / "trace.jsonl"))
    one_line(done, 1, "absent")


def test_debug_shows_where(call, folder):
    done = call("run", QUESTION, "--model", folder, "--rounds", "0", "--debug")
    assert isinstance(done.exception, ValueError)


def test_the_module_runs_as_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "agentprim", "run", ""], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr == "agentprim: question must have at least one character, got an empty one\n"
