"""Scaled RoPE: the frequencies are the module's, the attention factor is in a key exactly once.

The case A2: https://github.com/NVIDIA/kvpress/issues/84.
"""

import pytest
import torch

from agentprim.rope import prove
from tests.support.keys import compute, relocate, some_ids, token_norms
from tests.support.tiny import build

YARN = {
    "rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0,
    "original_max_position_embeddings": 128,
}  # fmt: skip


@pytest.mark.parametrize("factor", [None, 1.0, 1.3])
def test_yarn_keys_move_without_growing(factor):
    parameters = YARN if factor is None else {**YARN, "attention_factor": factor}
    _check(build("llama_yarn", rope_parameters=parameters))


def test_llama3_keys_move_without_growing():
    _check(build("llama_llama3"))


@pytest.mark.parametrize("factor", [1.0, 1.3])
def test_attention_factor_is_in_a_moved_key_exactly_once(factor):
    ids = some_ids(11)
    plain = build("llama_yarn", rope_parameters={**YARN, "attention_factor": 1.0})
    scaled = build("llama_yarn", rope_parameters={**YARN, "attention_factor": factor})
    bare = token_norms(compute(plain, ids, 0)[0][0])
    moved = relocate(compute(scaled, ids, 0)[0][0], prove(scaled).layers[0], 50)
    torch.testing.assert_close(token_norms(moved), factor * bare, rtol=1e-5, atol=0.0)


def test_longrope_keys_of_passes_beyond_the_switch_move_by_the_long_table():
    model, ids = build("phi3_longrope"), some_ids(11)  # switch at 128
    proof = prove(model)
    keys, values, _ = compute(model, ids, 120)
    for delta in (37, 300):
        there, values_there, _ = compute(model, ids, 120 + delta)
        for layer, rope in enumerate(proof.far.layers):
            moved = relocate(keys[layer], rope, delta)
            torch.testing.assert_close(moved, there[layer], rtol=1e-4, atol=1e-4)
            torch.testing.assert_close(values_there[layer], values[layer], rtol=1e-4, atol=1e-4)
            norms = token_norms(keys[layer])
            torch.testing.assert_close(token_norms(moved), norms, rtol=1e-5, atol=0.0)
            short = relocate(keys[layer], proof.layers[layer], delta)
            assert (short - there[layer]).abs().max() > 0.1


def test_table_is_the_module_s_own_not_the_unscaled_one():
    model = build("llama_llama3")
    table = prove(model).layers[0].inv_freq
    assert torch.equal(table, model.get_decoder().rotary_emb.inv_freq)
    assert not torch.allclose(table, prove(build("llama")).layers[0].inv_freq)


def _check(model):
    ids, delta = some_ids(11), 50
    proof = prove(model)
    keys, _, _ = compute(model, ids, 0)
    there, _, _ = compute(model, ids, delta)
    for layer, rope in enumerate(proof.layers):
        moved = relocate(keys[layer], rope, delta)
        torch.testing.assert_close(moved, there[layer], rtol=1e-4, atol=1e-4)
        norms = token_norms(keys[layer])
        torch.testing.assert_close(token_norms(moved), norms, rtol=1e-5, atol=0.0)
