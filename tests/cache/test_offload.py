"""A parked KV frees its pages, and comes back as it was."""

import gc
import pickle

import pytest
import torch

from agentprim.cache.attach import attach
from agentprim.cache.join import join
from agentprim.cache.kv import KV
from agentprim.errors import PoolExhausted
from agentprim.hf import PagedCache
from tests.cache.conftest import A, B, Q
from tests.cache.test_in_place import bytes_of
from tests.support.tiny import build

LONG = [(7 * i + 3) % 97 for i in range(30)]


@pytest.fixture
def model(pair):
    return pair("llama")[0]


def known(kv):
    """Gather what a KV knows of its tokens, but not where they are."""
    return [(span.length, span.position, span.delta, span.ids, span.positions) for span in kv.spans]


def there_and_back(kv, read, model):
    """Park and restore a KV, its old pages overwritten meanwhile, and compare all of it."""
    pool, held, stored = kv.pool, known(kv), bytes_of(kv)
    _, logits = read(model, Q, kv)
    free = pool.num_free
    parked = kv.offload()
    assert len(parked) == sum(length for length, *_ in held)
    free_meanwhile = pool.num_free
    assert free_meanwhile >= free
    for group in pool.groups:
        for page in range(pool.num_pages):
            if pool._pages.refcount(page) == 0:
                group.k_cache[:, page] = group.v_cache[:, page] = float("nan")
    back = parked.restore()
    assert known(back) == held
    assert all(map(torch.equal, stored, bytes_of(back)))
    assert torch.equal(read(model, Q, back)[1], logits)
    parked.release()
    return back, free_meanwhile - pool.num_free


@pytest.mark.parametrize(
    "family", ["llama", "mistral", "gemma3", "glm4", "gpt_oss", "smollm3", "llama_yarn", "gpt2"]
)
def test_a_kv_comes_back_as_it_was(family, pair, pool_for, read):
    model, _ = pair(family)
    pool = pool_for(model)
    kv, _ = read(model, A, KV(pool))
    pages = there_and_back(kv, read, model)[1]
    assert pages == 3
    assert pool.num_free == pool.num_pages


def test_two_layer_groups_come_back_both(pool_for, read):
    model = build("llama")
    attention = model.model.layers[1].self_attn  # one key head a query head
    generator = torch.Generator().manual_seed(1)
    for name in ("k_proj", "v_proj"):
        weight = 0.2 * torch.randn(64, 64, generator=generator)
        attention.get_submodule(name).weight = torch.nn.Parameter(weight)
    attention.num_key_value_groups = 1
    pool = pool_for(model)
    assert [group.layers for group in pool.groups] == [(0, 2), (1,)]
    back, _ = there_and_back(read(model, A, KV(pool))[0], read, model)
    page = sum(cache[:, 0].nbytes for g in pool.groups for cache in (g.k_cache, g.v_cache))
    assert back.offload().nbytes == 3 * page == 3 * 4 * 16 * 4 * 2 * (2 * 2 + 4)


@pytest.mark.parametrize("offsets", ["consecutive", "shared"])
def test_joined_cut_and_gapped_spans(offsets, model, pool_for, read):
    pool = pool_for(model)
    kv_b, kv_a, kv_l = (read(model, ids, KV(pool))[0] for ids in (B, A, LONG))
    joined = join([kv_b, kv_a[2:9], kv_l.select([*range(0, 28, 2)])], offsets=offsets)
    assert len(joined.spans) == 3 and joined.spans[2].positions and joined.spans[1].delta
    for kv in (kv_b, kv_a, kv_l):
        kv.release()
    held = pool.num_pages - pool.num_free
    back, pages = there_and_back(joined, read, model)
    assert pages == held == 2 + 3 + 4
    assert back.next_position == max(span.stop for span in back.spans)
    part = back[:7]
    back.release()
    assert pool.num_pages - pool.num_free == 2  # spans are freed one by one
    assert part.ids == B


def test_a_page_in_two_spans_is_parked_once(model, pool_for, read):
    pool = pool_for(model)
    kv = read(model, A, KV(pool))[0]
    twice = join([kv[6:11], kv[0:6], kv[1:3]])
    kv.release()
    assert pool.num_pages - pool.num_free == 3
    back, pages = there_and_back(twice, read, model)
    assert pages == 3
    # slots behind its end hold another token of it: it must grow elsewhere
    before = bytes_of(back)
    grown, _ = read(model, Q, back)
    assert all(map(torch.equal, before, bytes_of(back)))
    assert grown.ids == back.ids + Q


def test_shared_pages_are_copied_and_stay(model, pool_for, read):
    pool = pool_for(model)
    kv = read(model, A, KV(pool))[0]
    fork, part = kv.fork(), kv[4:6]
    stored, free = bytes_of(fork), pool.num_free
    parked = kv.offload()
    assert pool.num_free == free
    back = parked.restore()
    pages = {page for span in back.spans for page in span.pages}
    assert not pages & {page for span in fork.spans for page in span.pages}
    assert all(map(torch.equal, stored, bytes_of(fork)))
    assert part.ids == A[4:6]
    back.rotate_()  # nobody else can see its pages
    with pytest.raises(ValueError, match="shared pages"):
        fork.rotate_()


def test_a_restored_kv_fills_its_last_page_up(model, pool_for, read):
    pool = pool_for(model)
    back = read(model, A, KV(pool))[0].offload().restore()  # 11 tokens in pages of 4
    free = pool.num_free
    grown, _ = read(model, Q[:1], back)
    assert (pool.num_free, len(grown.spans), grown.ids) == (free, 1, A + Q[:1])
    other, _ = read(model, Q[:1], back)  # the second to go on does not overwrite the first
    assert (pool.num_free, grown.ids, other.ids) == (free - 1, A + Q[:1], A + Q[:1])


def test_many_copies_of_one_parked_kv(model, pool_for, read):
    pool = pool_for(model)
    kv, _ = read(model, A, KV(pool))
    expected = bytes_of(kv)
    parked = kv.offload()
    copies = [parked.restore() for _ in range(3)]
    assert pool.num_free == pool.num_pages - 9
    for copy in copies:
        assert all(map(torch.equal, expected, bytes_of(copy)))


def test_a_restore_that_does_not_fit_changes_nothing(model, read):
    pool = attach(model).new_pool(32, page_size=4)  # 8 pages
    parked = read(model, A + B, KV(pool))[0].offload()  # 5
    other = read(model, A + Q, KV(pool))[0]  # 4
    stored = bytes_of(other)
    with pytest.raises(PoolExhausted, match="requested 5 pages but only 4 are free"):
        parked.restore()
    assert (pool.num_free, parked.ids) == (4, A + B)
    assert all(map(torch.equal, stored, bytes_of(other)))
    other.release()
    assert parked.restore().ids == A + B
    assert pool.num_free == 8


def test_a_failed_offload_leaves_the_kv(model, pool_for, read, monkeypatch):
    pool = pool_for(model)
    kv = read(model, A, KV(pool))[0]

    def fail(*_, **__):
        raise RuntimeError("no host memory")

    with monkeypatch.context() as broken:
        broken.setattr("agentprim.cache.offload.pack_pages_", fail)
        with pytest.raises(RuntimeError, match="no host memory"):
            kv.offload()
    assert (kv.ids, pool.num_free) == (A, pool.num_pages - 3)
    parked = kv.offload()
    with monkeypatch.context() as broken:
        broken.setattr("agentprim.cache.offload.unpack_pages_", fail)
        with pytest.raises(RuntimeError, match="no host memory"):
            parked.restore()
    assert pool.num_free == pool.num_pages
    assert parked.restore().ids == A


def test_use_after_offload_and_after_release_says_so(model, pool_for, read):
    kv = read(model, A, KV(pool_for(model)))[0]
    with kv.offload() as parked:
        for use in (kv.offload, lambda: len(kv), lambda: PagedCache(model, kv=kv), kv.fork):
            with pytest.raises(ValueError, match="^kv must be live, got a released KV"):
                use()
        assert repr(parked) == f"Parked(11 tokens in {parked.nbytes} bytes)"
        assert (parked.ids, len(parked), bool(parked)) == (A, 11, True)
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(parked)
    parked.release()
    assert (parked.nbytes, repr(parked)) == (0, "Parked(released)")
    for use in (parked.restore, lambda: len(parked), lambda: parked.ids):
        with pytest.raises(ValueError, match="^parked must be live, got a released Parked"):
            use()


def test_an_empty_kv_can_be_parked(pool_for, model):
    parked = KV(pool_for(model)).offload()
    assert (len(parked), parked.nbytes, bool(parked)) == (0, 0, True)
    assert parked.restore().ids == []


def test_the_last_hidden_state_comes_back(model, pool_for, read):
    kv = read(model, A, KV(pool_for(model)))[0]
    kv.hidden = torch.arange(3.0)
    parked = kv.offload()
    assert kv.hidden is None
    assert torch.equal(parked.restore().hidden, torch.arange(3.0))


def test_thousands_of_cycles_leak_nothing(model, pool_for, read):
    pool = pool_for(model, tokens=64)
    kv_b, kv_a = read(model, B, KV(pool))[0], read(model, A, KV(pool))[0]
    joined = join([kv_b, kv_a])
    del kv_b, kv_a
    stored, free = bytes_of(joined), pool.num_free
    gc.disable()
    try:
        for _ in range(2000):
            parked = joined.offload()
            joined = parked.restore()
            assert pool.num_free == free
    finally:
        gc.enable()
    assert all(map(torch.equal, stored, bytes_of(joined)))
    assert sum(len(lease.owners) for span in joined.spans for lease in span.leases) == 2
    del joined
    assert pool.num_free == pool.num_pages
