"""`agentprim eval` and `agentprim report`, from names to tables."""

import json

import pytest
from typer.testing import CliRunner

from agentprim.cli.app import app
from agentprim.cli.evaluate import Rates, settle
from agentprim.evaluate.find import REGISTRY
from agentprim.evaluate.methods import methods
from agentprim.evaluate.run import Step
from agentprim.evaluate.setting import PRESETS, Setting, find_data
from agentprim.evaluate.tasks import tasks
from agentprim.trust.journal import read


@pytest.fixture
def call():
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def test_a_run_and_its_report(call, folder, tmp_path):
    runs, out = tmp_path / "x", tmp_path / "report"
    arguments = ("eval", "--model", folder, "--tasks", "notes", "--methods", "single,reader_kv",
                 "--limit", "2", "--batch", "2", "--max-new-tokens", "3", "--inner", "prefill",
                 "--pool-tokens", "8192", "--out", str(runs))  # fmt: skip
    done = call(*arguments)
    assert done.exit_code == 0, done.stderr
    assert str(runs) in done.stdout and "4 of 4" in done.stderr
    about = json.loads((runs / "notes.single.jsonl").read_text().splitlines()[0])["about"]
    assert about["limits"] == {"max_new_tokens": 3, "steps": 40, "inner": "prefill",
                               "temperature": 0.0, "top_p": 1.0}  # fmt: skip
    again = call(*arguments)
    assert again.exit_code == 0 and "4 of 4 items are there" in again.stderr
    other = call(*arguments, "--seed", "3")
    assert other.exit_code == 2 and other.stderr.count("\nagentprim: ") == 1
    assert "must have the header of this run" in other.stderr
    done = call("report", str(runs), "--out", str(out), "--no-plots")
    assert done.exit_code == 0, done.stderr
    text = (out / "report.md").read_text()
    assert "| reader_kv |" in text and (out / "report.html").exists()


def test_a_team_of_two_models_and_its_header(call, folder, other_folder, tmp_path):
    arguments = ("eval", "--model", folder, "--tasks", "notes", "--methods", "lite_abb-2,single",
                 "--limit", "2", "--max-new-tokens", "2", "--pool-tokens", "8192")  # fmt: skip
    done = call(*arguments, "--expert-model", other_folder, "--out", str(tmp_path / "x"))
    assert done.exit_code == 0, done.stderr
    assert "Loading weights" not in done.stderr
    for path in (tmp_path / "x").glob("*.jsonl"):
        about, rows = read(path)
        model = about["model"]
        assert (model["name"], model["expert"]["name"]) == (folder, other_folder)
        assert (model["class"], model["expert"]["class"]) == (
            "LlamaForCausalLM",
            "Qwen3ForCausalLM",
        )
        assert len(rows) == 2 and not any("failed" in row for row in rows.values())
    done = call("report", str(tmp_path / "x"), "--out", str(tmp_path / "r"), "--no-plots")
    assert f"experts B: {other_folder}" in (tmp_path / "r" / "report.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tasks", "nothing", "--methods", "single"], "task must be one of"),
        (["--tasks", "notes", "--methods", "nothing"], "method must be one of"),
        (
            ["--tasks", "notes", "--methods", "lite,lite_aba,lite_abb"],
            "expert_model must be given for lite_aba, lite_abb, got none",
        ),
        (  # said before data are loaded, which are none here
            "--tasks gsm8k --data gsm8k=/dev/null --methods single,lite --expert-model /b".split(),
            "expert_model must have a method that takes one, got single, lite",
        ),
        (
            ["--tasks", "gsm8k", "--data", "gsm8k=/dev/null", "--methods", "lite_aba"],
            "expert_model must be given for lite_aba, got none",
        ),
        (["--tasks", "notes"], "methods must have names without a preset"),
        (["--preset", "third"], "preset must be one of primitives, lite"),
        (["--tasks", "notes,notes", "--methods", "single"], "each once"),
        (["--tasks", "notes", "--methods", "single", "--inner", "loud"], "inner must be"),
        (["--tasks", "notes", "--methods", "single", "--data", "/no/such"], "data must be"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_before_a_model_is_loaded(
    call, tmp_path, arguments, message
):
    done = call("eval", "--model", "/no/model", "--out", str(tmp_path / "x"), *arguments)
    assert done.exit_code == 2 and message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1 and not (tmp_path / "x").exists()


def test_the_list_names_every_task_and_method(call):
    done = call("eval", "--list")
    names = done.stdout.split()
    assert done.exit_code == 0
    known = [*tasks(), *methods(), "reader_text", "reader_kv"]
    assert set(known) <= set(names)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_name_what_is_there(name):
    for task in PRESETS[name].tasks:
        assert REGISTRY.task(task).name == task
    for method in PRESETS[name].methods:
        assert REGISTRY.method(method).name == method


def test_the_second_papers_protocol_is_150_items_with_seed_42_and_options_change_it():
    setting = settle("lite", {"limit": None, "batch": 4}, {"steps": 10}, [])
    assert (setting.limit, setting.seed, setting.batch, setting.limits.steps) == (150, 42, 4, 10)
    assert setting.limits.max_new_tokens == PRESETS["lite"].limits.max_new_tokens


def test_data_are_found_in_a_folder_by_the_names_of_tasks(tmp_path):
    for name in ("gsm8k_test.jsonl", "humanevalplus.jsonl.gz", "math500.jsonl", "other.txt"):
        (tmp_path / name).write_text("")
    found = find_data([str(tmp_path)], ("gsm8k", "humaneval_plus", "notes"))
    assert {k: p.name for k, p in found.items()} == {
        "gsm8k": "gsm8k_test.jsonl", "humaneval_plus": "humanevalplus.jsonl.gz",
    }  # fmt: skip
    other = tmp_path / "other.txt"
    assert find_data([f"gsm8k={other}", str(tmp_path)], ("gsm8k",)) == {"gsm8k": other}
    with pytest.raises(ValueError, match="must name tasks of this run, got aime24"):
        find_data([f"aime24={other}"], ("gsm8k",))
    (tmp_path / "gsm8k_train.jsonl").write_text("")
    with pytest.raises(ValueError, match="must have one file for gsm8k"):
        find_data([str(tmp_path)], ("gsm8k",))


def test_rates_count_what_was_done_now_and_say_what_is_left():
    time = iter([0.0, 30.0])
    rates = Rates(clock=lambda: next(time))
    rates(Step(job=None, rows=[], done=10, total=40, earlier=10))
    row = {"usage": {"total": {"decoded": 90}}}
    rates._tokens, rates._failed = 90, 1
    step = Step(job=None, rows=[row], done=20, total=40, earlier=10)
    assert rates.rates(step, 30.0) == "20.0 items/min, 3 tokens/s, 1:00 left, 1 failed"


@pytest.mark.parametrize("wrong", [{"batch": 0}, {"limit": 0}, {"tasks": ()}])
def test_settings_are_checked(wrong):
    with pytest.raises(ValueError, match="must"):
        Setting(**{"tasks": ("a",), "methods": ("b",), **wrong})
