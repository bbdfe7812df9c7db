"""Rows of a batch that share spans: they are found, also where one row goes on in their pages."""

import torch

from agentprim.cache import step
from agentprim.cache.common import cut_common
from agentprim.cache.hf import PagedCache
from agentprim.cache.join import join
from agentprim.cache.kv import KV
from agentprim.cache.table import SpanTable, span_slots
from tests.cache.conftest import A, B, Q


def tables(rows, page_size=4):
    return SpanTable(rows, page_size=page_size, device="cpu")


def test_receivers_of_one_sender_share_its_span(pair, pool_for, read):
    model, _ = pair("llama")
    empty = KV(pool_for(model))
    sender = read(model, A, empty)[0]
    receivers = [join([read(model, B[:n], empty)[0], sender]) for n in (3, 5, 7)]
    found = tables([kv.spans for kv in receivers]).cascade
    assert found.rows.tolist() == [[0, 1, 2, -1]]
    shared = [entry for entry in found.held.tolist() if min(entry[:3]) >= 0]
    assert shared == [[1, 3, 5, -1]]
    assert tables([read(model, B, empty)[0].spans for _ in range(2)]).cascade is None


def test_a_row_that_goes_on_in_shared_pages_is_cut(pair, pool_for, read):
    model, _ = pair("llama")
    common = read(model, A, KV(pool_for(model)))[0]
    rows = [read(model, Q, common.fork())[0].spans for _ in range(3)]
    assert len({span.length for row in rows for span in row[:1]}) == 2  # one goes on in place
    cut = cut_common(rows, 4)
    assert all(row[0].length == len(A) for row in cut)
    for before, after in zip(rows, cut, strict=True):
        slots, again = (torch.cat([span_slots(s, 4) for s in row]) for row in (before, after))
        assert torch.equal(slots, again)
        assert [n for span in before for n in span.ids] == [n for span in after for n in span.ids]
    found = tables(rows).cascade
    assert found.rows.tolist() == [[0, 1, 2, -1]] and min(found.held[0, :3]) >= 0


def test_a_batch_hands_its_shared_spans_to_the_kernel(pair, pool_for, read, monkeypatch):
    model, _ = pair("llama")
    common = read(model, A, KV(pool_for(model)))[0]
    seen, attend = [], step.attend

    def counted(*args, **options):
        seen.append(options["cascade"])
        return attend(*args, **options)

    monkeypatch.setattr(step, "attend", counted)
    cache = PagedCache(model, kv=[common.fork() for _ in range(2)])
    ids = torch.tensor([Q, Q[::-1]])
    mask = cache.inputs(ids)["attention_mask"]
    with torch.no_grad():
        model(input_ids=ids, attention_mask=mask, past_key_values=cache)
    assert seen and all(one.rows.tolist() == [[0, 1]] for one in seen)
