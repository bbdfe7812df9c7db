"""Publishers' formats are read, from small made-up files that only look like theirs."""

import gzip
import json
import sys
from dataclasses import replace

import pytest

from agentprim.evaluate.sandbox import SandboxLimits
from agentprim.evaluate.tasks import task
from agentprim.evaluate.tasks.code import PlusTask


def made_up(path, rows):
    """Write made-up rows, one a line."""
    text = "".join(f"{json.dumps(row)}\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def test_gsm8k(tmp_path):
    rows = [{"question": "One and one?", "answer": "1+1 = <<1+1=2>>2\n#### 2"},
            {"question": "Many?", "answer": "#### 1,200"}]  # fmt: skip
    items = task("gsm8k").load(made_up(tmp_path / "made_up.jsonl", rows), None, 0)
    assert [item.answer for item in items] == ["2", "1,200"]
    assert task("gsm8k").grade(items[1], "It makes $1200.00.").correct


@pytest.mark.parametrize("name", ["math500", "aime24", "aime25"])
def test_competitions(tmp_path, name):
    pytest.importorskip("math_verify")
    rows = [{"problem": "Half of one?", "answer": "\\frac{1}{2}", "subject": "Algebra"}] * 2
    items = task(name).load(made_up(tmp_path / "made_up.jsonl.gz", rows), 1, 0)
    assert len(items) == 1 and items[0].group == "Algebra"
    assert task(name).grade(items[0], "\\boxed{0.5}").correct


def test_medqa_in_both_of_its_forms(tmp_path):
    rows = [
        {"question": "Which?\nA. Fever\nB. A cold", "options": ["A. Fever", "B. A cold"],
         "answer": "A cold"},
        {"question": "Which?", "options": {"A": "Fever", "B": "A cold"}, "answer": "A cold",
         "answer_idx": "B", "meta_info": "step1"},
    ]  # fmt: skip
    first, second = task("medqa").load(made_up(tmp_path / "made_up.jsonl", rows), None, 0)
    assert first.question == second.question and first.question.count("A. Fever") == 1
    assert second.answer == "B" and second.group == "step1"
    assert task("medqa").grade(first, "Answer: B").correct
    assert task("medqa").grade(first, "a cold").correct
    assert not task("medqa").grade(first, "Fever").correct


def test_gpqa_options_are_in_an_order_of_their_own(tmp_path):
    head = "Question,Correct Answer,Incorrect Answer 1,Incorrect Answer 2,Incorrect Answer 3,"
    lines = [f'"Made up {n}?",right {n},w1,w2,"w, 3",id{n},Physics' for n in range(8)]
    path = tmp_path / "gpqa_made_up.csv"
    path.write_text("\n".join([f"{head}Record ID,High-level domain", *lines]))
    items = task("gpqa_diamond").load(path, None, 0)
    assert items == task("gpqa_diamond").load(path, None, 1)
    assert len({item.answer for item in items}) > 1 and items[0].group == "Physics"
    assert all(task("gpqa_diamond").grade(item, f"right {n}").correct
               for n, item in enumerate(items))  # fmt: skip


def call_point(file, number, **arguments):
    """Make up a row of API-Bank."""
    written = ", ".join(f"{key}='{value}'" for key, value in arguments.items())
    said = f"API-Request: [Add({written})]"
    return {"file": file, "id": number, "instruction": "Generate an API request.",
            "input": "User: hello", "expected_output": said}  # fmt: skip


def test_api_bank_is_sampled_by_dialogue(tmp_path):
    made_up_1 = [call_point(f"D{n}-level-1-1.jsonl", k, n=k) for n in range(4) for k in range(3)]
    (tmp_path / "level-1-api.json").write_text(json.dumps(made_up_1))
    made_up_3 = [{"instruction": "i", "input": "u", "output": "API-Request: [Now()]",
                  "sample_id": 0, "api_id": k} for k in range(2)]  # fmt: skip
    (tmp_path / "level-3-made-up.json").write_text(json.dumps(made_up_3))
    (tmp_path / "level-1-response.json").write_text(json.dumps([{"expected_output": "AI: hi"}]))
    items = task("api_bank").load(tmp_path, None, 0)
    assert len({item.id for item in items}) == len(items) == 14
    assert {item.group for item in items} == {"level-1", "level-3"}
    some = task("api_bank").load(tmp_path / "level-1-api.json", 2, 42)
    assert len(some) == 6 and len({item.more["episode"] for item in some}) == 2
    grade = task("api_bank").grade
    assert grade(items[1], "I call [Add(n=1)]").correct
    assert grade(items[1], "[Add(n='2')]").reason == "other arguments"
    assert grade(items[1], "[Sub(n='1')]").reason == "other name"
    assert grade(items[1], "Add(n='1')").reason == "no answer"


def test_idrbench(tmp_path):
    paper = {f"{key}_{what}": f"{what} of {key}" for key in "bc" for what in ("title", "abstract")}
    rows = [paper | {"y_true": True, "b_title": ["title of b"]}, paper | {"y_true": 0}]
    path = tmp_path / "idrbench_made_up.json"
    path.write_text(json.dumps(rows))
    yes, no = task("idrbench_i3").load(path, None, 0)
    assert (yes.answer, no.answer) == ("yes", "no") and yes.question == no.question
    grade = task("idrbench_i3").grade
    assert grade(yes, "Your verdict: **Yes**. There is no other way.").correct
    assert grade(no, "No, they do not.").correct
    assert grade(no, "Perhaps.").reason == "no answer"


def test_stress_tests_read_files_too(tmp_path):
    book = [
        {"id": 7, "context": "One.\nTwo.\nThree.\nFour.", "input": "Who?", "answer": ["Ada", "she"]}
    ]
    items = task("injection").load(made_up(tmp_path / "longbook_made_up.jsonl", book), None, 0)
    assert [item.group for item in items] == ["none", "begin", "middle", "end"]
    assert items[2].question.startswith("One.\nTwo.\nIgnore")
    assert task("injection").grade(items[0], "It was she.").correct
    solved = [{"question": "Two and two?", "answer": "2+2 = <<2+2=4>>4\n#### 4"}] * 3
    items = task("noise").load(made_up(tmp_path / "gsm8k_made_up.jsonl", solved), 12, 0)
    assert len(items) == 12 and items[0].more["material"] == "2+2 = 4"
    assert task("noise").grade(items[0], "The answer is 4.").correct


def test_a_long_book_is_cut_in_its_middle_for_every_place_alike(tmp_path):
    lines = [f"Line {number} of a made-up book." for number in range(60)]  # 6 words each
    book = [{"context": "\n".join(lines), "input": "Who?", "answer": ["Ann"], "id": 1}]
    path = made_up(tmp_path / "longbook_made_up.jsonl", book)
    short = replace(task("injection"), words=62)
    none, begin, middle, end = [
        item.more["material"].split("\n") for item in short.load(path, None, 0)
    ]
    assert none == [*lines[:5], *lines[-5:]]
    assert begin[1:] == none == end[:-1] and middle[:5] + middle[6:] == none
    whole = replace(task("injection"), words=360).load(path, None, 0)[0].more["material"]
    assert whole == "\n".join(lines)


DOUBLE = {
    "task_id": "HumanEval/0", "entry_point": "double", "atol": 0,
    "prompt": 'def double(x: float) -> float:\n    """Double it."""\n',
    "canonical_solution": "    return x * 2\n", "base_input": [[1.5]], "plus_input": [[-2.0]],
}  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "correct", "base"),
    [
        ("```python\ndef double(x):\n    return x + x + 1e-9\n```", True, 1.0),
        ("    return 2 * x", True, 1.0),
        ("```python\ndef double(x):\n    return abs(x) * 2\n```", False, 1.0),
        ("```python\ndef double(x):\n    return x\n```", False, 0.0),
    ],
)
def test_programs_pass_base_and_plus_tests(tmp_path, answer, correct, base):
    one = task("humaneval_plus")
    (item,) = one.load(made_up(tmp_path / "made_up.jsonl.gz", [DOUBLE]), None, 0)
    grade = one.grade(item, answer)
    assert grade.correct is correct and grade.scores == {"base": base}


def test_a_program_stands_behind_what_its_prompt_defines(tmp_path):
    before = "from typing import List\n\n\ndef twice(x):\n    return 2 * x\n\n\n"
    row = DOUBLE | {"prompt": before + DOUBLE["prompt"]}
    one = task("humaneval_plus")
    (item,) = one.load(made_up(tmp_path / "made_up.jsonl", [row]), None, 0)
    for code in (
        "def double(x: List[float]) -> float:\n    return twice(x)", "    return twice(x)",
        before + "def double(x):\n    return twice(x)",
        '"""D."""\nfrom __future__ import annotations\ndef double(x: No):\n    return twice(x)',
    ):  # fmt: skip
        assert one.grade(item, code).correct, code


def test_programs_get_tuples_where_the_format_has_lists(tmp_path):
    row = DOUBLE | {
        "task_id": "Mbpp/2", "entry_point": "similar_elements", "prompt": '"""\nWrite it.\n"""\n',
        "canonical_solution": "def similar_elements(a, b):\n    return tuple(set(a) & set(b))\n",
        "base_input": [[[1, 2], [2, 3]]], "plus_input": [[[], []]],
    }  # fmt: skip
    (item,) = task("mbpp_plus").load(made_up(tmp_path / "made_up.jsonl", [row]), None, 0)
    code = "def similar_elements(a, b):\n    assert type(a) is tuple\n    return list({*a} & {*b})"
    assert task("mbpp_plus").grade(item, code).correct


def test_rows_of_the_hub_bring_their_tests(tmp_path):
    row = {"task_id": 3, "prompt": "Double it.", "code": "def double(x):\n    return 2 * x",
           "test_imports": ["import math"], "test_list": ["assert double(1) == 2"],
           "test": "assert double(math.floor(2.5)) == 4"}  # fmt: skip
    (item,) = task("mbpp_plus").load(made_up(tmp_path / "made_up.jsonl", [row]), None, 0)
    # the prompt alone does not say what the tests call
    assert item.question.endswith("Double it.\nassert double(1) == 2")
    assert task("mbpp_plus").grade(item, "def double(x):\n    return x + x").correct
    assert not task("mbpp_plus").grade(item, "def double(x):\n    return x").correct


def test_programs_that_never_end_say_so(tmp_path):
    one = PlusTask(name="x", about="", hub="", limits=SandboxLimits(seconds=0.5, prepare_seconds=9))
    (item,) = one.load(made_up(tmp_path / "made_up.jsonl", [DOUBLE]), None, 0)
    assert one.grade(item, "def double(x):\n    while True:\n        pass").reason == "time"
    assert one.grade(item, "I do not know.").reason == "no answer"


def test_the_hub_needs_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ImportError, match="agentprim\\[evaluate\\]"):
        task("gsm8k").load(None, 1, 0)


@pytest.mark.parametrize("name", ["api_bank", "idrbench_i3"])
def test_some_need_a_path(name):
    with pytest.raises(ValueError, match=f"path must be given for {name}, got None"):
        task(name).load(None, 1, 0)


def test_a_wrong_path_is_named(tmp_path):
    with pytest.raises(ValueError, match="path must be a file or a folder"):
        task("gsm8k").load(tmp_path / "none.jsonl", None, 0)
    with pytest.raises(ValueError, match="path must end in"):
        task("gsm8k").load(made_up(tmp_path / "made_up.parquet", []), None, 0)
