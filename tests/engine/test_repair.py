"""Repairing: chosen tokens are computed anew where they stand, and see all that is before them."""

from math import ceil

import pytest
import torch

import agentprim as ap
from agentprim.cache.marks import of_kind
from agentprim.cache.move import current_positions
from agentprim.cache.table import span_slots
from tests.engine.making import engine, plain_logits, twin
from tests.support.keys import compute
from tests.support.repaired import query_logits, repaired_caches

_DRAWN = torch.randint(3, 97, (60,), generator=torch.Generator().manual_seed(4)).tolist()
S, A, B, Q = _DRAWN[:9], _DRAWN[9:30], _DRAWN[30:47], _DRAWN[47:52]
FAMILIES = ["llama", "qwen3", "mistral", "gemma2", "gemma3", "gpt_oss", "ministral3", "glm4"]


def both(family):
    """Return an engine and an untouched twin; where attention reads no spans, see it refused."""
    one = engine(family)
    if not one.pool.layout.spans:
        with pytest.raises(ap.UnsupportedModel, match="cannot be repaired"):
            one.repair(joined(one))
        pytest.skip("this version of transformers gives it no spans")
    return one, twin(family)


def joined(one, parts=(S, A, B), **options):
    return ap.join([one.prefill(part) for part in parts], **options)


def dense(kv):
    """Read keys where they now stand, and values, of each layer out of copied pages."""
    pool = kv.pool
    with kv.materialize() as own:
        slots = torch.cat([span_slots(span, pool.page_size) for span in own.spans])
        pages, offsets = slots // pool.page_size, slots % pool.page_size
        found = []
        for layer in range(len(pool.layout.shapes)):
            group, row = pool.place[layer]
            pair = (group.k_cache[row], group.v_cache[row])
            found.append(tuple(c[pages, :, offsets].transpose(0, 1)[None].clone() for c in pair))
        return found


def close(a, b, of=1.0):
    assert (a - b).abs().max() < 1e-4 * max(of, float(b.abs().max()))


def check_against_reference(one, model, kv, repaired, chosen):
    """Compare pages, and logits behind them, with a dense computation of the same."""
    places = current_positions(kv.spans)
    assert repaired.ids == kv.ids and current_positions(repaired.spans) == places
    assert repaired.joints == kv.joints
    expected = repaired_caches(model, dense(kv), kv.ids, places, chosen)
    for (keys, values), (want_keys, want_values) in zip(dense(repaired), expected, strict=True):
        close(keys, want_keys)
        close(values, want_values)
    want = query_logits(model, expected, places, Q, kv.next_position)
    close(one.forward(Q, repaired), want)


def first_of(kv, count):
    return {
        i for begin, end in of_kind(kv.marks, "part") for i in range(begin, min(begin + count, end))
    }


def worst_of(model, kv, share, measure="values"):
    """Find the tokens that deviate most at layer 1, by computing all joined tokens anew."""
    stored, tokens = dense(kv), list(range(len(S), len(kv)))
    new = repaired_caches(model, stored, kv.ids, current_positions(kv.spans), tokens)
    kind = ["keys", "values"].index(measure)
    off = (new[1][kind] - stored[1][kind]).square().sum((0, 1, 3))[len(S) :]
    return {tokens[i] for i in off.topk(ceil(share * len(tokens))).indices.tolist()}


@pytest.mark.parametrize(
    "family", [*FAMILIES, "llama_dynamic", "phi3_longrope", "smollm3", "cohere2", "gpt_neox"]
)
def test_with_all_joined_tokens_recomputed_it_is_one_text(family):
    one, model = both(family)
    repaired = one.repair(joined(one), first=0, share=1.0)
    close(one.forward(Q, repaired), plain_logits(model, S + A + B + Q)[-len(Q) :])
    keys, values, _ = compute(model, torch.tensor([S + A + B]), 0)
    for got, want in zip(dense(repaired), zip(keys, values, strict=True), strict=True):
        close(got[0], want[0])
        close(got[1], want[1])


@pytest.mark.parametrize("family", FAMILIES)
def test_recomputed_first_tokens_equal_a_dense_computation(family):
    one, model = both(family)
    kv = joined(one)
    repaired = one.repair(kv, first=4, share=0)
    check_against_reference(one, model, kv, repaired, sorted(first_of(kv, 4)))
    shared = set(kv.spans[0].pages) & set(repaired.spans[0].pages)
    assert shared, "few runs share the pages of what is not recomputed"


@pytest.mark.parametrize("measure", ["values", "keys"])
@pytest.mark.parametrize("family", FAMILIES)
def test_recomputed_tokens_are_those_that_deviate_most(family, measure):
    one, model = both(family)
    kv = joined(one)
    repaired = one.repair(kv, first=2, share=0.3, measure=measure)
    chosen = worst_of(model, kv, 0.3, measure) | first_of(kv, 2)
    assert len(chosen) >= 12  # 0.3 of 38 is rounded up
    check_against_reference(one, model, kv, repaired, sorted(chosen))


@pytest.mark.parametrize("family", ["llama", "gemma3", "gpt_oss"])
@pytest.mark.parametrize("options", [{"first": 3, "share": 0}, {"first": 0, "share": 0.3}])
def test_parts_at_shared_places_see_each_other_by_position(family, options):
    one, model = both(family)
    kv = joined(one, offsets="shared")
    repaired = one.repair(kv, **options)
    share = options["share"]
    chosen = first_of(kv, 3) if not share else worst_of(model, kv, share)
    check_against_reference(one, model, kv, repaired, sorted(chosen))
    swapped = one.repair(joined(one, (S, B, A), offsets="shared"), **options)
    close(one.forward(Q, swapped), one.forward(Q, repaired))
