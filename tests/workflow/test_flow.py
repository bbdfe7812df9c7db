"""A plan run on shared caches gives what its steps give by hand, in order and in batches."""

import gc
from concurrent.futures import ThreadPoolExecutor

import pytest

from agentprim import Agent, PlanError, Review
from agentprim.primitives import prompts
from agentprim.workflow import Flow
from agentprim.workflow.build import Agents
from tests.engine.making import engine
from tests.primitives.team import Heard
from tests.workflow.plans import FAST, SHORT, diamond, flow, plan, statuses, step

ASK = "why?"


def solver() -> Agent:
    return Agent(engine(), prompts.SOLVER, name="solver")


def think(text: str, *senders, inner: str = "latent", by=None):
    more = {"max_new_tokens": 4} if inner == "text" else {"steps": 2}
    return (by or solver()).think(text, inner=inner, context=senders, **more)


@pytest.mark.parametrize("inner", ["latent", "text", "prefill"])
def test_a_diamond_gives_what_its_steps_give_by_hand(inner):
    """A13: a valid diamond runs each step once, parents first (codenamev/agentic #11, #20)."""
    out = flow(*diamond(), inner=inner)(ASK, **SHORT)
    by = solver()
    top = think(ASK, inner=inner, by=by)
    left, right = (
        think(f"{ASK}\n\nLook {way}.", top, inner=inner, by=by) for way in ("left", "right")
    )
    hand = by(ASK, context=[left, right], **SHORT)
    assert out == hand and out.kv.ids == hand.kv.ids
    assert list(statuses(out).items()) == [(n, "done") for n in ("top", "left", "right", "end")]
    expected = top.usage + left.usage + right.usage + hand.usage
    for count in ("prefilled", "decoded", "latent", "generative_calls"):
        assert getattr(out.usage, count) == getattr(expected, count)
    assert set(out.usage.roles) == {f"{n}.solver" for n in ("top", "left", "right", "end")}


def test_a_fan_in_of_three_gives_what_it_gives_by_hand():
    steps = [step(n, instruction=f"As {n}.") for n in ("a", "b", "c")]
    out = flow(*steps, step("end", "query", "b", "a", "c"))(ASK, **SHORT)
    a, b, c = (think(f"{ASK}\n\nAs {n}.") for n in ("a", "b", "c"))
    assert out == solver()(ASK, context=[b, a, c], **SHORT)
    assert out.kv.ids == solver()(ASK, context=[b, a, c], **SHORT).kv.ids


def test_over_text_the_text_of_each_input_stands_in_the_turn():
    out = flow(*diamond(), comm="text")(ASK, **SHORT)
    top = think(ASK, inner="text")
    hear = lambda name, said, text: f"{name}:\n{str(said).strip()}\n\n{text}"  # noqa: E731
    if str(top).strip():
        left = think(hear("Top", top, f"{ASK}\n\nLook left."), inner="text")
        right = think(hear("Top", top, f"{ASK}\n\nLook right."), inner="text")
        turn = f"Left:\n{str(left).strip()}\n\n" + hear("Right", right, ASK)
        assert out == solver()(turn, **SHORT)
    assert out.usage.latent == 0 and out.usage.relocated == 0


def test_a_step_that_is_read_as_text_speaks_while_others_think():
    out = flow(step("a"), step("b"), step("c", "query", "a", comm="text"),
               step("d", "query", "b", "c"))(ASK, **SHORT)  # fmt: skip
    inner = {e.detail["step"]: e.detail["inner"] for e in out.trace if e.kind == "call"}
    assert inner == {"a": "text", "b": "latent", "c": "text", "d": "text"}
    with pytest.raises(PlanError, match="step 'a' must have inner='text'"):
        flow(step("a", inner="latent"), step("c", "query", "a", comm="text"))


def test_equal_steps_of_a_wave_run_as_one_batch():
    heard = {}

    class Hearing(Agents):
        def __call__(self, name, *prompt, **sampling):
            agent = heard.setdefault(name, Heard(super().__call__(name, *prompt, **sampling)))
            agent.name = name
            return agent

    flow(*diamond(), agents=Hearing(engine()))(["why?", "how?"], **SHORT)
    (agent,) = heard.values()
    assert [len(turns) for turns in agent.turns] == [2, 4, 2]
    assert sorted(agent.turns[1])[:2] == ["how?\n\nLook left.", "how?\n\nLook right."]


def test_a_batch_gives_what_single_calls_give():
    one = flow(*diamond())
    outs = one(["why?", "how?"], **SHORT)
    assert outs == [one("why?", **SHORT), one("how?", **SHORT)]
    pieces: dict[int, str] = {}
    streamed = one(
        ["why?", "how?"],
        **SHORT,
        stream=lambda row, text: pieces.update({row: pieces.get(row, "") + text}),
    )
    assert [pieces[0], pieces[1]] == streamed == outs


def test_a_plan_of_one_step_is_the_primitive_itself():
    inside = Review(engine(), 1, **FAST, seed=3)
    out = flow(step("a", primitive="review", rounds=1), seed=3)(ASK, **SHORT)
    assert out == inside(ASK, **SHORT)


def test_a_plan_is_an_agent_and_takes_any_role():
    inner = flow(*diamond(), name="inner")
    out = Review(engine(), 1, solver=inner, **FAST)(ASK, **SHORT)
    assert out.finish in ("stop", "length") and statuses(out)["end"] == "done"
    thought = inner.think(ASK, steps=2)
    assert thought == "" and thought.finish == "handover" and thought.name == "inner"
    after = Agent(engine(), "Go on.")(ASK, context=[thought], **SHORT)
    assert after.usage.reused >= len(thought.kv) - thought.system_end


def test_a_plan_in_a_plan_gives_what_the_steps_give_in_one():
    whole = [step("a"), step("b", "query", "a"), step("c", "query", "b")]
    nested = step("n", primitive="plan", plan={"steps": whole[:2]})
    out = flow(nested, step("c", "query", "n"))(ASK, **SHORT)
    assert out == flow(*whole)(ASK, **SHORT)
    assert set(out.usage.roles) == {"n.a.solver", "n.b.solver", "c.solver"}


def test_a_context_from_outside_comes_with_the_query_once():
    note = Agent(engine(), "Note.", name="note").think("the key", steps=2)
    kept = note.kv.ids[note.system_end :]
    for carry in ("no_system", "reply"):
        out = flow(*diamond(), carry=carry)(ASK, context=[note], **SHORT)
        receivers = [e.detail["step"] for e in out.trace
                     if e.kind == "handover" and e.detail["sender"] == "note"]  # fmt: skip
        everyone = ["top", "left", "right", "end"]
        assert receivers == (["top"] if carry == "no_system" else everyone)
    assert len(kept) and note.kv.ids  # the caller's own cache is still there


@pytest.mark.filterwarnings("ignore:rotate=False")
def test_a_call_says_how_caches_travel_before_the_step_and_the_step_before_the_plan():
    one = flow(*diamond(join="append"), join="relocate")
    joins = lambda out: {e.detail["step"]: e.detail["join"] for e in out.trace  # noqa: E731
                         if e.kind == "handover"}  # fmt: skip
    assert joins(one(ASK, **SHORT)) == {"left": "append", "right": "append", "end": "relocate"}
    assert set(joins(one(ASK, join="append", **SHORT)).values()) == {"append"}
    flat = one(ASK, rotate=False, join="relocate", **SHORT)
    assert flat.usage.relocated == 0 < one(ASK, join="relocate", **SHORT).usage.relocated


def test_only_live_edges_hold_pages():
    """A chain holds two caches at a time, however long it is."""

    def peak(length: int) -> int:
        chain = [step(f"s{n}", *([f"s{n - 1}"] if n else []), "query", carry="reply")
                 for n in range(length)]  # fmt: skip
        pool, most = engine().pool, []
        one = Flow(engine(), plan(*chain), steps=8, watch=lambda *_: most.append(pool.num_free))
        one(ASK, **SHORT)  # system prompts are read now
        most.clear()
        free = pool.num_free
        one(ASK, **SHORT)
        return free - min(most)

    gc.collect()
    assert 0 < peak(12) <= peak(3) + 1


def test_two_threads_may_use_one_plan_at_once():
    one = flow(*diamond())
    expected = [one(q, **SHORT) for q in ("why?", "how?")]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda q: one(q, **SHORT), ["why?", "how?"] * 4))
    assert found == expected * 4
