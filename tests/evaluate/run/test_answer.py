"""Rows: what an item cost, what failed, and seeds that every method shares."""

import json

import pytest

from agentprim import Engine, Output
from agentprim.evaluate import methods
from agentprim.evaluate.answer import answer
from agentprim.evaluate.base import Grade, Item, Limits
from agentprim.evaluate.handed import READER
from agentprim.evaluate.job import Job, batches, seed_of
from tests.evaluate.run.conftest import changed
from tests.evaluate.run.stubs import Asks, Few, Letters, Registry, method, reader

LIMITS = Limits(max_new_tokens=4)


def job(*questions, name="single", more=None):
    items = [Item(id=f"q{n}", question=q, answer="", more=more or {})
             for n, q in enumerate(questions)]  # fmt: skip
    return Job(task="letters", method=name, items=tuple(items), limits=LIMITS, seed=3)


def test_a_row_says_what_an_item_cost(engine):
    rows = answer(engine, Letters(), method("reader_kv"), job("Who?", "Where?",
                  more={"material": "A note."}))  # fmt: skip
    for row in rows:
        total, roles = row["usage"]["total"], row["usage"]["roles"]
        assert set(roles) == {"sender", "reader"} and 1 <= total["decoded"] <= 4
        assert total["prefilled"] == sum(cost["prefilled"] for cost in roles.values())
        assert row["trace"]["handovers"] == 1 and row["trace"]["handed_tokens"] > 5
        assert row["trace"]["joins"] == ["relocate"] and row["batch"] == 2
        # pages hold all tokens of both rows, and the pool is not much bigger than they are
        assert 60 < row["pool_tokens"] < 1000 and row["seconds"] > 0
    assert json.loads(json.dumps(rows)) == rows


def test_readers_are_asked_what_is_asked_apart_from_the_material(engine):
    more = {"material": "A note.", "ask": "Who?"}
    whole = job("A note.\n\nWho? And more words than that.", more=more)
    read = {
        name: answer(engine, Letters(), method(name), whole)[0]["usage"]["roles"]
        for name in ("reader_text", "single")
    }
    more = read["single"]["single"]["prefilled"] - read["reader_text"]["reader"]["prefilled"]
    systems = len("Say it.") - len(READER)
    assert abs(more - systems - len(" And more words than that.")) <= 1


def test_the_peak_is_that_of_the_batch_and_not_of_what_was_before(engine):
    big = answer(engine, Letters(), method("single"), job("Why " + 200 * "so "))[0]["pool_tokens"]
    small = answer(engine, Letters(), method("single"), job("Why?"))[0]["pool_tokens"]
    assert big > 600 > small > 0


def test_a_batch_that_raises_is_tried_in_halves_and_the_bad_one_is_recorded(engine):
    asks = Asks("single", "Say.", fails_on="bad")
    rows = answer(engine, Letters(), asks, job("one", "bad", "two"))
    assert asks.seen == [3, 1, 2, 1, 1]
    assert [row.get("failed") for row in rows] == [None, "RuntimeError: cannot say bad", None]
    assert [row["key"] for row in rows] == ["q0", "q1", "q2"] and "text" in rows[2]


def test_a_batch_too_big_for_the_pool_is_answered_in_parts(folder):

    small = Engine.from_pretrained(folder, pool_tokens=256)
    rows = answer(small, Letters(), method("single"), job("A" * 120, "B" * 120, "C" * 120))
    assert not any("failed" in row for row in rows) and {row["batch"] for row in rows} == {1}


def test_an_answer_that_cannot_be_graded_keeps_its_text(engine):
    row = answer(engine, Letters(), method("single"), job("ungradable"))[0]
    assert row["failed"] == "grading: RuntimeError: no grade" and "text" in row
    assert "correct" not in row


def test_what_a_model_said_to_itself_is_not_graded_nor_compared(engine):
    class Verdict(Letters):
        def extract(self, item, text):
            return text.strip()

        def grade(self, item, text):
            return Grade(correct=text.strip() == "No", extracted=text)

    class Thinks:
        takes_extracts = True

        def __call__(self, engine, questions, limits, seeds, extracts):
            text = "<think>Yes or No?</think>\n\nNo"
            assert extracts[0](text) == "No"
            return [Output(text)]

    (row,) = answer(engine, Verdict(), Thinks(), job("a"))
    assert row.get("correct") and row["text"].startswith("<think>")


def test_a_method_that_answers_too_few_fails(engine):
    rows = answer(engine, Letters(), Few("few", ""), job("a", "b"))
    assert all("must answer" in row["failed"] for row in rows)


def test_methods_that_vote_compare_as_the_task_reads_each_item(engine):
    class Reads(Letters):
        def extract(self, item, text):
            return f"{item.id} {text}"

    class Votes:
        takes_extracts = True

        def __call__(self, engine, questions, limits, seeds, extracts=None):
            reads = extracts or [lambda text: f"no task {text}"] * len(questions)
            return [Output(one("it")) for one in reads]

    asked = job("a", "b")
    assert [row["text"] for row in answer(engine, Reads(), Votes(), asked)] == ["q0 it", "q1 it"]
    assert {row["text"] for row in answer(engine, Letters(), Votes(), asked)} == {"no task it"}
    assert "text" in answer(engine, Reads(), method("single"), asked)[0]  # compares nothing


def test_a_team_of_two_models_gets_the_second_and_both_pools_are_counted(engine, other_folder):
    expert = Engine.from_pretrained(other_folder, pool_tokens=8192)
    team = methods.method("lite_aba", router="rule", screening="none")
    asked = job("Who?", name="lite_aba")
    (row,) = answer(engine, Letters(), team, asked, expert)
    first, second = (e.pool.peak_pages * e.pool.page_size for e in (engine, expert))
    assert "failed" not in row and second > 0 and row["pool_tokens"] == first + second
    (row,) = answer(engine, Letters(), team, asked)
    assert row["failed"].startswith("ValueError: expert must be the engine of model B")


def test_rows_of_screened_work_say_what_became_of_it(engine):
    (row,) = answer(engine, Letters(), methods.method("lite-2"), job("Who?"))
    told = row["trace"]["detection"]
    assert told["clean"] == 1 and told["changed"] == told["injected"] == 0
    (row,) = answer(engine, Letters(), method("single"), job("Who?"))
    assert "detection" not in row["trace"]


def test_failed_items_are_counted_done_and_tried_again_when_asked(go, tmp_path):
    setting = changed(methods=("fails",))
    first = go(tmp_path, setting)["letters.fails"]
    assert {key for key, row in first.items() if "failed" in row} == {"q2"} and len(first) == 7
    mended = Asks("fails", "Say it.")
    registry = Registry(task=lambda _: Letters(), method=lambda _: mended)
    assert go(tmp_path, setting, registry) == {"letters.fails": first} and mended.seen == []
    again = go(tmp_path, setting, registry, retry_failed=True)["letters.fails"]
    assert mended.seen == [1] and not any("failed" in row for row in again.values())


def test_seeds_depend_on_the_item_alone():
    item = Item(id="a", question="", answer="")
    assert seed_of(0, "t", item) == seed_of(0, "t", Item(id="a", question="x", answer="y"))
    seeds = {seed_of(s, t, Item(id=i, question="", answer="")) for s in (0, 1) for t in "tu"
             for i in "ab"}  # fmt: skip
    assert len(seeds) == 8 and all(0 <= seed < 2**31 for seed in seeds)
    assert [list(one) for one in batches([1, 2, 3], 2)] == [[1, 2], [3]]


@pytest.mark.parametrize("tokens", [None, 200])
def test_readers_are_asked_the_same_and_differ_in_how_material_comes(engine, tokens):
    suffix = "" if tokens is None else f"-{tokens}"
    kv, text = reader(f"reader_kv{suffix}"), reader(f"reader_text{suffix}")
    assert kv.twin == text.name and reader("reader_kv_5") is None
    (a,), (b,) = (one(engine, ["Who?"], LIMITS, [0], ["A note."]) if one.takes_material else None
                  for one in (kv, text))  # fmt: skip
    assert a.usage.reused and not b.usage.reused and set(b.usage.roles) == {"reader"}
    # the reader itself reads the question alone, or the note with it; an answer that was cut off
    # is closed with one token more
    more = b.usage.roles["reader"].prefilled - a.usage.roles["reader"].prefilled
    assert abs(more - len("A note.\n\n")) <= 1
    if tokens is not None:
        assert 150 < a.usage.roles["reader"].prefilled - len("Who?") < 250
    with pytest.raises(ValueError, match="materials must have text"):
        kv(engine, ["Who?"], LIMITS, [0], [" "])
