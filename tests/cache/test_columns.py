"""On the dense path a mask counts columns: where positions differ from them, it is refused."""

import pytest
import torch

from agentprim.cache.attach import attach
from agentprim.cache.join import join
from agentprim.cache.kv import KV
from agentprim.errors import UnsupportedModel
from agentprim.hf import PagedCache, join_caches
from tests.cache.conftest import A, B, Q
from tests.cache.seeing import seeing_logits, without
from tests.support.tiny import build

LONG = [(5 * i + 3) % 97 for i in range(20)]


def dense(family, **sizes):
    model = build(family, **sizes)
    model._can_set_attn_implementation = lambda: False
    assert not attach(model).layout.spans
    return model


def check(read, model, twin, kv, keep):
    logits = read(model, Q, kv)[1]
    start = kv.next_position
    dropped = sorted(set(range(len(LONG))) - set(keep))
    expected = seeing_logits(
        twin, LONG + Q, [*range(20), *range(start, start + 5)], without(25, dropped, 20)
    )[20:]
    assert (logits - expected).abs().max() < 1e-4 * expected.abs().max()


@pytest.mark.parametrize("keep", [[*range(4, 20)], [*range(9), *range(14, 20)], [1, 3, 5, 19]])
def test_gaps_are_right_where_every_layer_sees_everything(keep, pool_for, read):
    model = dense("llama")
    kv, _ = read(model, LONG, KV(pool_for(model)))
    check(read, model, build("llama"), kv.select(keep), keep)


def test_gaps_under_a_window_are_refused_before_anything_is_stored(pool_for, read):
    model = dense("mistral")
    kv, _ = read(model, LONG, KV(pool_for(model)))
    check(read, model, build("mistral"), kv[4:], [*range(4, 20)])  # no gap
    cut = kv.select([*range(9), *range(14, 20)])
    cache = PagedCache(model, kv=cut)
    free = kv.pool.num_free
    for use in (
        lambda: read(model, Q, cut),
        lambda: model.generate(**cache.inputs(Q), past_key_values=cache, max_new_tokens=2),
        cut.to_cache,
    ):
        with pytest.raises(UnsupportedModel, match="MistralForCausalLM uses a window of 8 columns"):
            use()
        assert (kv.pool.num_free, cache.kv().ids) == (free, cut.ids)


def test_a_small_gap_inside_the_window_is_right(pool_for, read):
    model, twin = dense("mistral", sliding_window=40), build("mistral", sliding_window=40)
    kv, _ = read(model, LONG, KV(pool_for(model)))
    keep = [*range(9), *range(14, 20)]
    check(read, model, twin, kv.select(keep), keep)


def test_shared_offsets_under_a_window_are_refused(pair, pool_for, read):
    from transformers import DynamicCache

    model = dense("mistral")
    empty = KV(pool_for(model))
    parts = [read(model, ids, empty)[0] for ids in (B, A, Q)]
    with pytest.raises(UnsupportedModel, match="window of 8 columns"):
        read(model, [1], join(parts, offsets="shared"))
    assert len(read(model, [1], join(parts))[0]) == 24
    twin, caches = build("mistral"), []
    for ids in (B, A, Q):
        caches.append(DynamicCache())
        twin(input_ids=torch.tensor([ids]), past_key_values=caches[-1])
    with pytest.raises(UnsupportedModel, match="window of 8 columns"):
        join_caches(caches, model, offsets="shared")
    assert join_caches(caches, model).get_seq_length() == 23


def test_new_tokens_in_the_middle_are_refused(pool_for, read):
    """A mask over columns would let a recomputed token see what stands behind it."""
    model = dense("llama")
    kv, _ = read(model, LONG, KV(pool_for(model)))
    cache = PagedCache(model, kv=kv, absolute=True)
    for positions in ([3, 4], [20, 19]):
        with pytest.raises(ValueError, match="position_ids must go on behind what is cached"):
            model(
                input_ids=torch.tensor([[1, 2]]), past_key_values=cache,
                position_ids=torch.tensor([positions]),
            )  # fmt: skip
    assert cache.kv().ids == LONG


def test_a_model_whose_positions_are_not_proved_takes_whole_prefixes_only(pool_for, read):
    model = build("bloom")
    assert attach(model).layout.rope is None
    twin = build("bloom")
    kv = PagedCache(model, kv=KV(pool_for(model)))
    with torch.no_grad():
        model(input_ids=torch.tensor([LONG]), past_key_values=kv)
    kv = kv.kv()
    whole = PagedCache(model, kv=kv[:9])
    with torch.no_grad():
        out = model(input_ids=torch.tensor([Q]), past_key_values=whole).logits[0]
        expected = twin(input_ids=torch.tensor([LONG[:9] + Q])).logits[0, 9:]
    assert (out - expected).abs().max() < 1e-5 * expected.abs().max()
    for cut in (kv[3:], kv.select([0, 1, 5])):
        for absolute in (True, False):
            cache = PagedCache(model, kv=cut, absolute=absolute)
            with pytest.raises((UnsupportedModel, ValueError)):
                model(input_ids=torch.tensor([Q]), past_key_values=cache)


def test_rows_of_different_length_need_a_mask(pool_for, read):
    model = dense("llama")
    empty = KV(pool_for(model))
    cache = PagedCache(model, kv=[read(model, A, empty)[0], read(model, B, empty)[0]])
    free = empty.pool.num_free
    with pytest.raises(ValueError, match=r"attention_mask must be given .* for \[11, 7\]"):
        model(input_ids=torch.tensor([Q, Q]), past_key_values=cache)
    assert (empty.pool.num_free, cache.kv(1).ids) == (free, B)


def test_chunks_count_from_the_first_column(pool_for, read):
    model = build("llama4", attention_chunk_size=8)
    layout = attach(model).layout
    assert not layout.spans
    twin = build("llama4", attention_chunk_size=8)
    kv, _ = read(model, LONG, KV(pool_for(model)))
    logits = read(model, Q, kv[:13])[1]
    expected = twin(input_ids=torch.tensor([LONG[:13] + Q])).logits[0, 13:]
    assert (logits - expected).abs().max() < 1e-4 * expected.abs().max()
    with pytest.raises(UnsupportedModel):
        read(model, Q, kv[3:])
