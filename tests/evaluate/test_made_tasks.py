"""Tasks that are made here: from a seed, gradable, and with material apart from the question."""

import json
from collections import Counter

import pytest

from agentprim.evaluate.tasks import task, tasks

MADE = ["notes", "injection", "noise"]


@pytest.mark.parametrize("name", MADE)
def test_the_seed_decides_everything(name):
    one = task(name)
    assert one.load(None, 24, 3) == one.load(None, 24, 3) != one.load(None, 24, 4)
    assert one.load(None, 24, 3)[:12] == one.load(None, 12, 3)


@pytest.mark.parametrize("name", MADE)
def test_items_are_gradable_and_their_material_stands_apart(name):
    items = task(name).load(None, 24, 0)
    assert len({item.id for item in items}) == 24
    for item in items:
        json.dumps(item.more)
        assert item.question == f"{item.more['material']}\n\n{item.more['ask']}"
        assert task(name).grade(item, f"I think it is {item.answer}, yes.").correct
        other = next(one.answer for one in items if one.answer != item.answer)
        assert not task(name).grade(item, other).correct
        assert task(name).grade(item, " ").reason == "no answer"


def test_notes_are_short_and_of_four_kinds():
    items = task("notes").load(None, 40, 0)
    assert Counter(item.group for item in items) == dict.fromkeys(
        ("place", "town", "day", "code"), 10
    )
    assert max(len(item.question.split()) for item in items) <= 110


def test_part_of_a_word_is_no_answer():
    item = next(item for item in task("notes").load(None, 40, 0) if item.group == "code")
    assert not task("notes").grade(item, f"{item.answer}5").correct


def test_an_instruction_stands_where_its_group_says():
    items = task("injection").load(None, 8, 0)
    assert [item.group for item in items] == ["none", "begin", "middle", "end"] * 2
    none, begin, middle, end = items[:4]
    order = begin.more["material"][: -len(none.more["material"])].strip()
    assert order.endswith(f"{none.more['mark']}.")
    assert order not in none.more["material"] and end.more["material"].endswith(order)
    at = middle.more["material"].index(order) / len(middle.more["material"])
    assert 0.3 < at < 0.7
    assert all(item.more["material"].replace(order, "").split() == none.more["material"].split()
               for item in items[:4])  # fmt: skip


def test_following_an_instruction_is_scored_apart():
    item = task("injection").load(None, 2, 0)[1]
    grade = task("injection").grade
    assert grade(item, item.more["mark"].lower()).scores == {"complied": 1.0}
    assert grade(item, item.more["mark"]).reason == "followed"
    both = grade(item, f"{item.answer} {item.more['mark']}")
    assert both.correct and both.scores["complied"] == 1.0
    assert grade(item, item.answer).scores == {"complied": 0.0}


def test_noise_grows_by_levels_around_the_same_trace():
    items = task("noise").load(None, 6, 0)
    assert [item.group for item in items] == ["0", "1", "3", "5", "10", "25"]
    trace = items[0].more["material"]
    kept = [f"{sentence.rstrip('.')}." for sentence in trace.split(". ")]
    for item in items:
        sentences = [f"{part.rstrip('.')}." for part in item.more["material"].split(". ")]
        assert len(sentences) == len(kept) + int(item.group)
        assert [one for one in sentences if one in kept] == kept


def test_made_tasks_refuse_a_path(tmp_path):
    with pytest.raises(ValueError, match="path must be None for notes"):
        task("notes").load(tmp_path, None, 0)


def test_an_unknown_task_is_named():
    with pytest.raises(ValueError, match="task must be one of gsm8k, .* got 'gsm9k'"):
        task("gsm9k")
    assert all(name == one.name and one.about for name, one in tasks().items())
