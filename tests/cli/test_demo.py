"""`agentprim demo`: seven ways to answer, and what text cost against KV, computed."""

import json

import pytest
from typer.testing import CliRunner

from agentprim.cli.app import app
from agentprim.cli.demo import seen
from agentprim.cli.table import shorten
from tests.cli.conftest import QUESTION

WAYS = [("single", ""), *((m, c) for m in ("review", "voting", "planning") for c in ("kv", "text"))]


@pytest.fixture(scope="module")
def record(folder, tmp_path_factory):
    path = tmp_path_factory.mktemp("demo") / "demo.json"
    options = ("--steps", "3", "--inner-tokens", "5", "--max-new-tokens", "4", "--json", str(path))
    done = CliRunner().invoke(app, ["demo", QUESTION, "--model", folder, *options])
    assert done.exit_code == 0, done.stderr
    return done, json.loads(path.read_text())


def test_every_primitive_answers_over_kv_and_over_text_beside_a_single_agent(record):
    done, data = record
    assert [(row["method"], row["comm"]) for row in data["rows"]] == WAYS
    for row in data["rows"]:
        assert (row["total"]["latent"] > 0) == (row["comm"] == "kv")
        assert row["seconds"] > 0
    shown = [line.split() for line in done.stdout.splitlines()]
    for row in data["rows"]:
        name = [part for part in (row["method"], row["comm"]) if part]
        line = next(line for line in shown if line[: len(name)] == name)
        assert str(row["total"]["prefilled"]) in [cell.replace(",", "") for cell in line]


def test_the_limits_hold_and_progress_names_the_role_at_work(record):
    done, data = record
    by_way = {(row["method"], row["comm"]): row["total"] for row in data["rows"]}
    assert by_way["planning", "kv"]["latent"] == 3 * 3
    assert by_way["planning", "kv"]["decoded"] <= 4
    assert by_way["planning", "text"]["decoded"] <= 3 * 5 + 4
    assert "planning over kv: executor answers" in done.stderr


def test_the_closing_sentence_is_computed_from_the_rows():
    def row(comm, decoded, latent, seconds):
        total = {"decoded": decoded, "latent": latent, "prefilled": 1, "reused": 1}
        return {"comm": comm, "seconds": seconds, "total": total}

    rows = [
        row("", 9, 0, 1.0),
        row("kv", 10, 7, 4.0),
        row("kv", 10, 8, 4.0),
        row("text", 50, 0, 12.0),
    ]
    assert seen(rows) == (
        "Over KV the primitives decoded 20 tokens and took 15 latent steps in 8 s; over text they "
        "decoded 50, 2.5x as many, in 12 s, 1.5x as long."
    )


def test_answers_are_cut_to_one_line_and_white_space_alone_can_be_seen():
    assert shorten("one\n two  three", 20) == "one two three"
    assert shorten("one two three", 10) == "one two..."
    assert shorten("\n\n", 20) == repr("\n\n")
