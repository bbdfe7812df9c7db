"""Cutting tokens out of a KV leaves the rest where it was, shared or copied."""

import pytest
import torch

from agentprim.cache.join import join
from agentprim.cache.kv import KV
from tests.cache.conftest import A, B, Q
from tests.cache.seeing import seeing_logits, without

LONG = [(7 * i + 3) % 97 for i in range(30)]


def check_logits(model, twin, read, kv, text, keep):
    """Compare a query behind the kept tokens with a forward that cannot see the dropped ones."""
    dropped = sorted(set(range(len(text))) - set(keep))
    assert kv.ids == [text[i] for i in keep]
    assert kv.next_position == keep[-1] + 1
    _, logits = read(model, Q, kv)
    positions = [*range(len(text)), *range(kv.next_position, kv.next_position + len(Q))]
    seen = without(len(text) + len(Q), dropped, len(text))
    expected = seeing_logits(twin, text + Q, positions, seen)[len(text) :]
    assert (logits - expected).abs().max() < 1e-4 * expected.abs().max()


@pytest.mark.parametrize("family", ["llama", "mistral", "glm4", "llama_yarn"])
@pytest.mark.parametrize("step", [7, 2], ids=["few runs", "many runs"])
def test_select_keeps_tokens_at_their_positions(family, step, pair, pool_for, read):
    model, twin = pair(family)
    kv, _ = read(model, LONG, KV(pool_for(model)))
    keep = [i for i in range(len(LONG)) if i % step]
    free = kv.pool.num_free
    cut = kv.select(keep)
    if step == 7:
        assert kv.pool.num_free == free
        assert {page for span in cut.spans for page in span.pages} <= set(kv.spans[0].pages)
    else:
        assert kv.pool.num_free == free - -(-len(keep) // 4)
        assert not {page for span in cut.spans for page in span.pages} & set(kv.spans[0].pages)
        assert len(cut.spans) == 1
    check_logits(model, twin, read, cut, LONG, keep)


def test_eight_runs_share_and_nine_are_copied(pair, pool_for, read):
    model, _ = pair("llama")
    kv, _ = read(model, LONG, KV(pool_for(model)))
    free = kv.pool.num_free
    eight = kv.select(range(0, 16, 2))
    assert (len(eight.spans), kv.pool.num_free) == (8, free)
    nine = kv.select(range(0, 18, 2))
    assert (len(nine.spans), kv.pool.num_free) == (1, free - 3)
    assert nine.spans[0].positions == tuple(range(0, 18, 2))


@pytest.mark.parametrize(
    "form", [torch.tensor, list, lambda mask: torch.tensor(mask).nonzero()[:, 0]]
)
def test_a_mask_is_the_same_as_its_indices(form, pair, pool_for, read):
    model, _ = pair("llama")
    kv, _ = read(model, A, KV(pool_for(model)))
    mask = [False, True, True, False, False, True, False, False, False, False, True]
    assert kv.select(form(mask)).ids == [A[1], A[2], A[5], A[10]]
    assert kv.select([]).ids == []


@pytest.mark.parametrize(
    ("keep", "fault", "error"),
    [
        ([0, 11], "within 0..10, got 0..11", ValueError),
        ([-1, 3], "within 0..10, got -1..3", ValueError),
        ([3, 2], "ascending", ValueError),
        ([3, 3], "ascending", ValueError),
        (torch.ones(3, dtype=torch.bool), r"shape \(11,\), got \(3,\)", ValueError),
        ([True, False], r"shape \(11,\), got \(2,\)", ValueError),
        (torch.ones(1, 11, dtype=torch.bool), "1 dimension", ValueError),
        ([0.5], "integers or bools", TypeError),
    ],
)  # fmt: skip
def test_wrong_choices_are_refused(keep, fault, error, pair, pool_for, read):
    model, _ = pair("llama")
    kv, _ = read(model, A, KV(pool_for(model)))
    free = kv.pool.num_free
    with pytest.raises(error, match=fault):
        kv.select(keep)
    assert kv.pool.num_free == free


def test_slices_of_gapped_spans(pair, pool_for, read):
    model, twin = pair("mistral")
    kv, _ = read(model, LONG, KV(pool_for(model)))
    keep = list(range(0, 30, 2))
    gapped = kv.select(keep)
    kv.release()
    part = gapped[2:9]
    assert [span.positions for span in part.spans] == [tuple(keep[2:9])]
    assert [(span.start, span.stop) for span in part.spans] == [(keep[2], keep[8] + 1)]
    gapped.release()
    check_logits(model, twin, read, part, LONG, keep[2:9])
    assert part[3:].ids == [LONG[i] for i in keep[5:9]]
    again = part.select([0, 2, 3])
    check_logits(model, twin, read, again, LONG, [keep[i] for i in (2, 4, 5)])
    check_logits(model, twin, read, again.materialize(), LONG, [keep[i] for i in (2, 4, 5)])


def test_select_from_parts_at_shared_offsets(pair, pool_for, read):
    model, twin = pair("llama")
    empty = KV(pool_for(model))
    kv_b, kv_a, kv_l = (read(model, ids, empty)[0] for ids in (B, A, LONG))
    joined = join([kv_b, kv_a, kv_l], offsets="shared")
    keep = list(range(0, len(joined), 2))
    cut = joined.select(keep)
    text, ends = B + A + LONG, (7, 18, 48)
    places = [*range(7), *range(7, 18), *range(7, 37)]
    assert cut.ids == [text[i] for i in keep]
    assert cut.next_position == places[keep[-1]] + 1
    _, logits = read(model, Q, cut)
    start = cut.next_position
    part = torch.tensor([0] * 7 + [1] * 11 + [2] * 30 + [3] * 5)
    seen = (part[:, None] == part[None, :]) & torch.ones(53, 53).tril().bool()
    seen[ends[-1] :, keep] = True
    expected = seeing_logits(
        twin, text + Q, [*places, *range(start, start + 5)], seen
    )[ends[-1] :]  # fmt: skip
    assert (logits - expected).abs().max() < 1e-4 * expected.abs().max()


def test_a_cut_frees_what_it_does_not_hold(pair, pool_for, read):
    model, _ = pair("llama")
    pool = pool_for(model)
    kv, _ = read(model, LONG, KV(pool))  # 8 pages of 4
    for make in (lambda: kv[:], lambda: kv.select([*range(12), *range(16, 30)]).materialize()):
        whole = make()
        first = whole[0:12]
        del whole
        assert len(first) == 12
    part = first[:5]
    del first
    kv.release()
    assert pool.num_pages - pool.num_free == 2
    del part
    assert pool.num_free == pool.num_pages
