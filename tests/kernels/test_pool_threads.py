"""A page pool under threads."""

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from agentprim_kernels import PagePool, PoolExhausted


@pytest.mark.parametrize("impl", ["cpp", "reference"])
def test_hammering_threads_never_share_a_page_nor_lose_one(impl, request):
    if impl == "cpp":
        request.getfixturevalue("compiled")
    pool = PagePool(40, 4, impl=impl)
    owners = [None] * pool.num_pages

    def work(worker):
        chance, held, refused = random.Random(worker), [], 0
        for _ in range(1500):
            if held and chance.random() < 0.5:
                pages = held.pop(chance.randrange(len(held)))
                for page in pages:
                    assert owners[page] == worker
                    owners[page] = None
                pool.release(pages)
                continue
            try:
                if chance.random() < 0.5:
                    pages = pool.allocate(chance.randrange(1, 6))
                else:
                    pages = pool.claim([(-1, 0)], [chance.randrange(1, 20)])[0][1]
            except PoolExhausted:
                refused += 1
                continue
            for page in pages:
                assert owners[page] is None
                owners[page] = worker
            pool.retain(pages)
            pool.release(pages)
            held.append(pages)
        for pages in held:
            for page in pages:
                owners[page] = None
            pool.release(pages)
        return refused

    with ThreadPoolExecutor(8) as threads:
        refused = sum(threads.map(work, range(8)))
    assert refused  # the pool was small enough to run out
    assert pool.num_free == pool.num_pages
    assert sorted(pool.allocate(40)) == list(range(40))


@pytest.mark.parametrize("impl", ["cpp", "reference"])
def test_many_claims_of_one_tail_never_hand_out_a_slot_twice(impl, request):
    if impl == "cpp":
        request.getfixturevalue("compiled")
    pool = PagePool(600, 64, impl=impl)
    [(_, [page])] = pool.claim([(-1, 0)], [1])

    def work(_):
        slots = []
        for _ in range(200):
            fill = pool.fill(page)
            [(taken, _)] = pool.claim([(page, fill)], [1])
            slots += [fill] * taken
            if fill == 64:
                break
        return slots

    with ThreadPoolExecutor(4) as threads:
        slots = sum(threads.map(work, range(4)), [])
    assert sorted(slots) == list(range(1, 64))
