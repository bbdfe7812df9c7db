"""The second paper's tables, recomputed from rows; and why a cell is missing."""

import json

import pytest

from agentprim.evaluate.report import write
from tests.evaluate.run.test_report import MODEL, put, table

NOTHING = {"changed": 0, "injected": 0, "detected": 0, "released": 0, "clean": 0, "alarms": 0,
           "adopted": False}  # fmt: skip
FOUND = {**NOTHING, "changed": 1, "injected": 1, "detected": 1, "clean": 2, "alarms": 1}
SLIPPED = {**NOTHING, "changed": 1, "injected": 1, "released": 1, "adopted": True}


@pytest.fixture
def text(tmp_path):
    """Write a report of what `fill` put into a folder."""

    def report(fill, plots=False) -> str:
        fill(tmp_path / "a")
        return write([tmp_path / "a"], tmp_path / "r", plots=plots)[0].read_text()

    return report


def test_ablations_stand_beside_lite_and_say_what_was_not_run(text):
    def fill(a):
        put(a, "one", "lite", "yynn")
        put(a, "one", "lite_rule", "ynnn", seconds=0.5)
        (a / "missing.json").write_text(json.dumps({"gpqa": "no file"}))

    rows = table(text(fill), "Table 2.2")
    by = {(row[0], row[1]): row[2:] for row in rows[2:]}
    assert by["one", "lite"][:3] == ["4", "50.0 (15.0-85.0)", ""]
    rule = by["one", "lite_rule"]
    assert "-25.0" in rule[2] and "0 gained, 1 lost" in rule[2] and rule[4] == "0.50"
    assert by["one", "lite_llm_router"][0] == "not run" and by["gpqa", "lite"][0] == (
        "no data: no file"
    )


def test_injected_errors_are_counted_work_by_work(text):
    def fill(a):
        put(a, "one", "lite", "yyyy", detections=[{**NOTHING, "clean": 2, "alarms": 1}] * 4)
        put(a, "one", "lite_injected", "ynny",
            detections=[FOUND, SLIPPED, {**SLIPPED, "adopted": False}, NOTHING])  # fmt: skip

    rows = {row[1]: row for row in table(text(fill), "Table 2.3")}
    shown = dict(zip(rows["method"], rows["lite_injected"], strict=True))
    told = {name: cell.split(", ")[-1] for name, cell in shown.items()}
    assert shown["accuracy"].startswith("50.0") and "0 gained, 2 lost" in shown["against no error"]
    assert told["with an error"] == "3 of 4" and told["attack success"] == "1 of 3"
    assert told["true positives"] == "1 of 3" and told["released"] == "2 of 3"
    assert told["false positives"] == "1 of 2" and told["false positives, no error"] == "4 of 8"
    assert rows["lite_control_injected"][2] == "not run"


def test_an_answer_that_is_right_is_no_successful_attack(text):
    def fill(a):
        put(a, "one", "lite_injected", "yn", detections=[SLIPPED, SLIPPED])

    (row,) = (r for r in table(text(fill), "Table 2.3") if r[1] == "lite_injected")
    assert row[6] == "50.0 (9.5-90.5), 1 of 2"
    assert row[5] == row[-1] == "not run without" and row[9] == "none"


def test_budgets_are_columns_and_a_curve(text, tmp_path):
    def fill(a):
        put(a, "one", "lite-2", "ynnn")
        put(a, "one", "lite-8", "yyyn")
        put(a, "one", "lite_control-6", "yynn")

    page = text(fill, plots=True)
    head, _, lite, control = table(page, "Table 2.4")
    assert head == ["task", "method", *(f"{n} calls" for n in (2, 3, 4, 5, 6, 8))]
    assert lite[2].startswith("25.0") and lite[3] == "not run" and lite[7].startswith("75.0")
    assert control[1] == "lite_control" and control[6].startswith("50.0")
    if "](1-one-tokens.svg)" in page:  # matplotlib is there
        drawn = (tmp_path / "r" / "1-one-calls.svg").read_text()
        assert "calls that a task may take" in drawn and "lite_control" in drawn


def test_a_number_that_no_method_has_is_no_budget(text):
    for name in ("lite-02", "lite-0"):
        page = text(lambda a, name=name: put(a, "one", name, "ynnn"))
        assert "Not run: no budget" in page.split("Table 2.4")[1].split("###")[0]


def test_teams_name_their_models(text):
    model = {**MODEL, "expert": {"name": "big", "class": "B", "revision": None,
                                 "fingerprint": "e" * 64}}  # fmt: skip

    def fill(a):
        put(a, "one", "lite_aaa", "nnnn", model=model)
        put(a, "one", "lite_aba", "yynn", model=model)

    page = text(fill)
    rows = {row[1]: row[2:] for row in table(page, "Table 2.5")}
    assert "+50.0" in rows["lite_aba"][2] and rows["lite_abb"][0] == "not run"
    assert "A: toy; B: big." in page and "model B big (B)" in page


def test_what_nothing_was_run_for_says_so(text):
    page = text(lambda a: put(a, "one", "lite", "yn"))
    for name, why in (("2.2", "none of lite_no_feedback"), ("2.3", "none of lite_injected"),
                      ("2.4", "no budget (`lite-2`"), ("2.5", "none of lite_abb")):  # fmt: skip
        assert table(page, f"Table {name}") == []
        assert f"Not run: {why}" in page.split(f"Table {name}")[1].split("###")[0]
