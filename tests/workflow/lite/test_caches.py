"""Experts of one engine hand over caches; nothing is left in the pool, whatever fails."""

import gc
import random

import pytest

import agentprim as ap
from agentprim.workflow.lite import Budget, LiteWorkflow
from agentprim.workflow.lite.inject import Injection
from tests.engine.making import engine
from tests.workflow.lite.script import Oracle, Scripted, decider, events

SHORT = {"max_new_tokens": 4, "review_tokens": 3, "route_tokens": 3}


def agents(one, *names):
    return [ap.Agent(one, f"You are {name}.", name=name) for name in names]


def test_work_travels_as_caches_and_decisions_read_them():
    one = engine()
    oracle = Oracle(["a", "b", "c"])
    a, b, c = agents(one, "a", "b", "c")
    flow = LiteWorkflow([a, b, c], ap.Decider(oracle), screening="decider", **SHORT)
    out = flow("task?")
    handed = events(out, "handover")
    assert [(e["sender"], e["carry"]) for e in handed] == [("a", "no_system"), ("b", "no_system")]
    text = one.tokenizer.decode([i for i in out.kv.ids if i >= 0])
    assert text.count("Do your part of the task") == 3  # what c was handed holds what b was handed
    assert out.usage.reused > 0
    local = LiteWorkflow([a, b], ap.Decider(one), screening="decider", **SHORT)
    seen = []
    each = local.decider.backend.each
    local.decider.backend.each = lambda asked: (seen.extend(s for s, _ in asked), each(asked))[1]
    local("task?")
    assert any(isinstance(state, ap.Output) and state.kv is not None for state in seen)


def test_the_text_twin_hands_over_no_cache():
    one = engine()
    flow = LiteWorkflow(
        agents(one, "a", "b"), decider(["a", "b"]), comm="text", screening="decider", **SHORT
    )
    out = flow("task?")
    assert not events(out, "handover") and [e["chosen"] for e in events(out, "route")][:2] == [
        "a",
        "b",
    ]


def test_engines_that_differ_exchange_text():
    a, b = ap.Agent(engine(), "a", name="a"), ap.Agent(engine("llama"), "b", name="b")
    c = Scripted("c", "far away")
    flow = LiteWorkflow(
        [a, b, c],
        decider(["a", "b", "c", "a"]),
        screening="decider",
        budget=Budget(calls=9),
        **SHORT,
    )
    out = flow("task?")
    assert out.finish == "stop" and len(c.heard) == 1
    assert [e["sender"] for e in events(out, "handover")] == ["a"]  # only a hears a by its cache


def test_the_same_answer_by_the_same_seed():
    flow = LiteWorkflow(
        agents(engine(), "a", "b"), ap.Decider(engine()), screening="decider", **SHORT
    )
    assert flow("task?", seed=1) == flow("task?", seed=1)


def test_injected_errors_change_text_and_cache_alike():
    one = engine()
    (a,) = agents(one, "a")
    plain = a("count", max_new_tokens=4)
    said = plain.but(text="total 12")
    changed = Injection(kind="value")(0, 0, said, a)
    assert str(changed) != "total 12" and str(changed).startswith("total ")
    reply = changed.kv.ids[changed.reply_start :]
    assert one.tokenizer.decode(reply).startswith(str(changed))
    assert plain.kv.ids[: plain.reply_start] == changed.kv.ids[: changed.reply_start]


class _Faulty:
    """An agent that now and then raises instead of answering."""

    def __init__(self, agent, source):
        self._agent, self._source = agent, source
        self.engine, self.name, self.system = agent.engine, agent.name, agent.system

    def __call__(self, *args, **options):
        if self._source.random() < 0.2:
            raise RuntimeError("a fault")
        return self._agent(*args, **options)


def _faulty_backend(engine, source):
    local = ap.Decider(engine).backend

    def backend(state, questions):
        if source.random() < 0.1:
            raise TimeoutError("a fault")
        return local(state, questions)

    backend.engine = engine
    return backend


@pytest.mark.slow
def test_two_hundred_runs_with_faults_leave_nothing_behind():
    one = engine()
    source = random.Random(0)
    team = [_Faulty(agent, source) for agent in agents(one, "a", "b", "c")]
    reviewer = _Faulty(agents(one, "r")[0], source)
    for each in (*team, reviewer):
        _ = each._agent.system_kv
    gc.collect()
    free = one.pool.num_free
    judge = ap.Decider(_faulty_backend(one, source))
    finishes = set()
    for number in range(50):
        flow = LiteWorkflow(
            team, judge, reviewer, Budget(calls=source.randint(1, 6)),
            router=source.choice(["decider", "rule", "llm"]),
            screening=source.choice(["none", "decider", "llm", "cascade"]),
            feedback=source.random() < 0.5, repairs=source.randint(0, 2),
            comm=source.choice(["kv", "text"]), max_new_tokens=2, review_tokens=2, route_tokens=2,
            inject=source.choice([None, Injection(kind="value")]),
        )  # fmt: skip
        finishes |= {out.finish for out in flow(["x?", "y?", "z?", "w?"], seed=number)}
    assert {"stop", "budget"} <= finishes
    gc.collect()
    assert one.pool.num_free == free


def test_tasks_that_are_routed_apart_share_forward_passes():
    one, passes = engine(), []
    names = ["a", "b", "c"]
    team = agents(one, *names)
    for agent in team:
        agent.prepare()

    def router(task, artifacts, eligible):  # each task begins with another expert
        at = len(task) + len(artifacts)
        return names[at % 3] if len(artifacts) < 2 else "STOP"

    flow = LiteWorkflow(team, router=router, screening="none", max_new_tokens=4)
    tasks = ["why?", "who?!", "where?"]
    hook = one.model.register_forward_hook(lambda *rest: passes.append(1))
    alone = [flow(task) for task in tasks]
    each = len(passes)
    outs = flow(tasks)
    hook.remove()
    assert [out.ids for out in outs] == [out.ids for out in alone]
    assert [[e["chosen"] for e in events(out, "route")][0] for out in outs] == ["b", "c", "a"]
    assert len(passes) - each <= each / 2
