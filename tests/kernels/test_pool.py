"""What a page pool promises, for the compiled one and its twin in lockstep."""

import pickle

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agentprim_kernels import PagePool, PoolExhausted

PAGES, SIZE = 8, 4


@pytest.fixture(params=["cpp", "reference"])
def pool(request):
    if request.param == "cpp":
        request.getfixturevalue("compiled")
    return PagePool(PAGES, SIZE, impl=request.param)


def state(pool):
    pages = range(pool.num_pages)
    return [(pool.refcount(page), pool.fill(page)) for page in pages], pool.num_free


def test_new_pool_hands_out_ascending_pages(pool):
    assert pool.allocate(3) == [0, 1, 2]
    assert pool.allocate(2) == [3, 4]
    assert (pool.num_pages, pool.page_size, pool.num_free, pool.num_used) == (PAGES, SIZE, 3, 5)
    assert [pool.refcount(page) for page in (0, 4, 5)] == [1, 1, 0]


def test_released_pages_come_back_in_order(pool):
    pool.allocate(5)
    pool.release([1, 2, 3])
    assert pool.allocate(4) == [1, 2, 3, 5]


def test_recycled_page_has_forgotten_its_marks(pool):
    """A page answered for its old content: github.com/GeeeekExplorer/nano-vllm/issues/163."""
    [(taken, pages)] = pool.claim([(-1, 0)], [6])
    pool.retain(pages)
    assert (taken, [pool.fill(page) for page in pages]) == (0, [4, 2])
    pool.release(pages * 2)
    assert state(pool) == ([(0, 0)] * PAGES, PAGES)
    again = pool.allocate(PAGES)
    assert sorted(again) == list(range(PAGES))
    assert state(pool) == ([(1, 0)] * PAGES, 0)


def test_failed_allocation_loses_nothing(pool):
    """Pages lost for ever after an error: github.com/ovg-project/kvcached/issues/364."""
    held = pool.allocate(6)
    before = state(pool)
    with pytest.raises(PoolExhausted, match="^requested 4 pages but only 2 are free$") as raised:
        pool.allocate(4)
    assert (raised.value.requested, raised.value.free) == (4, 2)
    with pytest.raises(PoolExhausted, match="requested 3 pages but only 2 are free"):
        pool.claim([(-1, 0), (held[0], 0), (-1, 0)], [3, 5, 1])  # the second row needs one more
    assert state(pool) == before
    pool.release(held)
    assert pool.num_free == PAGES


def test_retain_and_release_are_all_or_nothing(pool):
    pool.allocate(2)
    before = state(pool)
    twice = "pages must have a reference for each release, got 0 2 times with 1"
    for call, pages, message in [
        (pool.retain, [0, 5], "pages must be live, got 5, which is free"),
        (pool.retain, [0, 8], "pages must be in 0..7, got 8"),
        (pool.release, [0, -1], "pages must be in 0..7, got -1"),
        (pool.release, [1, 0, 0], twice),
    ]:
        with pytest.raises(ValueError, match=f"^{message}$"):
            call(pages)
        assert state(pool) == before
    pool.retain([0, 0, 1])
    assert [pool.refcount(page) for page in (0, 1)] == [3, 2]
    pool.release([0, 0, 0, 1])
    assert [pool.refcount(page) for page in (0, 1)] == [0, 1]


def test_first_of_two_forks_wins_the_tail(pool):
    [(_, [page])] = pool.claim([(-1, 0)], [2])
    pool.retain([page])
    claims = pool.claim([(page, 2), (page, 2)], [1, 1])
    assert claims == [(1, []), (0, [1])]
    assert (pool.refcount(page), pool.fill(page), pool.fill(1)) == (2, 3, 1)


def test_claim_fills_the_tail_then_whole_pages_then_the_rest(pool):
    [(_, [page])] = pool.claim([(-1, 0)], [1])
    assert pool.claim([(page, 1)], [9]) == [(3, [1, 2])]
    assert [pool.fill(page) for page in (0, 1, 2)] == [4, 4, 2]


def test_claim_of_nothing_leaves_the_tail_to_the_next_row(pool):
    [(_, [page])] = pool.claim([(-1, 0)], [2])
    assert pool.claim([(page, 2), (page, 2)], [0, 2]) == [(0, []), (2, [])]


def test_claim_refuses_bad_rows_before_any_change(pool):
    pool.claim([(-1, 0)], [2])
    before = state(pool)
    for tails, counts, message in [
        ([(0, 2)], [1, 1], "counts must have 1 entries like tails, got 2"),
        ([(0, 2), (3, 0)], [1, 1], "tails must be live, got 3, which is free"),
        ([(0, 2), (-2, 0)], [1, 1], "tails must be in 0..7, got -2"),
        ([(0, 5)], [1], "tails must have fill marks in 0..4, got 5"),
        ([(0, 2), (-1, 0)], [1, -1], "counts must be at least 0, got -1"),
    ]:
        with pytest.raises(ValueError, match=f"^{message}$"):
            pool.claim(tails, counts)
        assert state(pool) == before


@pytest.mark.parametrize("impl", ["cpp", "reference"])
def test_sizes_and_pages_are_checked(impl, request):
    if impl == "cpp":
        request.getfixturevalue("compiled")
    for sizes, message in [((0, 4), "num_pages"), ((4, 0), "page_size")]:
        with pytest.raises(ValueError, match=f"^{message} must be at least 1, got 0$"):
            PagePool(*sizes, impl=impl)
    pool = PagePool(2, 4, impl=impl)
    with pytest.raises(ValueError, match="^page must be in 0..1, got 2$"):
        pool.fill(2)
    with pytest.raises(ValueError, match="^count must be at least 0, got -1$"):
        pool.allocate(-1)
    with pytest.raises(TypeError):
        pool.retain([0.0])


def test_unknown_impl_is_refused():
    with pytest.raises(ValueError, match="impl must be one of"):
        PagePool(2, 2, impl="triton")


def test_pool_exhausted_survives_pickling():
    error = pickle.loads(pickle.dumps(PoolExhausted(4, 2)))
    assert (str(error), error.requested) == ("requested 4 pages but only 2 are free", 4)


page_numbers = st.integers(-1, PAGES)
fills = st.integers(0, SIZE)


class Lockstep(RuleBasedStateMachine):
    """Give both pools the same calls, good and bad ones, and a plain model beside them."""

    def __init__(self):
        super().__init__()
        self.pools = [PagePool(PAGES, SIZE, impl=impl) for impl in ("cpp", "reference")]
        self.held = []  # one entry for each reference

    def both(self, call):
        """Return the common result; a common error counts as None."""
        results = []
        for pool in self.pools:
            before = state(pool)
            try:
                results.append(call(pool))
            except (ValueError, PoolExhausted) as error:
                results.append((type(error), str(error)))
                assert state(pool) == before
        assert results[0] == results[1]
        failed = isinstance(results[0], tuple) and isinstance(results[0][0], type)
        return None if failed else (results[0],)

    @rule(count=st.integers(-1, PAGES))
    def allocate(self, count):
        if result := self.both(lambda pool: pool.allocate(count)):
            assert not set(result[0]) & set(self.held)
            self.held += result[0]

    @rule(pages=st.lists(page_numbers, max_size=4))
    def retain(self, pages):
        done = self.both(lambda pool: pool.retain(pages))
        assert bool(done) == all(page in self.held for page in pages)
        self.held += pages if done else []

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def retain_held(self, data):
        self.retain(data.draw(st.lists(st.sampled_from(self.held), max_size=3)))

    @rule(pages=st.lists(page_numbers, max_size=4))
    def release(self, pages):
        done = self.both(lambda pool: pool.release(pages))
        assert bool(done) == all(pages.count(page) <= self.held.count(page) for page in pages)
        for page in pages if done else []:
            self.held.remove(page)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def release_held(self, data):
        self.release(data.draw(st.lists(st.sampled_from(self.held), max_size=6)))

    @rule(rows=st.lists(st.tuples(page_numbers, fills, st.integers(0, 2 * SIZE)), max_size=4))
    def claim(self, rows):
        tails, counts = [row[:2] for row in rows], [row[2] for row in rows]
        marks = {page: self.pools[0].fill(page) for page in set(self.held)}
        if result := self.both(lambda pool: pool.claim(tails, counts)):
            for (page, fill), count, (taken, new) in zip(tails, counts, result[0], strict=True):
                fits = page >= 0 and marks[page] == fill
                assert taken == (min(count, SIZE - fill) if fits else 0)
                marks[page] = marks.get(page, 0) + taken
                filled = [self.pools[0].fill(p) for p in new]
                assert sum(filled) == count - taken and all(f == SIZE for f in filled[:-1])
                assert all(self.pools[0].refcount(p) == 1 for p in new)
                self.held += new

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def claim_held(self, data):
        pages = data.draw(st.lists(st.sampled_from(self.held), min_size=1, max_size=3))
        self.claim([(p, self.pools[0].fill(p), data.draw(st.integers(0, SIZE))) for p in pages])

    @invariant()
    def agree(self):
        assert state(self.pools[0]) == state(self.pools[1])
        for pool in self.pools:
            assert pool.num_free + pool.num_used == PAGES
            assert [pool.refcount(p) for p in range(PAGES)] == [
                self.held.count(p) for p in range(PAGES)
            ]


@pytest.mark.usefixtures("compiled")
class TestLockstep(Lockstep.TestCase):
    pass
