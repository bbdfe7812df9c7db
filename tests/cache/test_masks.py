"""What hides a token: masks of the caller, and kinds of layers of the model.

Public reports: huggingface/transformers #47597, #36151, #46132, #39194.
"""

import pytest
import torch
from transformers import masking_utils as hf

from agentprim.cache import attention
from agentprim.cache.attention import NOTE, Note, PagedLength, note_mask
from agentprim.cache.counting import counted_positions
from agentprim.cache.kv import KV
from agentprim.errors import UnsupportedModel
from agentprim.hf import PagedCache
from tests.cache.conftest import A, B, Q


def note(function, *, length, new, local_size=None, batch=2):
    mask = note_mask(
        delegate=None, batch_size=batch, q_length=new, q_offset=length - new,
        kv_length=PagedLength(length), mask_function=function, local_size=local_size,
    )  # fmt: skip
    return getattr(mask, NOTE)


@pytest.mark.parametrize(("length", "new"), [(1, 1), (5, 5), (5, 1), (40, 3), (40, 40)])
def test_causal_masks_and_windows_are_understood(length, new):
    assert note(hf.causal_mask_function, length=length, new=new).window is None
    other = hf.and_masks(hf.causal_mask_function)
    assert note(other, length=length, new=new).window is None
    sliding = hf.sliding_window_causal_mask_function(8)
    assert note(sliding, length=length, new=new, local_size=8).window == 8


def block(table):
    def seen(batch, head, query, key):
        return table[batch, query] == table[batch, key]

    return hf.or_masks(hf.causal_mask_function, seen)


BLOCKS = torch.arange(40)[None].repeat(2, 1)
BLOCKS[1, 30:33] = 99  # three tokens of the second row see each other

STRANGE = {
    "bidirectional": (hf.bidirectional_mask_function, None),
    "chunks": (hf.chunked_causal_mask_function(8, torch.zeros(2, dtype=torch.long)), 8),
    "another window": (hf.sliding_window_causal_mask_function(9), 8),
    "a window that is not told": (hf.sliding_window_causal_mask_function(5), None),
    "blocks of one row": (block(BLOCKS), None),
    "a table that is too short": (block(torch.arange(5)[None].repeat(2, 1)), None),
    "a prefix that sees itself": (
        hf.or_masks(hf.causal_mask_function, lambda b, h, q, k: (k < 36) & (q < 36) & (q > 20)),
        None,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("function", "local_size"), STRANGE.values(), ids=STRANGE)
def test_masks_that_depend_on_more_than_distance_are_refused(function, local_size):
    found = note(function, length=40, new=20, local_size=local_size)
    assert "neither causal nor a sliding window" in found.fault


def test_strange_mask_is_refused_by_the_layer_that_uses_it(cache, pair, monkeypatch):
    """Some models make a mask for every kind of layer, also for kinds that they do not have."""
    model, _ = pair("llama")
    free = cache.pool.num_free
    strange = Note(window=None, fault="a mask of its own")
    monkeypatch.setattr(attention, "Note", lambda window: strange)
    with pytest.raises(UnsupportedModel, match="a mask of its own"):
        model(**cache.inputs([Q, Q]) | {"input_ids": torch.tensor([Q, Q])}, past_key_values=cache)
    assert (cache.pool.num_free, cache.kv(0).ids) == (free, A)


def test_other_caches_get_the_mask_that_they_had():
    options = {
        "batch_size": 1, "q_length": 3, "q_offset": 2, "kv_length": 5,
        "mask_function": hf.causal_mask_function, "allow_is_causal_skip": False,
    }  # fmt: skip
    assert torch.equal(note_mask(delegate=hf.sdpa_mask, **options), hf.sdpa_mask(**options))


@pytest.fixture
def cache(pair, pool_for, read):
    model, _ = pair("llama")
    empty = KV(pool_for(model))
    return PagedCache(model, kv=[read(model, A, empty)[0], read(model, B, empty)[0]])


WRONG = {
    "new tokens only": torch.ones(2, 5),
    "one row": torch.ones(1, 16),
    "four dimensions": torch.ones(2, 1, 5, 16),
    "one for each kind of layer": {"full_attention": torch.ones(2, 1, 5, 16)},
    "zeros at the right": torch.tensor([[1] * 15 + [0], [0] * 4 + [1] * 12]),
    "zeros in between": torch.tensor([[1] * 16, [1] * 4 + [0] * 4 + [1] * 8]),
    "cached tokens hidden": torch.tensor([[0] * 8 + [1] * 8, [0] * 4 + [1] * 12]),
    "more than there is": torch.ones(2, 16),
}


@pytest.mark.parametrize("mask", WRONG.values(), ids=WRONG)
def test_wrong_masks_are_refused_before_anything_is_stored(mask, cache, pair):
    free = cache.pool.num_free
    with pytest.raises(ValueError, match="attention_mask must"):
        pair("llama")[0](input_ids=torch.tensor([Q, Q]), attention_mask=mask, past_key_values=cache)
    assert (cache.pool.num_free, cache.kv(0).ids, cache.kv(1).ids) == (free, A, B)


def test_positions_of_other_shapes_are_refused():
    sections = torch.arange(5).expand(3, 2, 5)
    assert counted_positions(sections, 2, 9, 5) == [[0, 1, 2, 3, 4]] * 2
    assert counted_positions(None, 2, 9, 2) == [[9, 10]] * 2
    assert counted_positions(torch.tensor([[4, 5]]), 2, 9, 2) == [[4, 5]] * 2
    for wrong in (torch.arange(5), torch.arange(16)[None], torch.zeros(3, 5)):
        with pytest.raises(ValueError, match=r"position_ids must have shape \(2, 5\)"):
            counted_positions(wrong, 2, 9, 5)
    with pytest.raises(ValueError, match="equal in all sections"):
        counted_positions(torch.arange(30).reshape(3, 2, 5), 2, 9, 5)


def test_rows_chosen_from_a_padded_batch_keep_their_columns(pair):
    """A loop of its own goes on with the rows of its old mask."""
    model, twin = pair("llama")
    cache = PagedCache(model)
    ids, mask = torch.tensor([A[:9], [0] * 5 + B[:4]]), torch.ones(2, 9, dtype=torch.long)
    mask[1, :5] = 0
    with torch.no_grad():
        model(input_ids=ids, attention_mask=mask, past_key_values=cache)
        cache.batch_select_indices(torch.tensor([1]))
        longer = torch.cat([mask[1:], torch.ones(1, 5, dtype=torch.long)], dim=1)
        out = model(input_ids=torch.tensor([Q]), attention_mask=longer, past_key_values=cache)
        expected = twin(input_ids=torch.tensor([B[:4] + Q])).logits[0, 4:]
    assert (out.logits[0] - expected).abs().max() < 1e-5 * expected.abs().max()
    cache.crop(-2)
    assert cache.get_seq_length() == 12
    assert cache.kv().ids == B[:4] + Q[:3]
    cache.batch_repeat_interleave(2)
    assert [row.length for row in cache.rows] == [7, 7]
    with pytest.raises(ValueError, match="negative number, got 3"):
        cache.crop(3)
    cache.reset()
    assert (cache.rows, cache.get_seq_length()) == (None, 0)


@pytest.mark.parametrize(
    "new", [[[1, 2], [3]], [torch.tensor([1, 2]), torch.tensor([3])], ([1, 2], [3])]
)
def test_inputs_of_two_rows(new, cache):
    inputs = cache.inputs(new)
    assert inputs["input_ids"].tolist() == [A + [1, 2], [0] * 5 + B + [3]]
    assert inputs["attention_mask"].tolist() == [[1] * 13, [0] * 5 + [1] * 8]


def test_inputs_of_one_row_and_wrong_inputs(pair, pool_for, cache):
    model, _ = pair("llama")
    one = PagedCache(model, kv=KV(pool_for(model)))
    for new in ([1, 2], torch.tensor([1, 2]), torch.tensor([[1, 2]]), list(torch.tensor([1, 2]))):
        assert one.inputs(new)["input_ids"].tolist() == [[1, 2]]
    for wrong in ([], [[1], []], torch.empty(1, 0, dtype=torch.long)):
        with pytest.raises(ValueError, match="at least one id for each row"):
            cache.inputs(wrong)
    with pytest.raises(ValueError, match="batch must have 2 rows like the cache, got 1"):
        cache.inputs([1, 2])
