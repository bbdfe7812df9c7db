"""Threads that share a model and a pool do not disturb each other."""

import threading

import pytest
import torch

from agentprim.cache.attach import attach
from agentprim.cache.join import join
from agentprim.cache.kv import KV
from agentprim.hf import PagedCache
from tests.cache.conftest import A, B, Q

GREEDY = {"max_new_tokens": 12, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}


def both(*works):
    """Run functions at once; return their results, or raise what one raised."""
    results, faults = [None] * len(works), []
    start = threading.Barrier(len(works))

    def run(index, function):
        try:
            start.wait()
            results[index] = function()
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]
    return results


@pytest.mark.parametrize("family", ["llama", "gemma3"])
def test_two_threads_generate_what_each_generates_alone(family, pair, pool_for, read):
    model, _ = pair(family)
    pool = pool_for(model, tokens=1024)
    empty = KV(pool)
    kv_b, kv_a = read(model, B, empty)[0], read(model, A, empty)[0]

    def ask(kv, ids):
        cache = PagedCache(model, kv=kv)
        out = model.generate(**cache.inputs(ids), past_key_values=cache, **GREEDY)
        return out.tolist(), cache.kv().ids

    jobs = [(kv_b, A), (join([kv_b, kv_a]), Q), (kv_b, Q)]
    alone = [ask(*job) for job in jobs]
    free = pool.num_free
    for _ in range(2):
        assert both(*[lambda job=job: ask(*job) for job in jobs]) == alone
        assert pool.num_free == free


def test_kvs_come_and_go_on_many_threads(pair):
    pool = attach(pair("llama")[0]).new_pool(256, page_size=4)
    from tests.cache.test_recycled_pages import values, write

    base = write(pool, KV(pool), list(range(6)))

    def work(offset):
        for round_ in range(40):
            kv = write(pool, base, [offset + round_, offset + round_ + 1])
            joined = join([kv, base.fork()])
            part = joined[4:9]
            assert values(part) == [4, 5, offset + round_, offset + round_ + 1, 0]
            with pytest.raises(ValueError, match="shared pages"):
                base.moved(1).rotate_()

    both(*[lambda offset=offset: work(offset) for offset in (1000, 2000, 3000)])
    assert pool.num_free == pool.num_pages - 2
    assert values(base) == list(range(6))


def test_one_model_is_prepared_once_by_two_threads():
    from tests.support.tiny import build

    model = build("llama")
    one, two = both(lambda: attach(model), lambda: attach(model))
    assert one is two
    assert len(model.base_model._forward_pre_hooks) == 1
    with torch.no_grad():
        model(input_ids=torch.tensor([A]), past_key_values=PagedCache(model))
