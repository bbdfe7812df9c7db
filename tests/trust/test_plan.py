"""What a quick and a full measurement consist of."""

from collections import Counter

import pytest

from agentprim.trust.plan import full_plan, quick_plan


@pytest.mark.parametrize("plan", [quick_plan(), full_plan()], ids=["quick", "full"])
def test_every_size_is_measured_compared_and_timed(plan):
    assert len({task.key for task in plan}) == len(plan)
    for senders, length in ((1, 20), (1, 180), (1, 600), (2, 180), (4, 180)):
        tasks = [t for t in plan if t.senders == senders and length in t.lengths]
        assert len(tasks) >= 2
        assert any(t.append and t.exact for t in tasks) and any(t.timed for t in tasks)
        assert tasks[-1].timed


def test_the_full_one_has_a_hundred_items_and_sixteen_long_ones():
    sizes = Counter((t.senders, t.lengths) for t in full_plan())
    assert sizes == {(1, (20, 180, 600)): 100, (1, (2000,)): 16, (2, (180,)): 32, (4, (180,)): 32}


def test_all_sizes_of_the_full_one_advance_together():
    half = full_plan()[: len(full_plan()) // 2]
    sizes = Counter((t.senders, t.lengths) for t in half)
    assert sizes == {(1, (20, 180, 600)): 50, (1, (2000,)): 8, (2, (180,)): 16, (4, (180,)): 16}
