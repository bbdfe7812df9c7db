"""Among readings that explain the keys, the layer type's own table comes first."""

import torch

from agentprim.rope.budget import Budget
from agentprim.rope.compare import move
from agentprim.rope.discover import Hypothesis
from agentprim.rope.forward import Trace
from agentprim.rope.judge import choose
from agentprim.rope.spec import LayerRope

BUDGET = Budget(rounding=1e-4, shaken=(0.0,), num_ids=5)
FREQUENCIES = torch.tensor([1.0, 0.3, 0.1, 0.03])


def _guess(owner, inv_freq):
    rope = LayerRope(inv_freq=inv_freq, interleaved=False)
    return Hypothesis(rope=rope, owners=frozenset({owner}))


def _pick_beside_latent(guesses, truth):
    slice_ = torch.randn(1, 1, 5, 8, generator=torch.Generator().manual_seed(0))
    latent, there = torch.randn(1, 1, 5, 8), move(slice_, truth.rope, 50).float()
    traces = [Trace(keys=[latent], values=[v], states=[v], inputs=[]) for v in (slice_, there)]
    return choose(*traces, 50, guesses, [""], BUDGET)[0]


def _pick(guesses, truth, layer_type):
    keys = torch.randn(1, 2, 5, 8, generator=torch.Generator().manual_seed(0))
    there = move(keys, truth.rope, 50).float()
    traces = [Trace(keys=[k], values=[keys], states=[k], inputs=[]) for k in (keys, there)]
    return choose(*traces, 50, guesses, [layer_type], BUDGET)[0]


def test_own_table_wins_over_a_foreign_one_that_fits_a_little_better():
    own, foreign = _guess("full", FREQUENCIES + 1e-7), _guess("sliding", FREQUENCIES)
    assert _pick([foreign, own], foreign, "full") is own.rope
    assert _pick([own, foreign], foreign, "sliding") is foreign.rope


def test_table_that_serves_all_layers_counts_as_own():
    shared, foreign = _guess("", FREQUENCIES + 1e-7), _guess("sliding", FREQUENCIES)
    assert _pick([foreign, shared], foreign, "full") is shared.rope


def test_foreign_table_wins_where_the_own_one_does_not_fit():
    own, foreign = _guess("full", FREQUENCIES / 2), _guess("sliding", FREQUENCIES)
    assert _pick([own, foreign], foreign, "full") is foreign.rope


def test_table_wider_than_the_keys_is_not_tried():
    wide, right = _guess("", torch.ones(5)), _guess("", FREQUENCIES)
    assert _pick([wide, right], right, "") is right.rope


def test_slice_beside_a_latent_turns_and_the_latent_does_not():
    none = Hypothesis(rope=LayerRope.none(), owners=frozenset())
    right = _guess("", FREQUENCIES)
    found = _pick_beside_latent([none, right], right)
    assert found.in_values and torch.equal(found.inv_freq, FREQUENCIES)
    assert not _pick([none, right], right, "").in_values
