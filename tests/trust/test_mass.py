"""Attention mass equals the sums of eager attention weights over each part."""

import pytest
import torch

import agentprim as ap
from agentprim.errors import UnsupportedModel
from tests.support.tiny import build

B, A, C, Q = [5, 9, 2, 33, 41], [10, 11, 60, 13, 80, 15, 16, 4], [70, 71, 72], [21, 22, 3]


def eager_masses(family: str, parts, query, sinks=False) -> list[float]:
    """Sum the weights of one masked forward pass over each part, and over the query."""
    model = build(family)
    model.set_attn_implementation("eager")
    pieces = [*parts, query]
    ids = torch.tensor([i for piece in pieces for i in piece])
    owner = torch.tensor([n for n, piece in enumerate(pieces) for _ in piece])
    order = torch.arange(len(ids))
    seen = order[None] <= order[:, None]
    seen &= (owner[:, None] == owner[None]) | (owner[:, None] == len(parts))
    masks = torch.zeros(seen.shape).masked_fill(~seen, torch.finfo(torch.float32).min)[None, None]
    window = getattr(model.config, "sliding_window", None)
    kinds = getattr(model.config, "layer_types", None)
    if kinds and len(set(kinds)) > 1:
        near = seen & (order[:, None] - order[None] < window)
        tight = torch.zeros(near.shape).masked_fill(~near, torch.finfo(torch.float32).min)
        masks = {"full_attention": masks, "sliding_attention": tight[None, None]}
    with torch.no_grad():
        output = model(
            ids[None], attention_mask=masks, position_ids=order[None], use_cache=False,
            output_attentions=True,
        )  # fmt: skip
    weights = torch.stack([layer[0, :, -1] for layer in output.attentions]).mean((0, 1))
    return [float(weights[owner == n].sum()) for n in range(len(pieces))]


@pytest.mark.parametrize("family", ["llama", "gemma3", "gemma2", "glm4", "gpt_oss"])
def test_it_equals_the_sums_of_eager_weights(family):
    model = build(family)
    model.set_attn_implementation("eager")  # older releases leave soft-capping out of others
    engine = ap.Engine(model, pool_tokens=512)
    kv = ap.join([engine.prefill(ids) for ids in (B, A, C)])
    found = ap.attention_mass(engine, kv, Q)
    expected = eager_masses(family, [B, A, C], Q)
    assert [*found.parts, found.own] == pytest.approx(expected, abs=1e-5)
    assert sum(found.parts) + found.own + found.sinks == pytest.approx(1, abs=1e-5)
    assert (found.sinks > 1e-3) == (family == "gpt_oss")


def test_a_cache_that_was_never_joined_has_one_part():
    engine = ap.Engine(build("llama"), pool_tokens=512)
    found = ap.attention_mass(engine, engine.prefill(B), Q)
    assert len(found.parts) == 1
    alone = ap.attention_mass(engine, engine.prefill(B)[:0], Q)
    assert alone.parts == () and alone.own == pytest.approx(1)


def test_nothing_is_kept_and_nothing_has_changed():
    engine = ap.Engine(build("llama"), pool_tokens=512)
    kv = ap.join([engine.prefill(B), engine.prefill(A)])
    before, free = engine.forward(Q, kv), engine.pool.num_free
    first = ap.attention_mass(engine, kv, Q)
    assert ap.attention_mass(engine, kv, Q) == first
    assert engine.pool.num_free == free and len(kv) == len(A) + len(B)
    assert torch.equal(engine.forward(Q, kv), before)


def test_a_model_that_reads_dense_tensors_is_refused():
    engine = ap.Engine(build("falcon"), pool_tokens=512)
    with pytest.raises(UnsupportedModel, match="FalconForCausalLM attends to dense tensors"):
        ap.attention_mass(engine, engine.prefill(B), Q)
