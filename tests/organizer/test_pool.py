"""The knowledge pool: 45 structures, found by what a query is like, and what users add to them."""

import json
import os
import threading

import networkx as nx
import numpy as np
import pytest
from networkx.algorithms.isomorphism import categorical_node_match

from agentprim import KnowledgePool, Plan
from agentprim.organizer import Entry, HiddenStates, Pattern, System
from agentprim.organizer.store import Store
from agentprim.workflow.check import MAX_STEPS
from tests.engine.making import engine
from tests.organizer.queries import QUERIES
from tests.workflow.plans import step

POOL = KnowledgePool.builtin()


def entry(name: str = "", when: str = "Sort a list.", solvers: int = 3) -> Entry:
    plan = {"steps": [step("a", primitive="voting", solvers=solvers)]}
    return Entry(id=name, pattern=Pattern(when=when), strategy="Vote.", plan=plan)


def drawing(plan: Plan) -> nx.DiGraph:
    """Draw a plan as a graph of primitives and all that makes a step what it is, but its id."""
    graph = nx.DiGraph()
    graph.add_node("query", label="query")
    for one in plan.steps:
        label = json.dumps([one.primitive, one.parameters.model_dump(exclude_none=True),
                            one.plan and one.plan.to_dict(), one.id == plan.output])  # fmt: skip
        graph.add_node(one.id, label=label)
        graph.add_edges_from((source, one.id) for source in one.inputs)
    return graph


def test_there_are_45_and_each_says_where_it_comes_from():
    sources = {}
    for one in POOL:
        assert one.id and one.section and one.strategy and one.pattern.when and one.arxiv
        assert 1 <= len(one.plan.steps) <= MAX_STEPS and one.cost.calls >= len(one.plan.steps)
        assert Plan.from_json(one.plan.to_json()) == one.plan
        assert Entry.model_validate(one.to_dict()) == one
        sources[one.id.split("-")[0]] = sources.get(one.id.split("-")[0], 0) + 1
    assert len(POOL) == 45
    assert sources == {"debate": 7, "dylan": 7, "refine": 7, "aflow": 9, "masgpt": 15}


def test_no_two_are_the_same_plan_under_another_name():
    match = categorical_node_match("label", None)
    drawn = [(one.id, drawing(one.plan)) for one in POOL]
    for number, (name, graph) in enumerate(drawn):
        for other, another in drawn[:number]:
            assert not nx.is_isomorphic(graph, another, node_match=match), (name, other)
    renamed = POOL["debate-3x2"].plan.to_json().replace('"a1"', '"z"')
    assert nx.is_isomorphic(drawing(Plan.from_json(renamed)), drawn[0][1], node_match=match)


@pytest.mark.parametrize("name", [one.id for one in POOL])
def test_a_sensible_query_reaches_each(name):
    found = [one.id for one, _ in POOL.search(QUERIES[name], 5)]
    assert name in found


@pytest.mark.slow
def test_each_runs_to_its_end():
    for one in POOL:
        run = System(engine(), one.plan, inner="prefill", strict=True)
        out = run("why?", max_new_tokens=1)
        assert out.finish in ("stop", "length"), one.id
        done = [e for e in out.trace if e.kind == "step"]
        assert len(done) == len(one.plan.steps) and {e.detail["status"] for e in done} == {"done"}
        assert sum(e.kind == "call" for e in out.trace) <= one.cost.calls


@pytest.mark.parametrize(
    ("query", "task"),
    [
        ("What is 17 * 23?", "math"),
        ("Which drug? A) aspirin B) quinine C) ether", "choice"),
        ("def add(a, b):\n    pass", "code"),
        (r"Find $x$ with \\frac{x}{2} = 3.", "math"),
    ],
)
def test_the_form_of_a_query_tells_its_task(query, task):
    found = POOL.search(query, 3)
    assert all(task in one.pattern.tasks and score > 0 for one, score in found), found


def test_search_never_gives_more_than_there_is_nor_what_is_no_number():
    for query in ("", "   ", "zzzz qqqq", "\u2603", "0 1 2", "math " * 500, "a\nb"):
        for k in (0, 1, 5, 45, 1000):
            found = POOL.search(query, k)
            assert len(found) == min(k, 45)
            scores = [score for _, score in found]
            assert np.isfinite(scores).all() and scores == sorted(scores, reverse=True)
            assert [one.id for one, _ in found] == [one.id for one, _ in POOL.search(query, k)]
    assert [one.id for one, _ in POOL.search("zzzz", 3)] == [one.id for one in POOL][:3]
    assert KnowledgePool().search("anything") == []
    assert {t for one, _ in POOL.search("x", 45, task="code") for t in one.pattern.tasks} >= {
        "code"
    }
    assert all("code" in one.pattern.tasks or not one.pattern.tasks
               for one, _ in POOL.search("x", 45, task="code"))  # fmt: skip
    with pytest.raises(ValueError, match="k must be at least 0"):
        POOL.search("x", -1)


def test_vectors_rank_too_and_may_be_broken():
    """An embedder of the caller, and the model's own hidden states."""
    table = {"cats": [1.0, 0.0], "dogs": [0.0, 1.0]}

    def embed(texts):
        nothing = [np.nan, np.inf]
        return np.array([next((v for k, v in table.items() if k in t), nothing) for t in texts])

    pool = KnowledgePool(embed=embed)
    for name in ("cats", "dogs", "fish"):
        pool.add(entry(name, f"About {name}."))
    assert [one.id for one, _ in pool.search("dogs?", 3)] == ["dogs", "cats", "fish"]
    assert np.isfinite([score for _, score in pool.search("fish?", 3)]).all()
    own = KnowledgePool.builtin(embed=HiddenStates(engine()))
    one = own["refine-acronym"]
    assert own.search(one.text, 1)[0][0].id == one.id
    assert own.search("", 2) and len(own.search("x", 99)) == 45


def test_outcomes_change_the_order_and_can_be_left_out():
    pool = KnowledgePool()
    for name in ("one", "two"):
        pool.add(entry(name))
    first = lambda **more: pool.search("Sort a list", 1, **more)[0][0].id  # noqa: E731
    assert first() == "one" and pool.stats("one").rate == 0.5
    for success in (False, False, True):
        pool.record("one", success)
    pool.record("two", True)
    assert (pool.stats("one").runs, pool.stats("one").wins) == (3, 1)
    assert pool.stats("one").rate == 2 / 5 and pool.stats("two").rate == 2 / 3
    assert first() == "two" and first(learn=False) == "one"
    with pytest.raises(ValueError, match="id must be one of the pool's 2 entries, got 'three'"):
        pool.record("three", True)


def test_storing_again_leaves_nothing_of_the_old(tmp_path):
    """A18: rowboatlabs/rowboat #701, codepath/pathreview #7, infiniflow/ragflow #6462.

    And brightwave-inc/tidebreak #44.
    """
    path = tmp_path / "pool.db"
    pool = KnowledgePool(path)
    old = "Alphabet pieces. Banana pieces. Cherry pieces."
    assert pool.add(entry("d", old)) == "d" and pool.add(entry("e", "Eggs.")) == "e"
    pool.record("d", True)
    pool.add(entry("d", "Dates."))
    for one in (pool, KnowledgePool(path)):
        assert [x.id for x in one] == ["d", "e"] and one["d"].pattern.when == "Dates."
        assert one.search("banana cherry alphabet", 1)[0][1] == 0
        assert one.stats("d").runs == 0
    assert pool.add(entry("", "Same.")) == pool.add(entry("", "Same.")) and len(pool) == 3
    assert pool.add(entry("", "Other.")).startswith("content-") and len(pool) == 4
    pool.remove("d")
    for one in (pool, KnowledgePool(path)):
        assert "d" not in one and all(x.id != "d" for x, _ in one.search("Dates.", 9))
    with pytest.raises(ValueError, match="got 'd'"):
        pool.remove("d")


def test_a_builtin_entry_can_be_replaced_and_removed_for_good(tmp_path):
    """A18: as above."""
    path = tmp_path / "pool.db"
    pool = KnowledgePool.builtin(path)
    pool.add(entry("aflow-custom", "Weather tomorrow."))
    assert len(pool) == 45 and pool["aflow-custom"].pattern.when == "Weather tomorrow."
    pool.remove("aflow-custom")
    for one in (pool, KnowledgePool.builtin(path)):
        assert len(one) == 44 and "aflow-custom" not in one
    pool.add(entry("aflow-custom"))
    assert len(KnowledgePool.builtin(path)) == 45 and len(KnowledgePool.builtin()) == 45


def test_of_two_who_store_at_once_one_whole_version_stays(tmp_path):
    """A18: as above, 50 repeats of the race, each thread with a pool of its own or a shared one."""
    path = tmp_path / "pool.db"
    pools = [KnowledgePool(path), KnowledgePool(path)]
    versions = [entry("d", "Version one " * 50, 2), entry("d", "Version two " * 50, 5)]
    for number in range(50):
        start = threading.Barrier(2)

        def put(which, start=start, shared=number % 2):
            start.wait()
            pools[0 if shared else which].add(versions[which])
            pools[which].record("d", True)

        threads = [threading.Thread(target=put, args=(which,)) for which in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert pools[0]["d"] == pools[1]["d"] == KnowledgePool(path)["d"]
        assert pools[0]["d"] in versions and len(pools[0]) == 1


def test_what_was_stored_survives_a_crash(tmp_path):
    path = tmp_path / "pool.db"
    child = os.fork()
    if not child:  # it dies in the middle of its second change
        store = Store(path)
        store.put(entry("kept"))
        change = store._change()
        change.__enter__()("insert into entries values ('half', '{}', 9)")
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    pool = KnowledgePool(path)
    assert [one.id for one in pool] == ["kept"]
    pool.add(entry("after"))
    assert len(KnowledgePool(path)) == 2
