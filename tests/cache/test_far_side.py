"""LongRoPE: keys of one side of the switch are joined and moved exactly, those of both refused.

A pass that reaches the switch turns all its keys by the long table, also those at small positions.
"""

import pytest
import torch

from agentprim.cache.attach import attach
from agentprim.cache.hf import PagedCache
from agentprim.cache.join import join
from agentprim.cache.kv import KV
from agentprim.cache.rewrite import Rewrite
from agentprim.errors import UnsupportedModel
from tests.cache.test_join_oracle import as_spans, materialized, rotated_in_place
from tests.support.keys import some_ids
from tests.support.oracle import blocked_logits
from tests.support.tiny import build

SWITCH = 64
ROPE = {
    "rope_type": "longrope", "rope_theta": 10000.0, "factor": 4.0,
    "original_max_position_embeddings": SWITCH,
    "short_factor": [1.0 + 0.01 * i for i in range(8)],
    "long_factor": [1.5 + 0.25 * i for i in range(8)],
}  # fmt: skip
LONG, OTHER, SHORT, Q = (
    some_ids(count, seed=count)[0].tolist() for count in (SWITCH + 7, SWITCH + 2, 11, 5)
)
ACROSS = (
    "Phi3ForCausalLM uses RoPE of type longrope, which cannot be relocated: keys of a forward pass"
)
AGAIN = "prefill again as one text"


@pytest.fixture(scope="module")
def models():
    """A prepared model and its untouched twin."""
    sizes = {"max_position_embeddings": 256, "original_max_position_embeddings": SWITCH}
    model, twin = (build("phi3_longrope", rope_parameters=ROPE, **sizes) for _ in range(2))
    attach(model)
    return model, twin


@pytest.fixture
def model(models):
    return models[0]


@pytest.fixture
def empty(model, pool_for):
    return KV(pool_for(model))


def near(actual, expected):
    return (actual - expected).abs().max() < 1e-4 * expected.abs().max()


@pytest.mark.parametrize("way", [as_spans, rotated_in_place, materialized])
@pytest.mark.parametrize(
    "parts", [(SHORT, Q), (LONG, OTHER), (OTHER, LONG, OTHER)], ids=["below", "beyond", "three"]
)
def test_query_on_either_side_equals_one_blocked_forward(parts, way, models, empty, read):
    model, twin = models
    joined = way(join([read(model, ids, empty)[0] for ids in parts]))
    kv, logits = read(model, Q, joined)
    assert near(logits, blocked_logits(twin, [*parts], Q))
    assert {span.side for span in kv.spans} == {int(parts[0] is not SHORT)}


def test_part_at_small_positions_keeps_the_long_table_when_cut_and_moved(models, empty, read):
    """Its oracle runs the whole text, of which the query and what is joined see a piece."""
    model, twin = models
    kv_long, kv_other = (read(model, ids, empty)[0] for ids in (LONG, OTHER))
    head = kv_other[:9]
    assert head.next_position < SWITCH and head.spans[0].side == 1
    _, logits = read(model, Q, join([kv_long, head]))
    assert near(logits, blocked_logits(twin, [LONG, OTHER[:9]], Q))


def test_reading_goes_on_beyond_the_switch_as_in_one_text(models, empty, read):
    model, twin = models
    kv, _ = read(model, LONG, empty)
    for ids in (Q, SHORT):
        kv, logits = read(model, ids, kv)
    with torch.no_grad():
        expected = twin(torch.tensor([LONG + Q + SHORT])).logits[0, -len(SHORT) :]
    assert near(logits, expected) and len(kv.spans) == 1


@pytest.mark.parametrize("ids", [LONG, SHORT], ids=["beyond", "below"])
def test_moved_keys_equal_those_computed_there(ids, models, empty, read):
    model, twin = models
    kv, _ = read(model, ids, empty)
    by = 20
    got = kv.moved(by).to_cache()
    cache = PagedCache(model, kv=KV(kv.pool), absolute=True)
    with torch.no_grad():
        model(
            torch.tensor([ids]), past_key_values=cache,
            position_ids=by + torch.arange(len(ids))[None],
            attention_mask=torch.ones(1, len(ids), dtype=torch.long),
        )  # fmt: skip
    expected = cache.kv().to_cache()
    for one, two in zip(got.layers, expected.layers, strict=True):
        torch.testing.assert_close(one.keys, two.keys, rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(one.values, two.values, rtol=1e-4, atol=1e-4)


def test_selection_and_copy_stay_on_their_side(models, empty, read):
    model, _ = models
    kv, _ = read(model, LONG, empty)
    gappy = kv.select(range(0, len(kv), 2))  # copied to pages of its own
    parked = kv.fork().offload().restore()
    for one in (gappy, parked, kv.materialize(), kv[10:20], kv.fork()):
        assert {span.side for span in one.spans} == {1}
    _, lazy = read(model, Q, kv.moved(30).select(range(0, len(kv), 2)))
    _, copied = read(model, Q, gappy.moved(30))
    assert near(copied, lazy)


def test_join_across_the_switch_is_refused(model, empty, read):
    kv_long, kv_short = (read(model, ids, empty)[0] for ids in (LONG, SHORT))
    for parts in ([kv_long, kv_short], [kv_short, kv_long], [kv_short, kv_short, kv_long]):
        with pytest.raises(UnsupportedModel, match=f"{ACROSS} .*; {AGAIN}"):
            join(parts)
        with pytest.raises(UnsupportedModel, match=ACROSS), pytest.warns(UserWarning):
            join(parts, rotate=False)


def test_join_that_comes_back_below_the_switch_is_refused(model, empty, read):
    kv, _ = read(model, LONG, empty)
    with pytest.raises(UnsupportedModel, match=ACROSS):
        join([kv[:20], kv[30:40]])
    with pytest.raises(UnsupportedModel, match=ACROSS):
        kv[:20].to_cache()
    join([kv[:40], kv[30:60]])  # ends beyond it


def test_pass_across_the_switch_is_refused_and_changes_nothing(model, empty, read):
    kv, _ = read(model, LONG[: SWITCH - 2], empty)
    with pytest.raises(UnsupportedModel, match=f"{ACROSS} .*; {AGAIN}"):
        read(model, [1, 2, 3], kv)
    free, (kv, _) = kv.pool.num_free, read(model, [1, 2], kv)  # up to the last place below it
    assert kv.pool.num_free == free and kv.next_position == SWITCH
    with pytest.raises(UnsupportedModel, match=ACROSS):
        read(model, [3], kv)
    assert kv.pool.num_free == free


def test_pass_below_the_switch_behind_keys_from_beyond_is_refused(model, empty, read):
    kv, _ = read(model, LONG, empty)
    with pytest.raises(UnsupportedModel, match=ACROSS):
        read(model, Q, kv[:20])


def test_tokens_below_the_switch_are_not_computed_anew_among_keys_from_beyond(model, empty, read):
    kv, _ = read(model, LONG, empty)
    with pytest.raises(UnsupportedModel, match=ACROSS):
        Rewrite(kv.pool, [kv], [[3, 4]])
    assert Rewrite(kv.pool, [kv], [[3, 4, len(kv) - 1]]).kvs[0].spans[0].side == 1


def test_moves_below_the_switch_still_end_there(model, empty, read):
    kv, _ = read(model, LONG[: SWITCH - 10], empty)
    assert kv.moved(10).next_position == SWITCH
    with pytest.raises(UnsupportedModel, match=f"farthest proved; {AGAIN}"):
        kv.moved(11)


def test_row_beyond_the_switch_takes_a_short_row_with_it(models, empty, read):
    """Hugging Face looks at the farthest position of a batch: the short row is turned alike."""
    model, twin = models
    cache = PagedCache(model, kv=[KV(empty.pool), KV(empty.pool)], absolute=True)
    pad = len(LONG) - len(SHORT)
    ids = torch.tensor([LONG, [0] * pad + SHORT])
    mask = torch.tensor([[1] * len(LONG), [0] * pad + [1] * len(SHORT)])
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    with torch.no_grad():
        got = model(ids, attention_mask=mask, position_ids=positions, past_key_values=cache).logits
        expected = twin(ids, attention_mask=mask, position_ids=positions).logits
    assert near(got[0], expected[0]) and near(got[1, pad:], expected[1, pad:])
    long, short = cache.kv(0), cache.kv(1)
    assert short.spans[0].side == 1
    with pytest.raises(UnsupportedModel, match=ACROSS):
        join([short])
    _, logits = read(model, Q, join([long, short]))
    assert near(logits, blocked_logits(twin, [LONG, SHORT], Q))


def test_generate_begins_beyond_the_switch_and_stops_before_it(models, empty, read):
    """Phi-3 drops a cache at its switch to read all again; here that is refused."""
    model, twin = models
    cache = PagedCache(model, pool_tokens=256)
    options = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0}
    text = torch.tensor([LONG])
    mask = torch.ones_like(text)
    expected = twin.generate(text, attention_mask=mask, **options)
    got = model.generate(text, attention_mask=mask, past_key_values=cache, **options)
    assert torch.equal(got, expected) and len(cache.kv()) == got.shape[1] - 1
    kv, _ = read(model, LONG[: SWITCH - 8], empty)
    cache = PagedCache(model, kv=kv)
    with pytest.raises(UnsupportedModel, match=AGAIN):
        model.generate(**cache.inputs(LONG[-6:]), past_key_values=cache, **options)
