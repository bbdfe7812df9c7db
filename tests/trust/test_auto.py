"""`join="auto"`: the cheapest way that is certified near enough, never silently."""

from dataclasses import replace

import pytest

import agentprim as ap
from agentprim.engine.certificate import Interval
from agentprim.engine.certificates import save
from agentprim.engine.way import Way
from agentprim.trust.auto import settle
from agentprim.trust.ways import APPEND, RELOCATE, REPAIRS

SHORT = {"max_new_tokens": 3}
NOTE = "The key is under the pot."


@pytest.fixture
def with_kl(certified):
    """Return a function: an engine whose certificate says these upper ends, by way."""
    engine, certificate = certified

    def make(highs):
        rows = []
        for row in certificate.fidelity:
            high = highs.get(row.way)
            if high is not None:
                kl = Interval(mean=high / 2, low=0.0, high=high, n=9)
                rows.append(replace(row, kl=kl))
        save(replace(certificate, fidelity=tuple(rows)))
        return engine

    return make


FIRST, SHARE, BOTH = REPAIRS
CASES = [
    ({RELOCATE: 0.09, FIRST: 0.01, APPEND: 0.0}, RELOCATE),
    ({RELOCATE: 0.11, FIRST: 0.1, APPEND: 0.0}, FIRST),
    ({RELOCATE: 0.2, FIRST: 0.2, SHARE: 0.05, BOTH: 0.01, APPEND: 0.0}, SHARE),
    ({RELOCATE: 0.2, FIRST: 0.2, SHARE: 0.2, BOTH: 0.2, APPEND: 0.0}, APPEND),
    ({RELOCATE: 0.2, APPEND: 0.2}, Way(join="repair", share=1.0)),
]


@pytest.mark.parametrize(("highs", "expected"), CASES, ids=lambda value: str(value)[:30])
def test_the_cheapest_way_within_the_bound_is_chosen(with_kl, highs, expected):
    choice = settle(
        with_kl(highs), ap.Auto(), carry=None, offsets="consecutive", receiver_tokens=64, senders=1
    )
    assert choice.way == expected
    assert "0.1" in choice.why


def test_the_choice_stands_in_the_trace_with_its_reason(with_kl):
    engine = with_kl({RELOCATE: 0.3, FIRST: 0.04, APPEND: 0.0})
    reader = ap.Agent(engine, "You read.", name="reader")
    answerer = ap.Agent(engine, "You answer.", name="answerer")
    read = reader.think(NOTE, inner="prefill")
    out = answerer("Where is it?", context=[read], join="auto", **SHORT)
    event = next(e for e in out.trace if e.kind == "handover" and e.role == "answerer")
    assert event.detail["join"] == "repair" and event.detail["chosen_by"] == "auto"
    assert (event.detail["kl"], event.detail["kl_high"]) == (0.02, 0.04)
    assert "cheaper: relocate, no_system: KL 0.150, at most 0.300" in event.detail["why"]
    by_name = answerer("Where is it?", context=[read], join=ap.Repair(first=16, share=0.0), **SHORT)
    assert str(out) == str(by_name) and out.kv.ids == by_name.kv.ids
    assert out.usage.recomputed == by_name.usage.recomputed > 0


def test_another_bound_chooses_otherwise(with_kl):
    engine = with_kl({RELOCATE: 0.3, FIRST: 0.04, APPEND: 0.0})
    answerer = ap.Agent(engine, "You answer.")
    read = answerer.think(NOTE, inner="prefill")
    for bound, expected in ((0.5, "relocate"), (0.05, "repair"), (0.01, "append")):
        out = answerer("Where?", context=[read], join=ap.Auto(max_kl=bound), **SHORT)
        assert out.trace[0].detail["join"] == expected


def test_without_a_certificate_the_way_out_is_named(make_engine):
    answerer = ap.Agent(make_engine(), "You answer.")
    read = answerer.think(NOTE, inner="prefill")
    with pytest.raises(ValueError, match=r"certificate, got none; run ap\.verify\(engine\)"):
        answerer("Where?", context=[read], join="auto", **SHORT)
    assert answerer("Where?", join="auto", **SHORT) is not None  # nothing is handed over


def test_rows_with_other_numbers_of_senders_are_settled_apart(with_kl, certified):
    _, certificate = certified
    engine = with_kl({RELOCATE: 0.3, APPEND: 0.0})
    one = tuple(
        replace(r, kl=Interval(mean=0, low=0, high=0.01, n=2)) if r.senders == 2 else r
        for r in engine.certificate.fidelity
    )
    save(replace(engine.certificate, fidelity=one))
    answerer = ap.Agent(engine, "You answer.")
    a, b = (answerer.think(text, inner="prefill") for text in (NOTE, "It rains."))
    outs = answerer(["Where?", "And?"], context=[[a], [a, b]], join="auto", **SHORT)
    assert [out.trace[0].detail["join"] for out in outs] == ["append", "relocate"]
    alone = answerer("And?", context=[a, b], join="relocate", **SHORT)
    assert outs[1].kv.ids == alone.kv.ids


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"join": "auto", "rotate": False}, "rotate must be left on with join='auto'"),
        ({"join": "auto", "carry": "half"}, "carry must be one of"),
        ({"join": "automatic"}, "join must be one of"),
    ],
)
def test_choices_that_make_no_sense_are_refused(certified, options, words):
    answerer = ap.Agent(certified[0], "You answer.")
    with pytest.raises(ValueError, match=words):
        answerer("Where?", **options, **SHORT)


def test_a_bound_must_be_positive():
    with pytest.raises(ValueError, match="max_kl must be positive, got 0"):
        ap.Auto(max_kl=0)


def test_every_hand_over_says_what_is_certified_of_it(certified, make_engine):
    engine, certificate = certified
    for one, join in ((engine, "relocate"), (engine, "append"), (engine, "repair")):
        answerer = ap.Agent(one, "You answer.", name="b")
        read = ap.Agent(one, "You read.", name="a").think(NOTE, inner="prefill")
        detail = answerer("Where?", context=[read], join=join, **SHORT).trace[-2].detail
        assert detail["sender"] == "a" and detail["seconds"] > 0 and detail["tokens"] > 0
        way = {"relocate": RELOCATE, "append": APPEND, "repair": BOTH}[join]
        known = certificate.find(way, receiver_tokens=12, senders=1)
        assert (detail["kl"], detail["kl_high"]) == (known.kl.mean, known.kl.high)
        assert "chosen_by" not in detail
    other = ap.Agent(make_engine(seed=1), "You answer.")
    read = other.think(NOTE, inner="prefill")
    assert "kl" not in other("Where?", context=[read], **SHORT).trace[0].detail
    odd = ap.Repair(first=3)
    answerer = ap.Agent(engine, "You answer.")
    read = answerer.think(NOTE, inner="prefill")
    assert "kl" not in answerer("Where?", context=[read], join=odd, **SHORT).trace[0].detail
