"""Pages live exactly as long as somebody can read them."""

import copy
import gc
import pickle
import weakref

import pytest
import torch

from agentprim.cache.join import join
from agentprim.cache.kv import KV
from agentprim.hf import PagedCache, attach
from tests.cache.conftest import A, B, Q
from tests.support.tiny import build


@pytest.fixture
def no_collector():
    """Keep the cyclic collector away: pages must not wait for it."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def pool(pair, pool_for):
    return pool_for(pair("llama")[0])


@pytest.fixture
def kv(pair, pool, read):
    return read(pair("llama")[0], A, KV(pool))[0]


def test_release_with_block_and_reference_counts_free_pages_at_once(no_collector, pair, pool, read):
    model, _ = pair("llama")

    def fresh():
        return read(model, A, KV(pool))[0]

    kv = fresh()
    assert pool.num_free == pool.num_pages - 3
    kv.release()
    assert pool.num_free == pool.num_pages
    with fresh() as kv:
        assert pool.num_free == pool.num_pages - 3
    assert pool.num_free == pool.num_pages
    kv = fresh()
    fork, part, moved = kv.fork(), kv[2:6], kv.moved(3)
    kv.release()
    del fork, moved
    assert pool.num_free == pool.num_pages - 2
    del part
    assert pool.num_free == pool.num_pages


@pytest.mark.parametrize("grad", [False, True])
def test_a_dropped_cache_frees_its_pages_at_once(grad, no_collector, pair, pool, read):
    model, _ = pair("llama")
    kv = read(model, B, KV(pool))[0]
    cache = PagedCache(model, kv=kv)
    with torch.set_grad_enabled(grad):
        model(input_ids=torch.tensor([A]), past_key_values=cache)
    model.generate(**cache.inputs(Q), past_key_values=cache, max_new_tokens=3, pad_token_id=0)
    assert pool.num_free < pool.num_pages - 2
    del cache
    assert pool.num_free == pool.num_pages - 2


def test_a_cache_keeps_what_it_was_started_from(no_collector, pair, pool, read):
    model, twin = pair("llama")
    kv = read(model, B, KV(pool))[0]
    cache = PagedCache(model, kv=kv)
    kv.release()
    assert pool.num_free == pool.num_pages - 2
    with torch.no_grad():
        out = model(input_ids=torch.tensor([A]), past_key_values=cache).logits[0]
        expected = twin(input_ids=torch.tensor([B + A])).logits[0, len(B) :]
    assert (out - expected).abs().max() < 1e-5 * expected.abs().max()
    del cache
    assert pool.num_free == pool.num_pages


def test_ten_thousand_discarded_kvs_leak_nothing(no_collector, kv, pool):
    free = pool.num_free
    for index in range(2500):
        fork = kv.fork()
        joined = join([fork, kv[2:7]])
        joined.moved(index % 5 + 1)
        fork.select([0, 3, 4])
    del fork, joined
    assert pool.num_free == free
    assert sum(len(lease.owners) for span in kv.spans for lease in span.leases) == 1


def test_a_released_kv_says_so_wherever_it_is_used(pair, kv, read):
    model, _ = pair("llama")
    other = kv.fork()
    kv.release()
    kv.release()
    uses = [
        lambda: kv.spans, lambda: len(kv), lambda: kv.ids, lambda: kv.next_position, kv.fork,
        lambda: kv[1:], lambda: kv.select([0]), kv.materialize, kv.rotate_, lambda: kv.moved(1),
        kv.to_cache, lambda: join([kv, other]), lambda: join([other, kv]),
        lambda: PagedCache(model, kv=kv), lambda: PagedCache(model, kv=[other, kv]),
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(ValueError, match="must be live, got a released KV"):
            use()
    assert repr(kv) == "KV(released)"
    assert other.ids == A


def test_pickling_is_refused_and_repr_shows_positions(pair, kv):
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(kv)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(PagedCache(pair("llama")[0], kv=kv))
    assert repr(kv) == "KV(11 tokens at 0..10)"
    assert repr(join([kv[:2], kv[5:7]])) == "KV(4 tokens at 0..1, 2..3)"
    assert repr(kv[:0]) == "KV(0 tokens at no positions)"


def test_an_empty_kv_goes_through_every_verb(pool):
    empty = KV(pool)
    assert empty
    for same in (empty.fork(), empty[:], empty.select([]), empty.moved(3), empty.materialize(),
                 join([empty, empty])):  # fmt: skip
        assert (len(same), same.ids, same.next_position) == (0, [], 0)
    empty.rotate_()
    assert empty.to_cache().get_seq_length() == 0


def test_a_failed_move_keeps_no_page_alive(no_collector, pool_for):
    """The refusal is raised again and again; it must not hold the frames of those who saw it."""
    model = build("gpt2")
    pool = attach(model).new_pool(64, page_size=4)
    for _ in range(2):
        cache = PagedCache(model, kv=KV(pool))
        model(input_ids=torch.tensor([A]), past_key_values=cache)
        kv = cache.kv()
        with pytest.raises(Exception, match="absolute positions"):
            join([kv, kv])
        del cache, kv
        assert pool.num_free == pool.num_pages


def test_a_prepared_model_is_freed_without_the_collector(no_collector):
    model = build("llama")
    attach(model)
    gone = weakref.ref(model)
    del model
    assert gone() is None


def test_a_copied_cache_forks_its_rows(pair, kv, pool):
    """huggingface/transformers #37078: existing loops deepcopy the cache of a prompt."""
    model, _ = pair("llama")
    cache = PagedCache(model, kv=kv)
    free = pool.num_free
    copies = [copy.deepcopy(cache), copy.copy(cache)]
    assert pool.num_free == free
    for twin in (*copies, cache):
        out = model.generate(
            **twin.inputs(Q), past_key_values=twin, max_new_tokens=4, do_sample=False,
            pad_token_id=0,
        )  # fmt: skip
        assert len(twin.kv()) == len(A) + len(Q) + 3
        assert out[0, len(A) :].tolist()[:5] == Q
    assert copies[0].kv().ids == copies[1].kv().ids == cache.kv().ids
