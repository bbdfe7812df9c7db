"""Who is asked how often, and what they are told, in the published methods."""

import pytest

from tests.evaluate.methods.team import QUESTIONS, Script, calls, events, passes, run

ONE, SEED = ["why?"], [3]


def counter():
    """Say `<role> says <n>`, counting the turns of each role."""
    seen = {}

    def speak(role, turn):
        seen[role] = seen.get(role, 0) + 1
        return f"{role} says {seen[role]}"

    return speak


def test_debaters_go_on_with_their_own_words_and_read_those_of_all_others(monkeypatch):
    script, seen = Script(monkeypatch, counter()), passes(monkeypatch)
    (out,) = run("llm_debate", ONE, SEED)
    assert script.roles() == ["debater"] * 6 and seen == [3, 3]  # a round is one batch
    assert script.chats[0] == ("debater", "why?")
    for number, (_, chat) in enumerate(script.chats[1:], 1):
        asked, own, update = (message["content"] for message in chat)
        assert [message["role"] for message in chat] == ["user", "assistant", "user"]
        assert asked == "why?" and own == f"debater says {number}"
        others = [n for n in (1, 2, 3) if f"Agent {n}:\ndebater says {n}" in update]
        assert others == [n for n in (1, 2, 3) if n != number] and "Task: why?" in update
    assert calls(out) == ["debater"] * 6 and out.usage.generative_calls == 6
    assert events(out, "vote")[0]["answers"] == ["4", "5", "6"] and out == "debater says 4"


def test_one_debater_has_nobody_to_hear(monkeypatch):
    script = Script(monkeypatch, counter())
    assert run("llm_debate", ONE, SEED, agents=1) == ["debater says 2"]
    assert script.roles() == ["debater"] * 2 and "Agent 1" not in script.turns("debater")[1]


def test_a_debate_is_won_by_the_majority_of_the_last_round(monkeypatch):
    words = iter(["1", "1", "1", "it is 5", "it is 7", "so 7"])
    Script(monkeypatch, lambda role, turn: next(words))
    assert run("llm_debate", ONE, SEED) == ["it is 7"]


@pytest.mark.parametrize("name", ["self_consistency", "llm_debate", "gptswarm", "dylan"])
def test_each_question_has_its_own_way_to_compare_answers(monkeypatch, name):
    seen = {}

    def speak(role, turn):
        question = "first" if "first" in turn else "second"
        seen[question] = seen.get(question, 0) + 1
        return f"{seen[question]}b" if seen[question] > 1 else "1a"

    Script(monkeypatch, speak)
    extracts = [lambda text: text[0], lambda text: text[-1]]
    outs = run(name, ["the first", "the second"], [3, 4], extracts=extracts)
    votes = [events(out, "vote")[0]["answers"] for out in outs]
    assert all(answer.isdigit() for answer in votes[0]) and set(votes[1]) <= {"a", "b"}
    with pytest.raises(ValueError, match="extracts must have 2 entries, got 1"):
        run(name, ["the first", "the second"], [3, 4], extracts=extracts[:1])


def test_self_consistency_asks_one_agent_once_for_all_samples(monkeypatch):
    words = iter("7 5 5 7 5".split())
    script, seen = Script(monkeypatch, lambda role, turn: next(words)), passes(monkeypatch)
    (out,) = run("self_consistency", ONE, SEED)
    assert out == "5" and script.roles() == ["solver"] * 5 and seen == [5]
    assert out.usage.generative_calls == 5 and events(out, "vote")[0]["kept"] == [1]


def test_self_refine_stops_for_the_content_and_goes_on_for_the_others(monkeypatch):
    def speak(role, turn):
        content = "why" in turn or turn.count("Answer:") == 2
        return {"feedback": "CORRECT" if content else "wrong", "solver": "one"}.get(role, "two")

    script, seen = Script(monkeypatch, speak), passes(monkeypatch)
    outs = run("self_refine")
    assert outs == ["two", "one", "two"]
    order = [("solver", 3), ("feedback", 3), ("refiner", 2), ("feedback", 2)]
    assert script.roles() == [role for role, rows in order for _ in range(rows)]
    assert seen == [rows for _, rows in order]
    assert [len(calls(out)) for out in outs] == [4, 2, 4]
    assert "Answer:\none\n\nFeedback:\nwrong\n\nAnswer the task again" in script.turns("refiner")[0]


def test_self_refine_tries_four_times(monkeypatch):
    script = Script(monkeypatch, counter())
    (out,) = run("self_refine", ONE, SEED)
    assert out == "refiner says 4" and script.roles().count("feedback") == 4
    last = script.turns("refiner")[-1]
    assert all(f"feedback says {n}" in last for n in (1, 2, 3, 4)) and "solver says 1" in last


def test_each_diverse_attempt_reads_those_before_and_the_decider_all(monkeypatch):
    script = Script(monkeypatch, counter())
    assert run("quality_diversity", ONE, SEED) == ["decider says 1"]
    assert script.roles() == ["solver"] * 4 + ["decider"]
    for number, (_, turn) in enumerate(script.heard):
        assert turn.count("solver says") == number


def test_personas_are_one_call(monkeypatch):
    script, seen = Script(monkeypatch, counter()), passes(monkeypatch)
    assert run("spp") == ["personas says 1", "personas says 2", "personas says 3"]
    assert script.heard == [("personas", question) for question in QUESTIONS] and seen == [3]


def test_agentverse_recruits_decides_and_recruits_again_with_advice(monkeypatch):
    teams = iter(["1. a chemist\n2. a judge", "no list"])
    verdicts = iter(["wrong", "AGREE", "wrong", "wrong", "wrong"])

    def speak(role, turn):
        if role == "recruiter":
            return next(teams)
        return {"critic": lambda: next(verdicts), "solver": lambda: "s"}.get(
            role, lambda: "get a doctor"
        )()

    script = Script(monkeypatch, speak)
    (out,) = run("agentverse", ONE, SEED, turns=2)
    first = ["recruiter", "solver", "critic", "solver", "critic", "evaluator"]
    second = ["recruiter", "solver", *["critic", "solver"] * 3]
    assert script.roles() == first + second and out == "s"
    assert "You are a chemist." in script.turns("solver")[0]
    assert "You are a judge." in script.turns("critic")[0]
    assert "Critic 1:\nwrong" in script.turns("solver")[1]
    assert "Advice:\nget a doctor" in script.turns("recruiter")[1]
    assert [plan["named"] for plan in events(out, "plan")] == [2, 0]


def test_agentverse_ends_where_the_evaluator_accepts(monkeypatch):
    def speak(role, turn):
        done = {"critic": "AGREE", "evaluator": "CORRECT" if "why" in turn else "no"}
        return done.get(role, "x")

    outs = (Script(monkeypatch, speak), run("agentverse"))[1]
    assert [calls(out).count("recruiter") for out in outs] == [3, 1, 3]
    assert [calls(out).count("evaluator") for out in outs] == [2, 1, 2]


def test_swarm_agents_read_those_with_an_edge_to_them(monkeypatch):
    script = Script(monkeypatch, counter())
    (out,) = run("gptswarm", ONE, SEED)
    assert script.roles() == ["io1", "cot2", "cot3", "reflect4", "reflect4", "reflect4"]
    reads = events(out, "plan")[0]["reads"]
    assert len(reads) == 4 and all(one < place for place, row in enumerate(reads) for one in row)
    for place, (_, turn) in enumerate(script.heard[:4]):
        assert [one for one in range(4) if f"Agent {one + 1}:" in turn] == reads[place]
    assert "Reflection:\nreflect4 says 2" in script.heard[-1][1]
    assert len(events(out, "vote")[0]["answers"]) == 4
    (full,) = run("gptswarm", ONE, SEED, edges=1.0)
    assert events(full, "plan")[0]["reads"] == [[], [0], [0, 1], [0, 1, 2]]
    assert len({str(events(one, "plan")) for one in run("gptswarm", ONE * 9, range(9))}) > 3


def test_the_procedure_of_documents_and_its_repairs(monkeypatch):
    def speak(role, turn):
        return ("PASS" if "why" in turn else "fails") if role == "tester" else f"by {role}"

    script = Script(monkeypatch, speak)
    outs = run("metagpt_control")
    chain = ["product_manager", "architect", "project_manager", "engineer", "tester"]
    assert calls(outs[1]) == chain
    assert calls(outs[0]) == [*chain, "engineer", "tester", "engineer"]
    engineer = script.turns("engineer")[0]
    assert "Design:\nby architect" in engineer and "Work plan:\nby project_manager" in engineer
    assert "Requirements" not in engineer  # it does not subscribe to them
    assert "Report:\nfails" in script.turns("engineer")[3]


def test_a_network_without_centre_passes_on_splits_and_executes(monkeypatch):
    others = {"analyst": "reasoner", "reasoner": "expert", "expert": "analyst"}

    def speak(role, turn):
        if "Decide what you do" not in turn:
            return f"work of {role}"
        first = "work of" not in turn
        return f"SPLIT {others[role]}" if first else f"FORWARD to the {others[role]}"

    script = Script(monkeypatch, speak)
    (out,) = run("agentnet_control", ONE, SEED)
    entry = calls(out)[0]
    second, last = others[entry], others[others[entry]]
    assert calls(out) == [entry, entry, second, last]  # the last has nobody left and executes
    assert [e["chosen"] for e in events(out, "route")] == ["SPLIT", "FORWARD", "EXECUTE"]
    assert out == f"work of {last}" and f"work of {entry}" in script.turns(last)[0]
    entries = {calls(one)[0] for one in run("agentnet_control", ONE * 9, range(9))}
    assert entries == set(others)


def test_who_executes_at_once_ends_the_way(monkeypatch):
    Script(monkeypatch, lambda role, turn: "EXECUTE, not the expert nor the analyst")
    outs = run("agentnet_control")
    assert [len(calls(out)) for out in outs] == [2, 2, 2]
    assert all(len(events(out, "route")) == 1 for out in outs)
