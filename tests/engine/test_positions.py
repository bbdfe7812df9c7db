"""Positions that restart or have gaps within one pass: a token sees what is not behind it.

Public reports: huggingface/transformers #39194 and #46634. Without a mask, positions that restart
are taken there for several packed texts; here a mask is always passed.
"""

import pytest
import torch

import agentprim as ap
from tests.engine.making import A, B, Q, engine, twin
from tests.support.oracle import masks

RESTARTING = [0, 1, 2, 3, 4, 2, 3, 4, 0, 1, 2, 9]
GAPPED = [0, 1, 2, 5, 6, 7, 20, 21, 22, 23, 40, 41]


def by_position(model, ids, positions):
    """Run ids without a cache, under a mask by position."""
    at = torch.tensor(positions)
    with torch.no_grad():
        return model(
            input_ids=torch.tensor([ids]), position_ids=at[None], use_cache=False,
            attention_mask=masks(model, at[None, :] <= at[:, None], at, at),
        ).logits[0]  # fmt: skip


@pytest.mark.parametrize("family", ["llama", "qwen3", "mistral", "gemma3", "gpt_oss"])
@pytest.mark.parametrize("positions", [RESTARTING, GAPPED], ids=["restarting", "gapped"])
def test_a_pass_goes_by_position_whatever_the_order(family, positions):
    ids = (A + B)[: len(positions)]
    got = engine(family).forward(ids, position_ids=positions)
    want = by_position(twin(family), ids, positions)
    assert (got - want).abs().max() < 1e-4 * want.abs().max()


@pytest.mark.parametrize("family", ["llama", "gemma3"])
def test_restarting_positions_on_a_cache_are_no_texts_of_their_own(family):
    one, model = engine(family), twin(family)
    kv = one.prefill(B)
    positions = [7, 8, 9, 7, 8]
    got = one.forward(Q, kv, positions)
    want = by_position(model, B + Q, [*range(7), *positions])[len(B) :]
    assert (got - want).abs().max() < 1e-4 * want.abs().max()


def test_parts_at_one_place_are_repaired_in_one_pass_of_restarting_positions():
    one, model = engine("llama"), twin("llama")
    kv = ap.join([one.prefill(B), one.prefill(A), one.prefill(Q)], offsets="shared")
    positions = [*range(7), *range(7, 18), *range(7, 12)]
    want = by_position(model, B + A + Q + Q, [*positions, *range(18, 23)])[-len(Q) :]
    got = one.forward(Q, one.repair(kv, first=0, share=1.0))
    assert (got - want).abs().max() < 1e-4 * want.abs().max()


@pytest.mark.parametrize("family", ["llama", "mistral"])
def test_a_last_state_is_that_of_the_token_where_it_stands(family):
    one, model = engine(family), twin(family)
    whole = one.prefill(A)
    gapped = whole.select([0, 1, 2, 9])
    expected = by_position(model, [A[0], A[1], A[2], A[9]], [0, 1, 2, 9])[-1]
    assert (one.logits(one.last_hidden(gapped)) - expected).abs().max() < 1e-3
    shared = ap.join([one.prefill(B), whole, one.prefill(Q)], offsets="shared")
    last = one.forward(Q[-1:], shared[:-1], [11])
    assert (one.logits(one.last_hidden(shared)) - last[-1]).abs().max() < 1e-3
