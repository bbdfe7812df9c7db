"""Samples are stratified, in order, and the same for the same seed."""

from collections import Counter

import pytest

from agentprim.evaluate.base import Item
from agentprim.evaluate.tasks.sample import sample, sample_units

ITEMS = [
    Item(id=str(n), question="", answer="", group="ab"[n % 3 == 0], more={"episode": str(n // 4)})
    for n in range(40)
]


def test_groups_keep_their_shares_and_items_their_order():
    found = sample(ITEMS, 20, 42)
    assert len(found) == 20 and Counter(item.group for item in found) == {"a": 13, "b": 7}
    assert [int(item.id) for item in found] == sorted(int(item.id) for item in found)
    assert found == sample(ITEMS, 20, 42) != sample(ITEMS, 20, 43)


@pytest.mark.parametrize("limit", range(41))
def test_every_limit_is_met(limit):
    assert len(sample(ITEMS, limit, 0)) == limit


def test_more_than_there_are_and_none_take_all():
    assert sample(ITEMS, None, 0) == sample(ITEMS, 99, 0) == ITEMS


def test_units_stay_whole():
    found = sample_units(ITEMS, 3, 1, unit=lambda item: item.more["episode"])
    assert len(found) == 12 and len({item.more["episode"] for item in found}) == 3


def test_a_negative_limit_is_refused():
    with pytest.raises(ValueError, match="limit must not be negative, got -1"):
        sample(ITEMS, -1, 0)
