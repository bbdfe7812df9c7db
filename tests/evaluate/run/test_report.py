"""Reports: what the rows say, recomputed; and why a cell is missing."""

import json
import re

import pytest

from agentprim.evaluate.report import write
from agentprim.evaluate.report.block import blocks
from agentprim.evaluate.report.cells import Cell, read_cells
from agentprim.trust.journal import Journal

MODEL = {"name": "toy", "class": "Toy", "revision": None, "fingerprint": "f" * 64,
         "dtype": "float32", "device": "cpu", "latent": "softmax"}  # fmt: skip
LIMITS = {"max_new_tokens": 8, "steps": 4, "inner": "latent", "temperature": 0.0, "top_p": 1.0}


def put(folder, task, method, right, *, n=None, inner="latent", decoded=10, failed=0, groups="",
        scores=None, model=MODEL, seconds=1.0, detections=(), items="i",
        source="s"):  # fmt: skip
    """Write a journal: `right` has one letter an item, y or n."""
    about = {
        "format": 1, "model": model, "versions": {"agentprim": "0"},
        "task": {"name": task, "about": "toy", "n": n or len(right), "items": items, "data": None},
        "method": {"name": method, "about": "toy", "twin": None, "source": source},
        "prompts": "p", "limits": {**LIMITS, "inner": inner}, "limit": None, "seed": 0, "batch": 2,
    }  # fmt: skip
    journal = Journal(folder / f"{task}.{method}.jsonl", about)
    for number, letter in enumerate(right):
        row = {"key": str(number), "group": groups[number] if groups else "", "seed": 0}
        if number < failed:
            journal.add({**row, "failed": "RuntimeError: too | long"})
            continue
        usage = {"prefilled": 30, "decoded": decoded, "latent": 4, "reused": 100}
        journal.add({**row, "text": "", "correct": letter == "y", "extracted": None, "reason": "",
                     "scores": scores[number] if scores else {}, "finish": "stop",
                     "usage": {"total": usage, "roles": {"a": usage}},
                     "trace": {"detection": detections[number]} if detections else {},
                     "seconds": seconds, "batch": 2, "pool_tokens": 64})  # fmt: skip


def table(text: str, name: str) -> list[list[str]]:
    """Return the rows of a table in Markdown."""
    part = text.split(f"\n### {name}")[1].split("\n#")[0]
    lines = [line for line in part.splitlines() if line.startswith("|")]
    return [[one.strip() for one in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


@pytest.fixture
def runs(tmp_path):
    a = tmp_path / "a"
    put(a, "one", "single", "yynn")
    put(a, "one", "review", "yyyn", decoded=5, seconds=1.5)
    put(a, "one", "review_text", "ynnn", decoded=20, seconds=4.0)
    put(a, "two", "single", "yyyy")
    put(a, "two", "review", "nnn", n=4, failed=1)
    put(a, "noise", "reader_kv", "yyyn", groups=["0", "10", "3", "10"])
    put(a, "injection", "reader_kv", "yn", groups=["end", "begin"],
        scores=[{"complied": 0.0}, {"complied": 1.0}])  # fmt: skip
    (a / "missing.json").write_text(json.dumps({"gpqa": "no file"}))
    return a


def test_the_report_has_the_papers_tables_recomputed_from_the_rows(runs, tmp_path):
    files = write([runs], tmp_path / "report", plots=False)
    assert [path.name for path in files] == ["report.md", "report.html"]
    text = files[0].read_text()
    heads = re.findall(r"^### (?:Table (\S+):)?", text, re.M)
    wanted = [f"1.{n}" for n in range(1, 10)] + [f"2.{n}" for n in range(1, 6)] + ["1.10"]
    assert [head for head in heads if head] == wanted
    rows = table(text, "Table 1.1")
    assert rows[0] == ["method", "one", "two", "gpqa", "mean"]
    by = {row[0]: row[1:] for row in rows[2:]}
    assert by["single"][0] == "50.0 (15.0-85.0), n 4" and by["single"][2] == "no data: no file"
    assert by["single"][3] == "75.0 (2 of 3 tasks)"
    assert by["review"][1] == "0.0 (0.0-56.1), n 3, 1 to come, 1 failed"
    assert by["review"][3] == "37.5 (2 of 3 tasks)"  # mean of its own cells: 75 and 0
    assert by["review_text"][1] == "not run"
    against = {row[0]: row for row in table(text, "Table 1.4")[2:]}["review"]
    assert "+25.0" in against[1] and "1 gained, 0 lost, p 1.000" in against[1]
    twin = table(text, "Table 1.5")[2]
    assert twin[:3] == ["one", "review", "review_text"] and "+50.0" in twin[3]
    assert twin[4:] == ["4.00x", "0.72x", "0.38x"]
    aims = table(text, "where the aims stand")[2]
    assert aims[3:7] == ["4.00x", "yes", "1.50x", "yes"]
    assert "RuntimeError: too | long" in text


def test_stress_tests_are_curves_over_their_groups(runs, tmp_path):
    text = write([runs], tmp_path / "r", plots=False)[0].read_text()
    noise = table(text, "Table 1.9")
    assert noise[0] == ["method", "0", "3", "10"] and noise[2][3].startswith("50.0")
    places = table(text, "Table 1.8")
    assert places[0] == ["method", "begin", "end"]
    assert "complied 100.0" in places[2][1] and "complied 0.0" in places[2][2]
    assert "noise" not in table(text, "Table 1.1")[0]


def test_tables_that_nothing_was_run_for_say_so(tmp_path):
    put(tmp_path / "a", "one", "cot", "yn")
    text = write([tmp_path / "a"], tmp_path / "r", plots=False)[0].read_text()
    assert "The task `noise` was not run." in text
    assert "Not run: primitives, primitives_bm25" in text
    assert "No method was run beside its text twin." in text
    assert "no method of the lite family" in text and "One model" in text


def test_inners_are_named_and_paired_within_their_run(tmp_path):
    for inner, right in (("latent", "yy"), ("prefill", "nn")):
        put(tmp_path / inner, "one", "single", right, inner=inner)
        put(tmp_path / inner, "one", "review", "yn", inner=inner)
    (block,) = blocks(read_cells([tmp_path / "latent", tmp_path / "prefill"]))
    assert block.rows == [("single", None), ("review", "latent"), ("review", "prefill")]
    found = block.against(block.find("one", "review", "prefill"))
    assert (found.gained, found.lost) == (1, 0)
    found = block.against(block.find("one", "review", "latent"))
    assert (found.gained, found.lost) == (0, 1)


def test_a_method_of_several_runs_stands_once_and_times_are_those_of_one_run(tmp_path):
    put(tmp_path / "a", "one", "single", "yynn", seconds=1.0)
    put(tmp_path / "b", "one", "single", "yynn", seconds=2.0)
    put(tmp_path / "b", "one", "review", "yyyn", seconds=3.0)
    (path, _) = write([tmp_path / "a", tmp_path / "b"], tmp_path / "report", plots=False)
    text = path.read_text()
    assert [row[1] for row in table(text, "cost by kind of token")[2:]] == ["single", "review"]
    assert table(text, "where the aims stand")[2][5] == "1.50x"
    assert {row[0]: row[1] for row in table(text, "Table 1.3")}["review"] == "3.00, 1.50x"


def test_of_two_runs_the_cell_with_more_items_is_shown_and_the_other_is_named(tmp_path):
    put(tmp_path / "a", "one", "single", "yn", n=4)
    put(tmp_path / "b", "one", "single", "yyyn", source="other")
    put(tmp_path / "c", "one", "single", "n", n=4, source="other")
    put(tmp_path / "c", "one", "review", "n", n=4)
    (path, _) = write([tmp_path / name for name in "abc"], tmp_path / "r", plots=False)
    text = path.read_text()
    assert table(text, "Table 1.1")[2][:2] == ["single", "75.0 (30.1-95.4), n 4"]
    hidden = [line.strip("* -") for line in text.splitlines() if "stands" in line]
    assert hidden == [
        "one single is shown from b, and stands in a, too: n 2, differs in source of the method",
        "one single is shown from b, and stands in c, too: n 1, of the same source",
    ]


def test_models_are_apart_and_compared_at_the_end(runs, tmp_path):
    put(tmp_path / "b", "one", "single", "nnnn", model={**MODEL, "name": "other"})
    text = write([runs, tmp_path / "b"], tmp_path / "r", plots=False)[0].read_text()
    rows = table(text, "Table 1.10")
    assert rows[0] == ["method", "1. toy", "2. other"]
    assert {row[0]: row[1:] for row in rows[2:]}["single"] == ["75.0 (2 of 3 tasks)", "0.0"]


def test_the_page_escapes_what_models_and_errors_say(tmp_path):
    put(tmp_path / "a", "one", "single", "y", model={**MODEL, "name": "<b>m</b>"})
    page = write([tmp_path / "a"], tmp_path / "r", plots=False)[1].read_text()
    assert "&lt;b&gt;m&lt;/b&gt;" in page and "<b>m" not in page


def test_figures_are_drawn_for_what_is_there(runs, tmp_path):
    pytest.importorskip("matplotlib")
    for tokens in (50, 500):
        for comm in ("kv", "text"):
            put(runs, "one", f"reader_{comm}-{tokens}", "yynn")
    files = write([runs], tmp_path / "r")
    names = {path.name for path in files[2:]}
    assert names == {"1-one-tokens.svg", "1-one-cost.svg", "1-two-tokens.svg", "1-two-cost.svg",
                     "1-noise.svg", "1-injection.svg", "1-injection-complied.svg",
                     "1-one-receiver.svg"}  # fmt: skip
    assert all(path.stat().st_size > 1000 for path in files[2:])
    text = files[0].read_text()
    assert all(f"]({name})" in text for name in names)


def test_folders_without_runs_are_refused(tmp_path):
    with pytest.raises(ValueError, match="runs must be folders"):
        write([tmp_path], tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_groups_are_in_the_order_of_numbers_and_places():
    rows = {str(i): {"key": str(i), "group": g} for i, g in
            enumerate(["10", "3", "x", "0"])}  # fmt: skip
    assert Cell({}, rows).groups == ["0", "3", "10", "x"]
