"""Keys computed at `d..` equal the keys of `0..` relocated by d, at every layer of every family."""

import pytest
import torch

from agentprim.rope import prove
from tests.support.keys import compute, relocate, some_ids
from tests.support.tiny import build

HALF, ADJACENT = False, True
# rotary_dim of each layer, pairing
FORMS = {
    "llama": ((16, 16, 16), HALF),
    "llama_linear": ((16, 16, 16), HALF),
    "llama_llama3": ((16, 16, 16), HALF),
    "llama_yarn": ((16, 16, 16), HALF),
    "llama_dynamic": ((16, 16, 16), HALF),
    "phi3_longrope": ((16, 16, 16), HALF),
    "phi": ((8, 8, 8), HALF),
    "stablelm": ((4, 4, 4), HALF),
    "qwen2": ((16, 16, 16), HALF),
    "qwen3": ((16, 16, 16), HALF),
    "qwen3_moe": ((16, 16, 16), HALF),
    "mistral": ((16, 16, 16), HALF),
    "ministral3": ((16, 16, 16), HALF),
    "olmo2": ((16, 16, 16), HALF),
    "gemma2": ((16, 16, 16), HALF),
    "gemma3": ((16, 16, 16), HALF),
    "glm4": ((8, 8, 8), ADJACENT),
    "gpt_neox": ((4, 4, 4), HALF),
    "cohere": ((16, 16, 16), ADJACENT),
    "cohere2": ((16, 0, 16), ADJACENT),
    "smollm3": ((16, 0, 16), HALF),
    "gpt_oss": ((16, 16, 16), HALF),
    "nanochat": ((16, 16, 16), HALF),
    "llama4": ((16, 16, 0), ADJACENT),
    "gptj": ((8, 8, 8), ADJACENT),
    "falcon": ((16, 16, 16), HALF),
}


@pytest.mark.parametrize("family", FORMS)
def test_relocated_keys_equal_computed_ones(family):
    """A1, A2: see https://github.com/MemTensor/MemOS/issues/2315 for keys that keep their phase."""
    model, ids = build(family), some_ids(11)
    proof = prove(model)
    keys, values, logits = compute(model, ids, 0)
    for delta in (7, 37):
        there, values_there, logits_there = compute(model, ids, delta)
        for layer, rope in enumerate(proof.layers):
            moved = relocate(keys[layer], rope, delta)
            torch.testing.assert_close(moved, there[layer], rtol=1e-4, atol=1e-4)
            torch.testing.assert_close(values_there[layer], values[layer], rtol=1e-4, atol=1e-4)
            if rope.rotary_dim:  # the oracle can fail: without the move it does
                assert (keys[layer] - there[layer]).abs().max() > 0.1
        torch.testing.assert_close(logits_there, logits, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("family", FORMS)
def test_proof_names_width_pairing_and_shape_of_every_layer(family):
    widths, interleaved = FORMS[family]
    model = build(family)
    proof = prove(model)
    assert tuple(layer.rotary_dim for layer in proof.layers) == widths
    assert all(layer.interleaved == interleaved for layer in proof.layers if layer.rotary_dim)
    keys, values, _ = compute(model, some_ids(3), 0)
    assert proof.shapes == tuple(
        (k.shape[1], k.shape[3], v.shape[3]) for k, v in zip(keys, values, strict=True)
    )
    assert proof.model_class == type(model).__name__


def test_model_that_turns_the_other_way_has_negative_frequencies():
    model = build("nanochat")
    table = model.get_decoder().rotary_emb.inv_freq
    assert all(torch.equal(layer.inv_freq, -table) for layer in prove(model).layers)


def test_each_layer_type_keeps_its_own_frequencies():
    model = build("gemma3")
    rotary = model.get_decoder().rotary_emb
    sliding, full, again = prove(model).layers
    assert torch.equal(sliding.inv_freq, rotary.sliding_attention_inv_freq)
    assert torch.equal(full.inv_freq, rotary.full_attention_inv_freq)
    assert torch.equal(again.inv_freq, sliding.inv_freq)
    assert not torch.equal(sliding.inv_freq, full.inv_freq)


def test_keys_speak_against_a_configuration_that_names_the_wrong_layer_types():
    model = build("gemma3")
    expected = [layer.inv_freq for layer in prove(model).layers]
    model.config.layer_types = list(reversed(["sliding_attention", *model.config.layer_types[:2]]))
    rotary = model.get_decoder().rotary_emb
    found = prove(model).layers
    kinds = model.config.layer_types
    for layer, kind in zip(found, kinds, strict=True):
        # the decoder reads the same list, so tables follow it and the claim follows the keys
        assert torch.equal(layer.inv_freq, getattr(rotary, f"{kind}_inv_freq"))
    assert [torch.equal(a.inv_freq, b) for a, b in zip(found, expected, strict=True)].count(False)
