"""Decisions of a local model are probabilities of whole replies, whatever the order or batch."""

import gc
import itertools
import math

import pytest
import torch

import agentprim as ap
from agentprim.decide import Decider, choose, judge, score
from agentprim.decide import local as readout
from agentprim.decide.decision import decide
from agentprim.decide.question import NONE_OF_THESE
from tests.engine.making import A, engine, plain_logits, twin

STATE = "a note about numbers"
ASKED = [
    choose(["red", "green", "blue one"], "which?"),
    score(range(9, 12), "how many?"),
    judge("is it so?"),
]


def _pack(monkeypatch, packed: bool) -> None:
    """Let decisions take one pass, or the two of models that cannot pack rows."""
    if not packed:
        monkeypatch.setattr(readout, "can_pack", lambda engine: False)


def _by_hand(model, decider: Decider, ids: list[int], question) -> dict[str, float]:
    """Score each option by one uncached run over everything before it and itself."""
    local = decider.backend
    turn = local._chat.turn([{"role": "user", "content": question.prompt}])
    found = {}
    for option in question.options:
        reply = local.engine.encode(option)
        logits = plain_logits(model, [*ids, *turn, *reply])
        log_probs = torch.log_softmax(logits.double(), -1)[-len(reply) - 1 :]
        said = sum(float(log_probs[i, token]) for i, token in enumerate(reply))
        found[option] = said + float(log_probs[-1, local._ends].logsumexp(0))
    top = max(found.values())
    total = sum(math.exp(one - top) for one in found.values())
    return {name: math.exp(one - top) / total for name, one in found.items()}


@pytest.mark.parametrize("packed", [True, False])
def test_probabilities_are_those_of_whole_replies(packed, monkeypatch):
    _pack(monkeypatch, packed)
    decider = Decider(engine())
    kv = decider.backend.engine.prefill(A)
    for question, decision in zip(ASKED, decider.ask(ASKED, kv), strict=True):
        expected = _by_hand(twin(), decider, A, question)
        assert decision.probabilities == pytest.approx(expected, abs=1e-4)
        assert sum(decision.probabilities.values()) == pytest.approx(1, abs=1e-12)
        assert decision.choice == max(expected, key=expected.get)


@pytest.mark.parametrize("packed", [True, False])
def test_questions_asked_together_are_answered_like_single_ones(packed, monkeypatch):
    _pack(monkeypatch, packed)
    decider = Decider(engine("mistral"))
    kv = decider.backend.engine.prefill(A)
    together = decider.ask(ASKED, kv)
    for question, decision in zip(ASKED, together, strict=True):
        alone = decider.ask([question], kv)[0]
        assert decision.probabilities == pytest.approx(alone.probabilities, abs=1e-4)
        assert decision.tokens == alone.tokens


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("prior", [False, True])
def test_states_of_their_own_are_judged_together_like_single_ones(packed, prior, monkeypatch):
    _pack(monkeypatch, packed)
    one = engine()
    decider = Decider(one, prior=prior)
    states = [one.prefill(A), STATE, one.prefill(A[:3]), STATE]
    asked = list(zip([ASKED[0], ASKED[1], ASKED[0], ASKED[2]], states, strict=True))
    together = decider.ask_each(asked)
    for (question, state), decision in zip(asked, together, strict=True):
        alone = decider.ask([question], state)[0]
        assert decision.probabilities == pytest.approx(alone.probabilities, abs=1e-4)
    again = decider.ask_each(asked)
    assert again[1].tokens == decider.ask([ASKED[1]], STATE)[0].tokens > again[3].tokens
    assert decider.ask_each([]) == []


@pytest.mark.parametrize("listed", [True, False])
def test_the_order_of_options_changes_nothing(listed):
    decider = Decider(engine())
    options = ["red", "green", "blue one"]
    kv = decider.backend.engine.prefill(A)
    answers = [
        decider.choose(list(order), "which?", kv, listed=listed)
        for order in itertools.permutations(options)
    ]
    for answer in answers[1:]:
        assert answer.choice == answers[0].choice
        assert answer.probabilities == pytest.approx(answers[0].probabilities, abs=1e-5)


@pytest.mark.parametrize("order", [1, -1])
def test_a_prefix_of_a_longer_option_does_not_lose_to_it(order):
    """See sgl-project/sglang #523 and EleutherAI/lm-evaluation-harness #1396.

    After the prompt `organ` has 0.5; behind it the end has 0.7 and `omet` 0.3; `al`, `lic` and
    the end are certain. A mean over tokens without the end would choose the long option.
    """
    organ, omet, al, lic, end = range(5)
    replies = {"organ": [organ], "organometallic": [organ, omet, al, lic]}
    before = _log({organ: 0.5})
    behind = {organ: {end: 0.7, omet: 0.3}, omet: {al: 1.0}, al: {lic: 1.0}, lic: {end: 1.0}}
    log_probs = {
        name: readout.sequence_log_prob(
            before, torch.stack([_log(behind[token]) for token in ids]), ids, [end]
        )
        for name, ids in list(replies.items())[::order]
    }
    decision = decide("choose", log_probs, None)
    assert decision.probabilities == pytest.approx({"organ": 0.7, "organometallic": 0.3})
    assert decision.choice == "organ"


def _log(line: dict[int, float]) -> torch.Tensor:
    return torch.tensor([line.get(token, 0.0) for token in range(5)]).log()


def test_a_score_is_the_mean_of_its_levels():
    decision = Decider(engine()).score([1, 5, 100], "how good?", STATE)
    p = decision.probabilities
    assert decision.value == pytest.approx(p["1"] + 5 * p["5"] + 100 * p["100"])
    texts = Decider(engine()).score(["bad", "fair", "good"], "how good?", STATE)
    p = texts.probabilities
    assert texts.value == pytest.approx(p["fair"] + 2 * p["good"])


def test_a_judgement_is_the_probability_of_yes():
    decision = Decider(engine()).judge("is it so?", STATE)
    assert decision.value == decision.probabilities["yes"]
    n = len(decision.probabilities)
    entropy = -sum(p * math.log(p) for p in decision.probabilities.values())
    assert decision.confidence == pytest.approx(1 - entropy / math.log(n))


def test_none_of_these_is_an_option_where_asked():
    decision = Decider(engine()).choose(["a", "b"], "which?", STATE, none=True)
    assert list(decision.probabilities) == ["a", "b", NONE_OF_THESE]


def test_a_prior_takes_away_what_is_said_without_a_state():
    one = engine()
    plain, corrected = Decider(one), Decider(one, prior=True)
    empty = plain.backend._chat.system(plain.backend.instructions)
    raw = plain.ask(ASKED[:1], STATE)[0].log_probs
    without = plain.ask(ASKED[:1], one.prefill(empty))[0].log_probs
    first, again = (corrected.ask(ASKED[:1], STATE)[0] for _ in range(2))
    for name in raw:
        assert first.log_probs[name] == pytest.approx(raw[name] - without[name], abs=1e-3)
    assert again.probabilities == first.probabilities and again.tokens < first.tokens


def test_the_pool_and_the_state_are_as_before():
    one = engine()
    kv = one.prefill(A)
    gc.collect()  # what earlier tests left in circles
    free, spans = one.pool.num_free, kv.spans
    Decider(one).ask(ASKED, kv)
    assert one.pool.num_free == free and kv.spans == spans
    Decider(one).ask(ASKED, STATE)
    assert one.pool.num_free == free


def test_an_output_is_judged_by_its_cache_and_without_one_by_its_text():
    one = engine()
    draft = ap.Agent(one, "Say.", name="solver")("why?", max_new_tokens=4)
    by_cache = Decider(one).judge("is it so?", draft)
    assert by_cache.probabilities == Decider(one).judge("is it so?", draft.kv).probabilities
    text = ap.Output("a note")
    by_text = Decider(one).judge("is it so?", text)
    assert by_text.probabilities == Decider(one).judge("is it so?", "a note").probabilities


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda d: d.choose(["a"], "which?", STATE), "at least two"),
        (lambda d: d.choose(["a", "a "], "which?", STATE), "'a ' twice"),
        (lambda d: d.choose(["a", " "], "which?", STATE), "an empty one"),
        (lambda d: d.choose(["a", "b"], " ", STATE), "an empty one"),
        (lambda d: d.judge("is it?", "  "), "an empty text"),
        (lambda d: d.judge("is it?", engine("llama").prefill(A)), "another pool"),
        (lambda d: d.ask([], STATE), "at least one entry"),
    ],
)
def test_bad_questions_get_one_clear_error(ask, message):
    with pytest.raises(ValueError, match=message):
        ask(Decider(engine()))
    with pytest.raises(TypeError, match="a list of texts"):
        choose("red", "which?")
    with pytest.raises(TypeError, match="state must be text"):
        Decider(engine()).judge("is it?", 7)
