"""What a repair leaves alone: pages of others, the KV given, the pool, and what it cannot do."""

import gc

import pytest
import torch

import agentprim as ap
from agentprim import Engine, PoolExhausted, UnsupportedModel
from agentprim.cache.kv import KV
from agentprim.cache.rewrite import Rewrite, runs
from agentprim.engine.repair import Repair, repair
from tests.engine.making import engine
from tests.engine.test_repair import A, B, Q, S, close, dense, joined
from tests.support.tiny import build


def contents(pool, pages):
    """Copy whole pages as bits: slots that nobody wrote may hold NaN, which equals nothing."""
    found = [c[:, sorted(pages)] for g in pool.groups for c in (g.k_cache, g.v_cache)]
    return [pages.view(torch.int32) for pages in found]


def pages_of(*kvs):
    return {page for kv in kvs for span in kv.spans for page in span.pages}


@pytest.mark.parametrize(
    ("how", "copied"),
    [
        (Repair(first=4, share=0), False),
        (Repair(first=0, share=0.4), True),
        (Repair(first=0, share=1.0), False),
    ],
)
def test_no_page_that_others_can_see_is_written(how, copied):
    one = engine("qwen3")
    parts = [one.prefill(part) for part in (S, A, B)]
    kv = ap.join(parts)
    pages = pages_of(kv)
    before, spans = contents(one.pool, pages), kv.spans
    (done,) = repair(one, [kv], how)
    repaired = done.kv
    assert (len(runs(list(done.recomputed), list(done.recomputed))) > 4) == copied
    assert set(repaired.spans[0].pages) <= pages, "the first part is shared all the same"
    after = contents(one.pool, pages)
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    assert kv.spans == spans and pages_of(repaired) - pages
    expected = one.forward(Q, repaired)
    for part in (*parts, kv):
        part.release()
    one.prefill([5] * 40).release()
    one.prefill([6] * 40).release()
    close(one.forward(Q, repaired), expected)


def test_ragged_rows_are_repaired_as_they_would_be_alone():
    one = engine("llama")
    kvs = [joined(one), joined(one, (S, B[:3])), joined(one, (A, B, S)), one.prefill(Q)]
    batch = one.repair(kvs, first=4, share=0.4)
    assert [kv.ids for kv in batch] == [kv.ids for kv in kvs]
    for kv, got in zip(kvs, batch, strict=True):
        for a, b in zip(dense(got), dense(one.repair(kv, first=4, share=0.4)), strict=True):
            close(a[0], b[0])
            close(a[1], b[1])


def test_two_hundred_repairs_leak_nothing():
    one = engine("llama")
    kv = joined(one)
    gc.collect()
    free = one.pool.num_free
    gc.disable()
    try:
        for number in range(200):
            one.repair(kv, first=number % 5, share=(number % 4) / 3)
        assert one.pool.num_free == free
    finally:
        gc.enable()


@pytest.mark.parametrize("pages", range(6))
def test_a_pool_that_runs_out_is_as_before(pages):
    """See ovg-project/kvcached #364."""
    one = Engine(build("llama"), pool_tokens=80, page_size=4)
    kv = joined(one)  # 47 tokens in 14 pages of 20
    filler = [one.prefill([7]) for _ in range(pages)]
    before, free = contents(one.pool, pages_of(kv)), one.pool.num_free
    with pytest.raises(PoolExhausted):
        one.repair([kv, kv], first=16, share=0.5)
    assert one.pool.num_free == free and len(filler) == pages
    assert all(
        torch.equal(a, b) for a, b in zip(before, contents(one.pool, pages_of(kv)), strict=True)
    )
    assert len(one.forward(Q[:2], kv)) == 2


def test_the_last_state_is_kept_only_where_it_is_new():
    one = engine("qwen3")
    kv = joined(one)
    with_tail = one.prefill(Q, kv)
    assert one.repair(with_tail, first=2, share=0).hidden is None, "it saw the old keys"
    whole = one.repair(kv, first=0, share=1.0)
    close(whole.hidden, one.prefill(S + A + B).hidden)


def test_tokens_behind_a_join_are_no_part_of_it():
    one = engine("qwen3")
    kv = one.prefill(Q, joined(one, (S, B[:3])))
    (done,) = repair(one, [kv], Repair(first=16, share=0))
    assert done.recomputed == (9, 10, 11)


def test_latent_steps_are_skipped_and_counted():
    one = engine("qwen3")
    thought = one.latent(one.prefill(A[:4]), 3)
    kv = ap.join([one.prefill(S), one.prefill(B[:5], thought)])
    for how in (Repair(first=16, share=0), Repair(first=0, share=1.0), Repair()):
        (done,) = repair(one, [kv], how)
        assert done.recomputed == (9, 10, 11, 12, 16, 17, 18, 19, 20)
        assert done.skipped == (13, 14, 15) and done.kv.ids == kv.ids
    stored = one.latent(kv, 1).ids
    assert stored[-1] == -1
    alone = ap.join([one.prefill(S), thought[4:]])
    (done,) = repair(one, [alone], Repair())
    assert done.recomputed == () and len(done.skipped) == 3


def test_the_check_runs_no_layer_behind_its_own():
    one, ran = engine("qwen3"), []
    hooks = [
        layer.register_forward_pre_hook(lambda *_, number=number: ran.append(number))
        for number, layer in enumerate(one.model.base_model.layers)
    ]
    try:
        one.repair(joined(one), first=0, share=0.2)
    finally:
        for hook in hooks:
            hook.remove()
    assert ran == [0, 1, 2] * 3 + [0, 1] + [0, 1, 2]


def test_nothing_to_repair_is_a_fork():
    one = engine("qwen3")
    first = ap.join([KV(one.pool), one.prefill(A)])
    for kv in (one.prefill(A), KV(one.pool), joined(one, (S,)), first):
        again = one.repair(kv)
        assert again is not kv and again.ids == kv.ids and again.spans == kv.spans
    kv = joined(one)
    assert one.repair(kv, first=0, share=0).spans == kv.spans
    assert one.repair([]) == []


def test_a_repaired_kv_can_be_repaired_again_and_handed_on():
    one = engine("llama")
    once = one.repair(joined(one), first=2, share=0)
    twice = one.repair(once, first=0, share=1.0)
    close(one.forward(Q, twice), one.forward(Q, one.prefill(S + A + B)))
    onward = ap.join([one.prefill(Q), once[len(S) :]])
    assert onward.joints == [len(Q), len(Q) + len(A)]
    whole = one.repair(onward, first=0, share=1.0)
    close(one.forward(S, whole), one.forward(S, one.prefill(Q + A + B)))


def test_a_part_with_gaps_is_repaired_where_it_stands():
    one = engine("llama")
    with one.prefill(A) as whole:
        kv = ap.join([one.prefill(S), whole.select([0, 1, 4, 5, 9, 12, 13, 20])])
    repaired = one.repair(kv, first=0, share=1.0)
    places = [*range(9), *(9 + i for i in (0, 1, 4, 5, 9, 12, 13, 20))]
    expected = one.forward([*kv.ids, *Q], None, [*places, *range(30, 35)])
    close(one.forward(Q, repaired), expected[-len(Q) :])


def test_attention_over_dense_tensors_is_refused_by_name():
    one = engine("falcon")
    assert not one.pool.layout.spans
    kv, free = joined(one), one.pool.num_free
    with pytest.raises(UnsupportedModel, match="which cannot be repaired") as fault:
        one.repair(kv)
    assert one.model.__class__.__name__ in str(fault.value) and 'join="append"' in str(fault.value)
    assert one.pool.num_free == free


def test_a_model_whose_positions_are_not_proved_is_refused():
    one = engine("bloom")
    whole = one.prefill(A)
    kv = ap.join([whole[:5], whole[5:]])
    with pytest.raises(UnsupportedModel, match='use join="append"'):
        one.repair(kv)


def test_a_pass_over_other_tokens_is_refused():
    one = engine("llama")
    with pytest.raises(ValueError, match=r"input_ids must have shape \(1, 2\)"):
        Rewrite(one.pool, [joined(one)], [[10, 11]]).begin(1, 3, spans=True)
    with pytest.raises(UnsupportedModel, match="cannot be repaired"):
        Rewrite(one.pool, [joined(one)], [[10, 11]]).begin(1, 2, spans=False)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"first": -1}, ValueError, "first must be at least 0, got -1"),
        ({"share": 1.5}, ValueError, "share must be between 0 and 1, got 1.5"),
        ({"share": float("nan")}, ValueError, "share must be between 0 and 1, got nan"),
        ({"layer": 0}, ValueError, "layer must be at least 1, got 0"),
        ({"layer": 3}, ValueError, "layer must be at most 2, got 3"),
        ({"measure": "hearts"}, ValueError, "measure must be one of"),
        ({"kv": "text"}, TypeError, "kv must be a KV or a list of them, got str"),
    ],
)
def test_wrong_numbers_are_named(options, error, message):
    one = engine("llama")
    kv, free = joined(one), one.pool.num_free
    with pytest.raises(error, match=message):
        one.repair(**{"kv": kv, **options})
    assert one.pool.num_free == free


def test_many_parts_become_few_runs():
    one = engine("llama")
    kv = joined(one, (S, *([A[i], B[i]] for i in range(9))))
    assert len(kv.spans) == 10
    repaired = one.repair(kv, first=1, share=0)
    last = Rewrite(one.pool, [kv], [[len(kv) - 1]]).kvs[0]
    for few in (repaired, last):
        assert len(few.spans) <= 8 and few.ids == kv.ids and few.joints == kv.joints
    again = one.repair(kv.materialize(), first=1, share=0)
    close(one.forward(Q, repaired), one.forward(Q, again))
