"""Every example runs, on the tiny model, and shows what its text says."""

import re
import runpy
import sys
from pathlib import Path

import pytest

from tests.support.saved import saved

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("model"))


@pytest.fixture
def play(folder, monkeypatch, capsys):
    def run(name):
        monkeypatch.setattr(sys, "argv", [name, folder])
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
        return capsys.readouterr().out

    return run


def test_three_ways_give_the_same_logits(play):
    lines = play("three_ways").splitlines()
    assert [line.split(" deltas")[0].strip() for line in lines] == [
        "lazy", "paged concat", "in place",
    ]  # fmt: skip
    deltas = [re.search(r"deltas (\[.*?\])", line)[1] for line in lines]
    assert deltas[0] != "[0, 0]"
    assert deltas[1:] == ["[0]", "[0, 0]"]
    assert len({re.search(r"next id +(\d+)", line)[1] for line in lines}) == 1
    assert all(float(line.split()[-1]) < 1e-4 for line in lines)


def test_a_joined_dense_cache_goes_into_an_existing_loop_and_so_does_a_paged_one(play):
    joined, paged = play("swap_into_hf").splitlines()
    assert joined.startswith("joined dense caches: '")
    assert paged.startswith("one paged cache:")


def test_a_handed_over_cache_is_reused_where_text_is_read_again(play):
    out = play("hand_over")
    costs = {
        name: [int(n) for n in numbers]
        for name, *numbers in re.findall(
            r"^(cache|text) +prefilled +(\d+) reused +(\d+) relocated +(\d+)$", out, re.M
        )
    }
    assert costs["cache"][0] < costs["text"][0]
    assert costs["cache"][2] > costs["text"][2] == 0


def test_no_example_is_left_out():
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {
        "three_ways", "swap_into_hf", "hand_over", "lite_workflow", "plan_graph",
    }  # fmt: skip


def test_a_team_is_routed_by_decisions_and_by_words(play):
    lines = play("lite_workflow").splitlines()
    assert lines[0].startswith("decisions: ") and any(one.startswith("words: ") for one in lines)
    assert any("screening" in one and "0 calls" in one for one in lines)
    assert any("review" in one for one in lines)


def test_a_graph_of_primitives_runs_over_caches_and_over_text(play):
    out = play("plan_graph")
    steps = re.findall(r"^(draft|doubts|facts|end) +done$", out, re.M)
    assert steps == ["draft", "doubts", "facts", "end"]
    over = dict(re.findall(r"(answer|over text): .*?(\w+ \d+|'.*')", out))
    kv, text = re.findall(r"prefilled (\d+)", out)
    assert int(kv) < int(text) and set(over) == {"answer", "over text"}
    assert len(re.findall(r"\d+ calls, score", out)) == 2
