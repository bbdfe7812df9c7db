"""Pages: what is dropped is free at once, and nothing else keeps it."""

import gc
import threading
import weakref

import pytest
import torch

from agentprim import Engine
from tests.engine.making import A, B, Q, engine
from tests.support.tiny import build
from tests.support.tokenizer import tiny_tokenizer


@pytest.fixture
def pool():
    """Return the shared engine's pool without garbage of other tests."""
    gc.collect()
    return engine().pool


def test_every_verb_keeps_only_what_it_returns(pool):
    one, free = engine(), pool.num_free
    kv = one.prefill(B)
    kept = pool.num_free
    assert kept == free - 2  # 7 tokens in pages of 4
    for call in (
        lambda: one.forward(A, kv),
        lambda: one.prefill([A, Q], kv),
        lambda: one.generate([A, Q], kv, max_new_tokens=5, stop=["e"], suffix=[2]),
        lambda: one.latent([kv, kv], 3, settle=0.2),
        lambda: kv.peek(4),
    ):
        call()
        assert pool.num_free == kept
    kv.release()
    assert pool.num_free == free


def test_an_output_holds_no_more_pages_than_its_tokens_need(pool):
    one, free = engine(), pool.num_free
    end = one.generate([A, B], max_new_tokens=16)
    tokens = sum(len(out.kv) for out in end)
    assert free - pool.num_free <= tokens // 4 + 6
    del end
    assert pool.num_free == free


def test_thousands_of_discarded_outputs_leave_nothing():
    one = Engine(build("qwen3", num_hidden_layers=1), tiny_tokenizer(), pool_tokens=16 * 450)
    kv = one.prefill(B)
    free = one.pool.num_free
    for _ in range(10):
        one.generate([Q] * 200, kv, max_new_tokens=1)
    assert one.pool.num_free == free


def test_an_engine_goes_with_its_last_reference():
    one = Engine(build("qwen3"), tiny_tokenizer(), pool_tokens=64)
    one.prefill(A).peek(2)
    gone = weakref.ref(one)
    gc.disable()
    try:
        del one
        assert gone() is None
    finally:
        gc.enable()


def test_a_cache_of_a_gone_engine_says_so():
    kv = Engine(build("qwen3"), pool_tokens=64).prefill(A)
    with pytest.raises(ValueError, match="kv must be of an engine's pool to be read"):
        kv.peek()


def test_peeking_says_the_best_next_tokens_and_changes_nothing():
    one = engine()
    kv = one.prefill(A)
    out = one.generate(A, max_new_tokens=5)
    assert kv.peek(5) == one.tokenizer.decode(list(out.ids))
    assert kv.peek(1) == one.tokenizer.decode(list(out.ids[:1]))
    assert kv.ids == A
    with pytest.raises(ValueError, match="n must be at least 1, got 0"):
        kv.peek(0)


def test_peeking_behind_latent_steps_starts_from_their_last_state():
    one = engine()
    kv = one.latent(one.prefill(A), 3)
    first = int(one.logits(kv.hidden).argmax())
    expected = [first, *one.generate([first], kv, max_new_tokens=3).ids]
    assert kv.peek(4) == one.tokenizer.decode(expected)


def test_peeking_stops_at_the_end_of_a_turn():
    one = Engine(build("qwen3"), tiny_tokenizer(), pool_tokens=256)
    said = one.generate(A, max_new_tokens=6).ids
    for end in (said[0], said[2]):
        one.model.generation_config.eos_token_id = end
        expected = said[: said.index(end) + 1]
        assert one.prefill(A).peek(6) == one.tokenizer.decode(list(expected))


def test_threads_share_an_engine():
    one, found = Engine(build("qwen3"), tiny_tokenizer(), pool_tokens=4096), {}
    kv = one.prefill(B)
    work = {
        "latent": lambda: one.latent(kv, 3).hidden,
        "forward": lambda: one.forward(A, kv),
        "prefill": lambda: one.prefill([A, Q], kv)[1].hidden,
        "generate": lambda: torch.tensor(one.generate([Q, A], kv, max_new_tokens=5)[0].ids),
    }

    def run(name):
        found[name] = [work[name]() for _ in range(4)]

    threads = [threading.Thread(target=run, args=(name,)) for name in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    free = one.pool.num_free
    for name, values in found.items():
        for value in values:
            torch.testing.assert_close(value, work[name](), atol=1e-3, rtol=1e-3)
    assert len(found) == 4 and one.pool.num_free == free
