"""Probe items are made from a seed, and hold what is asked about exactly once."""

import pytest

from agentprim.trust.items import make_item
from agentprim.trust.receivers import receiver_prompt


def test_an_item_is_the_same_for_the_same_numbers_and_another_for_others():
    assert make_item(3, 2) == make_item(3, 2)
    assert make_item(3, 2) != make_item(4, 2)
    assert make_item(3, 2) != make_item(3, 2, seed=1)


def test_the_question_is_the_same_for_any_number_of_senders():
    for index in range(30):
        items = [make_item(index, senders) for senders in (1, 2, 4)]
        assert len({item.fact for item in items}) == 1
        assert len({item.notes[item.asked] for item in items}) == 1
        assert [len(item.notes) for item in items] == [1, 2, 4]


def test_only_the_note_asked_about_has_the_answer_to_its_question():
    for index in range(100):
        item = make_item(index, 4)
        subject = item.fact.cue.split(" ", 1)[1] if " is" in item.fact.cue else item.fact.cue
        assert item.fact in item.notes[item.asked].facts
        others = [note for n, note in enumerate(item.notes) if n != item.asked]
        assert all(item.fact.said not in note.text for note in others)
        assert not any(
            fact.question == item.fact.question for note in others for fact in note.facts
        ), subject
        assert item.fact.answer in item.notes[item.asked].reply


def test_notes_differ_between_items():
    assert len({make_item(index).notes[0].text for index in range(100)}) == 100


def test_more_senders_than_facts_are_refused():
    with pytest.raises(ValueError, match=r"senders must be within 1..4, got 5"):
        make_item(0, 5)


@pytest.mark.parametrize("tokens", [20, 180, 600, 2000])
def test_a_receiver_s_prompt_is_about_as_long_as_wanted(tokens):
    found = receiver_prompt(tokens, lambda text: len(text.split()))
    assert tokens - 20 <= len(found.split()) <= tokens
    assert found == receiver_prompt(tokens, lambda text: len(text.split()))
    if tokens > 20:
        other = receiver_prompt(tokens, lambda text: len(text.split()), variant=1)
        assert other != found
