"""A page answers only for what it holds now.

Public reports: GeeeekExplorer/nano-vllm #163, vllm-project/vllm #4761, ovg-project/kvcached #362.
"""

import random

import pytest
import torch

from agentprim.cache.attach import attach
from agentprim.cache.batch import Batch
from agentprim.cache.join import join
from agentprim.cache.kv import KV
from agentprim.errors import PoolExhausted


@pytest.fixture
def pool(pair):
    return attach(pair("llama")[0]).new_pool(16, page_size=4)


def write(pool, kv, ids):
    """Store tokens behind a KV whose keys and values are their ids."""
    batch = Batch(pool, [kv])
    batch.begin(
        1, len(ids), ids=torch.tensor([ids]), mask=None, absolute=True, spans=True,
        position_ids=kv.next_position + torch.arange(len(ids))[None],
    )  # fmt: skip
    for layer, shape in enumerate(pool.layout.shapes):
        tags = torch.tensor(ids, dtype=shape.dtype)[None, None, :, None]
        keys = tags.expand(1, shape.num_kv_heads, len(ids), shape.k_dim) + layer
        batch.step.store(keys, -keys, layer)
    return batch.kvs()[0]


def values(kv):
    """Read the tags back from the last layer's values, which no rotation touches."""
    if not len(kv):
        return []
    kept = kv.to_cache().layers[2].values
    assert (kept == kept[:1, :1, :, :1]).all()
    return (-kept[0, 0, :, 0] - 2).tolist()


@pytest.mark.parametrize("length", [5, 8])
def test_a_new_text_on_old_pages(length, pool):
    first = write(pool, KV(pool), list(range(100, 100 + length)))
    assert (pool.num_free, first.spans[0].pages) == (2, (0, 1))
    first.release()
    second = write(pool, KV(pool), list(range(200, 216)))
    assert pool.num_free == 0
    assert values(second) == second.ids == list(range(200, 216))
    with pytest.raises(ValueError, match="released"):
        first[:1]


def test_the_last_page_is_filled_only_as_far_as_needed(pool):
    exact = write(pool, KV(pool), list(range(8)))
    longer = write(pool, exact, [8])
    assert (len(exact.spans[0].pages), len(longer.spans[0].pages)) == (2, 3)
    assert write(pool, longer, [9, 10, 11]).spans[0].pages == longer.spans[0].pages


@pytest.mark.parametrize("seed", range(2))
def test_a_thousand_random_steps_never_mix_texts(seed, pair):
    pool = attach(pair("llama")[0]).new_pool(96, page_size=4)
    rng, fresh = random.Random(seed), iter(range(10**6))
    live: list[tuple[KV, list[int]]] = []
    failed = 0
    for step in range(500):
        kv, tags = rng.choice(live) if live else (KV(pool), [])
        action = rng.choice(
            ["store", "store", "release", "release", "join", "select", "slice", "copy"]
        )
        try:
            if action == "store":
                new = [next(fresh) % 30000 for _ in range(rng.randint(1, 9))]
                live.append((write(pool, kv, new), tags + new))
            elif action == "release" and live:
                live.remove((kv, tags))
                kv.release()
            elif action == "join":
                other, more = rng.choice(live) if live else (KV(pool), [])
                if len(tags) + len(more) < 60:
                    live.append((join([kv, other]), tags + more))
            elif action == "select":
                keep = [i for i in range(len(tags)) if rng.random() < rng.choice([0.3, 0.9])]
                live.append((kv.select(keep), [tags[i] for i in keep]))
            elif action == "slice":
                begin = rng.randint(0, len(tags))
                live.append((kv[begin : begin + 6], tags[begin : begin + 6]))
            elif action == "copy":
                live.append((kv.materialize(), tags))
        except PoolExhausted:
            failed += 1
        for one, text in live if step % 25 == 0 else live[-1:]:
            assert one.ids == text
            assert values(one) == text
    assert failed
    held = {page for kv, _ in live for span in kv.spans for page in span.pages}
    assert pool.num_free == pool.num_pages - len(held)
    live.clear()
    del kv, one
    other = None  # noqa: F841
    assert pool.num_free == pool.num_pages
