"""Queries planned together: each gets the plan, the story and the cost that it has alone."""

import gc
import json
from dataclasses import replace

import pytest

from agentprim import KnowledgePool, Organizer, PlanError, System
from agentprim.evaluate.methods.system import Ready
from agentprim.organizer import FALLBACK, Backend, Local, Remote, Unanswered
from agentprim.organizer.prompt import SYSTEM
from tests.engine.making import engine
from tests.organizer.byte_engine import byte_engine
from tests.support.server import answer, serving
from tests.workflow.plans import FAST, SHORT, diamond, plan, step

GOOD, OTHER = plan(*diamond()), plan(step("only"))
POOL = KnowledgePool.builtin()
# within the limit the second is whole only when it is asked again; the others end before it
QUERIES = ["how many apples are there in the box?", "who?", "y"]
LIMIT = 120


class Turns:
    """Says for each query its own lines in turn; what is an exception is raised."""

    def __init__(self, **lines) -> None:
        """Take lists of lines by query."""
        self.lines, self.asked = lines, []

    def __call__(self, messages):
        """Say the next line of the query that is asked about."""
        quoted = messages[1]["content"].split("Query, as data:\n")[1].split("\n")[0]
        query, turn = json.loads(quoted), len(messages) // 2 - 1
        self.asked.append((query, turn))
        line = self.lines[query][turn]
        if isinstance(line, Exception):
            raise line
        return line


def timeless(proposal):
    """Return a proposal without seconds."""
    roles = {name: replace(cost, seconds=0.0) for name, cost in proposal.usage.roles.items()}
    return replace(proposal, usage=replace(proposal.usage, roles=roles))


def test_refused_queries_are_asked_again_together_and_the_others_are_not():
    lines = {
        "good": [GOOD.to_json()], "late": ["no", OTHER.to_json()], "never": ["no", "no"],
        "silent": [None], "away": [Unanswered("oh")],
    }  # fmt: skip
    script = Turns(**lines)
    found = Organizer(script, POOL).propose_each(list(lines))
    first, second = script.asked[:5], script.asked[5:]
    assert first == [(name, 0) for name in lines] and second == [("late", 1), ("never", 1)]
    assert [one.plan for one in found] == [GOOD, OTHER, FALLBACK, FALLBACK, FALLBACK]
    assert [len(one.problems) for one in found] == [0, 1, 2, 1, 1]
    assert "NoneType" in found[3].problems[0] and found[4].problems == ("oh",)
    single = Organizer(Turns(**lines), POOL)
    assert found == [single.propose(name) for name in lines]
    script = Turns(**lines)
    with pytest.raises(PlanError, match="no JSON with steps"):
        Organizer(script, fallback=None).propose_each(["never", "good"])
    assert ("good", 0) in script.asked
    assert Organizer(script).propose_each([]) == []


def test_an_engine_plans_for_a_batch_as_for_each_alone():
    """With rows that end early, one that is cut off and asked again, and what each cost."""
    apart, together = (
        Organizer(kind(byte_engine(), most_steps=1, max_new_tokens=LIMIT)) for kind in (Ready,) * 2
    )
    alone = [timeless(apart.propose(query)) for query in QUERIES]
    found = [timeless(one) for one in together.propose_each(QUERIES)]
    assert found == alone
    assert [one.source for one in found] == ["llm", "llm", "llm"]
    assert [len(one.problems) for one in found] == [0, 1, 0]
    assert "cut off by its limit" in found[1].problems[0]
    decoded = [one.usage.decoded for one in found]
    assert decoded[0] < LIMIT < decoded[1] and decoded[2] < LIMIT
    assert all(one.usage.generative_calls == 1 + len(one.problems) for one in found)
    reused = [one.usage.reused / one.usage.generative_calls for one in found]
    assert len(set(reused)) == 1 and reused[0] > 0  # none paid for the system prompt


def test_a_pool_too_small_for_the_batch_writes_halves_and_refuses_what_has_no_room():
    roomy = Organizer(Local(byte_engine(), most_steps=1, max_new_tokens=LIMIT), retries=0)
    roomy.llm.agent(SYSTEM).prepare()
    expected = [timeless(roomy.propose(query)) for query in QUERIES]
    small = byte_engine(pool_tokens=1120)  # two rows can be read, but not answered to their end
    organizer = Organizer(Local(small, most_steps=1, max_new_tokens=LIMIT), retries=0)
    sizes, agent = [], organizer.llm.agent(SYSTEM)
    agent.prepare()
    free = small.pool.num_free

    def counted(turns, **options):
        sizes.append(len(turns))
        return agent(turns, **options)

    organizer.llm._agents[SYSTEM] = counted
    found = organizer.propose_each([*QUERIES, "long " * 500])
    assert [timeless(one) for one in found[:3]] == expected
    assert found[3].fallback and "no room for a plan: requested" in found[3].problems[0]
    assert sizes == [4, 2, 1, 1, 2, 1, 1]
    gc.collect()
    assert small.pool.num_free == free


def test_an_endpoint_is_asked_for_several_at_once_and_one_fault_is_of_one_query():
    pytest.importorskip("openai")

    def reply(sent):
        if "broken" in sent["messages"][1]["content"]:
            return 500, {"error": {"message": "broken"}}
        return answer((OTHER if "other" in sent["messages"][1]["content"] else GOOD).to_json())

    with serving(reply) as (address, seen):
        organizer = Organizer(Remote("planner", address, timeout=5), None)
        found = organizer.propose_each(["good", "broken", "other"])
    assert [one.plan for one in found] == [GOOD, FALLBACK, OTHER] and len(seen) == 3
    assert "InternalServerError" in found[1].problems[0]
    assert [one.usage.generative_calls for one in found] == [1, 0, 1]


def test_a_system_asks_once_for_all_queries_that_differ():
    class Counting:
        def __init__(self, backend) -> None:
            self.inner, self.batches = backend, []

        def __call__(self, messages):
            return self.each([messages])[0]

        def each(self, asked):
            self.batches.append(len(asked))
            return self.inner.each(asked)

    local = Local(engine(), max_new_tokens=3, free=True)
    backend = Counting(local)
    assert isinstance(backend, Backend)
    local.agent(SYSTEM).prepare()
    run = System(engine(), organizer=Organizer(backend), **FAST)
    outs = run(["why?", "how?", "why?"], **SHORT)
    assert backend.batches == [2, 2]
    assert [out.usage.roles.get("organizer") is not None for out in outs] == [True, True, False]
    assert [out.usage.roles["organizer"].decoded for out in outs[:2]] == [6, 6]
    assert outs == run(["why?"], **SHORT) + run(["how?"], **SHORT) + run(["why?"], **SHORT)


def test_what_only_proposes_one_by_one_still_serves_a_system():
    class Single:
        def propose(self, query):
            return Organizer(lambda messages: GOOD.to_json()).propose(query)

    queries = ["why?", "how?"]
    outs = System(engine(), organizer=Single(), **FAST)(queries, **SHORT)
    assert outs == System(engine(), GOOD, **FAST)(queries, **SHORT)
