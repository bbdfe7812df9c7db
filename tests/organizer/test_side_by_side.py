"""Plans of their own for each query, run side by side: the same answers in fewer passes."""

import gc
from dataclasses import replace

import pytest

from agentprim import Engine, PlanError, System
from agentprim.engine import Usage
from agentprim.organizer.proposal import Proposal
from agentprim.workflow.build import Agents
from tests.engine.making import engine
from tests.support.tiny import build
from tests.support.tokenizer import tiny_tokenizer
from tests.workflow.plans import FAST, SHORT, Saboteur, diamond, plan, statuses, step

PLANS = {
    "why?": plan(*diamond(roles={"solver": "You look."})),
    "how?": plan(step("a", primitive="review"), step("b", "query", "a")),
    "who?": plan(step("v", primitive="voting", solvers=3)),
    "when?": plan(step("p", primitive="planning", executors=2), step("q", "query", "p")),
}


class Fixed:
    """Proposes a plan by query, at a cost."""

    def propose(self, query: str) -> Proposal:
        """Look it up."""
        usage = Usage.of("organizer", decoded=len(query))
        return Proposal(plan=PLANS[query], source="llm", usage=usage)


def system(one=None, **options):
    return System(one or engine(), organizer=Fixed(), **{**FAST, **options})


def rounded(value):
    if isinstance(value, dict):
        return {name: rounded(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return round(value, 3) if isinstance(value, float) else value


def told(out):
    """Return an answer with its costs and its trace, without seconds and to three digits."""
    roles = {name: replace(cost, seconds=0.0) for name, cost in out.usage.roles.items()}
    events = [
        (event.kind, event.role, rounded({**event.detail, "seconds": 0.0})) for event in out.trace
    ]
    return str(out), out.finish, out.kv.ids, roles, events


def test_each_query_gets_what_its_plan_gives_alone():
    passes = []
    hook = engine().model.base_model.register_forward_pre_hook(lambda *_: passes.append(1))
    try:
        run = system()
        run(list(PLANS), **SHORT)  # every system prompt is read
        passes.clear()
        outs = run(list(PLANS), **SHORT)
        together = len(passes)
        passes.clear()
        alone = [run(query, **SHORT) for query in PLANS]
    finally:
        hook.remove()
    assert [told(out) for out in outs] == [told(out) for out in alone]
    assert together * 4 < len(passes) * 3


def test_a_pool_with_room_for_one_after_the_other_has_room_for_all():
    roomy = Engine(build("qwen3"), tiny_tokenizer(), pool_tokens=4096, page_size=4)
    run = system(roomy)
    run(list(PLANS), **SHORT)  # every system prompt is read
    roomy.pool.peak_pages = 0
    expected = [run(query, **SHORT) for query in PLANS]  # each keeps its pages
    needed, roomy.pool.peak_pages = roomy.pool.peak_pages, 0
    run(list(PLANS), **SHORT)
    assert roomy.pool.peak_pages > needed
    small = Engine(build("qwen3"), tiny_tokenizer(), pool_tokens=4 * needed, page_size=4)
    outs = system(small)(list(PLANS), **SHORT)
    assert outs == expected and [out.finish for out in outs] == ["length"] * 4


@pytest.mark.parametrize("strict", [False, True])
def test_a_step_that_fails_is_a_matter_of_its_plan(strict):
    run = system(agents=Saboteur("Look left."), strict=strict)
    if strict:
        with pytest.raises(RuntimeError, match="cannot say") as caught:
            run(list(PLANS), **SHORT)
        assert "in step 'left'" in "".join(caught.value.__notes__)
        return
    outs = [run(list(PLANS), **SHORT) for _ in range(2)][1]  # every system prompt is read
    assert statuses(outs[0])["left"] == "failed" and outs[0].finish == "error"
    alone = [run(query, **SHORT) for query in PLANS]
    assert [told(out) for out in outs] == [told(out) for out in alone]


def test_a_plan_that_does_not_fit_says_which(monkeypatch):
    bad = plan(step("a", comm="kv", inner="latent"), step("b", "query", "a", comm="text"))
    monkeypatch.setitem(PLANS, "how?", bad)
    with pytest.raises(PlanError, match="step 'a' must have inner='text'") as caught:
        system()(list(PLANS), **SHORT)
    assert "in a plan of the organizer" in caught.value.__notes__[-1]


class Late(Agents):
    """Makes agents that fail at a batch when all is said."""

    def __call__(self, *prompt, **sampling):
        """Return the agent of a prompt."""
        agent = super().__call__(*prompt, **sampling)

        def answer(turns, **options):
            outs = agent(turns, **options)
            if len(turns) > 1:
                raise RuntimeError("too many")
            return outs

        answer.name = agent.name
        return answer


def test_a_step_that_begins_again_says_nothing_twice():
    run, heard = System(engine(), plan(step("a")), agents=Late(engine())), ["", ""]

    def hear(row, text):
        heard[row] += text

    outs = run(["why?", "how do you do?"], stream=hear, **SHORT)
    assert heard == outs and all(heard) and [out.finish for out in outs] == ["length"] * 2


def test_nothing_is_left_of_many_plans():
    run, one = system(), engine()
    run(list(PLANS), **SHORT)
    gc.collect()
    free = one.pool.num_free
    gc.disable()
    try:
        for _ in range(5):
            run(list(PLANS), **SHORT)
            assert one.pool.num_free == free
    finally:
        gc.enable()
