"""Two KVs that end in the same page both go on from there, and neither writes over the other."""

import random

import torch

from agentprim.cache.kv import KV
from agentprim.hf import PagedCache
from tests.cache.conftest import A, B, Q
from tests.cache.test_in_place import bytes_of


def check(got, expected):
    assert (got - expected).abs().max() < 1e-4 * expected.abs().max()


def alone(twin, ids, count):
    return twin(input_ids=torch.tensor([ids])).logits[0, -count:]


def test_the_first_fills_the_page_and_the_second_opens_another(pair, pool_for, read):
    model, twin = pair("llama")
    kv, _ = read(model, B, KV(pool_for(model)))  # 7 tokens, one slot left in the second page
    before = bytes_of(kv)
    first, one = read(model, A, kv)
    second, two = read(model, Q, kv)
    assert first.spans[0].pages[:2] == kv.spans[0].pages
    assert len(first.spans) == 1
    assert second.spans[0] is kv.spans[0]
    assert second.spans[1].first_slot == 0
    check(one, alone(twin, B + A, len(A)))
    check(two, alone(twin, B + Q, len(Q)))
    check(read(model, [1, 2], first)[1], alone(twin, B + A + [1, 2], 2))
    check(read(model, [1, 2], second)[1], alone(twin, B + Q + [1, 2], 2))
    assert all(map(torch.equal, before, bytes_of(kv)))


def test_rows_of_one_batch_that_share_their_tail(pair, pool_for, read):
    model, twin = pair("mistral")
    kv, _ = read(model, B, KV(pool_for(model)))
    cache = PagedCache(model, kv=[kv, kv, kv.fork()])
    with torch.no_grad():
        out = model(input_ids=torch.tensor([Q, A[:5], B[:5]]), past_key_values=cache).logits
        more = model(input_ids=torch.tensor([[1], [2], [3]]), past_key_values=cache).logits
    for row, (ids, last) in enumerate(((Q, 1), (A[:5], 2), (B[:5], 3))):
        check(out[row], alone(twin, B + ids, 5))
        check(more[row], alone(twin, B + ids + [last], 1))
    slots = [page for row in cache.rows for span in row.spans()[1:] for page in span.pages]
    assert len(slots) == len(set(slots))


def test_a_slice_never_goes_on_in_the_middle_of_what_it_was_cut_from(pair, pool_for, read):
    model, twin = pair("llama")
    kv, _ = read(model, A, KV(pool_for(model)))
    before = bytes_of(kv)
    longer, logits = read(model, Q, kv[:6])
    check(logits, alone(twin, A[:6] + Q, 5))
    assert longer.spans[1].pages[0] not in kv.spans[0].pages
    assert all(map(torch.equal, before, bytes_of(kv)))
    end, logits = read(model, Q, kv[3:])  # ends where kv ends: the slot behind is free
    assert kv.spans[-1].pages[-1] in end.spans[-1].pages
    assert all(map(torch.equal, before, bytes_of(kv)))


def test_a_pass_taken_back_leaves_its_slots_to_nobody(pair, pool_for, read):
    model, twin = pair("llama")
    kv, _ = read(model, B, KV(pool_for(model)))
    cache = PagedCache(model, kv=kv)
    cache.begin(1, 3, ids=torch.tensor([Q[:3]]), mask=None, position_ids=None)
    cache.end(failed=True)
    with torch.no_grad():
        out = model(input_ids=torch.tensor([A]), past_key_values=cache).logits[0]
    check(out, alone(twin, B + A, len(A)))
    check(read(model, [1], cache.kv())[1], alone(twin, B + A + [1], 1))


def test_written_slots_never_change_while_anybody_holds_them(pair, pool_for, read):
    model, twin = pair("llama")
    rng = random.Random(0)
    kvs = [read(model, B, KV(pool_for(model, tokens=1024)))[0]]
    texts, sums = [B], [bytes_of(kvs[0])]
    for _ in range(25):
        at = rng.randrange(len(kvs))
        end = rng.choice([len(texts[at]), rng.randint(1, len(texts[at]))])
        new = [rng.randrange(97) for _ in range(rng.randint(1, 6))]
        kv, logits = read(model, new, kvs[at][:end])
        kvs.append(kv)
        texts.append(texts[at][:end] + new)
        sums.append(bytes_of(kv))
        check(logits, alone(twin, texts[-1], len(new)))
    for kv, text, before in zip(kvs, texts, sums, strict=True):
        assert kv.ids == text
        assert all(map(torch.equal, before, bytes_of(kv)))
