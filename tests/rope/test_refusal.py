"""What cannot be moved is refused by name, and never half proved."""

import pytest
import torch

from agentprim import errors
from agentprim.errors import UnsupportedModel
from agentprim.rope import prove
from agentprim_kernels.pool import PoolExhausted
from tests.support.tiny import build

REFUSED = {
    "gpt2": "GPT2LMHeadModel uses absolute positions",
    "bloom": "BloomForCausalLM uses ALiBi",
    "falcon_alibi": "FalconForCausalLM uses ALiBi",
    "mamba": "MambaForCausalLM uses layers of type linear_attention",
    "recurrent_gemma": "RecurrentGemmaForCausalLM uses layers of type ",
    "hunyuan": "HunYuanDenseV1ForCausalLM uses RoPE of type default",  # a norm after RoPE
    "qwen3_next": "Qwen3NextForCausalLM uses layers of type linear_attention",
}


@pytest.mark.parametrize("family", REFUSED)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_unmovable_family_is_refused_by_name(family, dtype):
    words = REFUSED[family] + '.*, which cannot be relocated: .+; use join="append"$'
    with pytest.raises(UnsupportedModel, match=words):
        prove(build(family, dtype=dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_table_that_the_keys_do_not_follow_is_refused(dtype):
    model = build("llama", dtype=dtype)
    rotary = model.get_decoder().rotary_emb
    honest = rotary.forward
    rotary.forward = lambda x, position_ids: honest(x, 2 * position_ids)
    with pytest.raises(UnsupportedModel, match="RoPE of type default.*: keys of layer 0 are off"):
        prove(model)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_one_layer_that_turns_otherwise_is_refused(dtype):
    model = build("llama", dtype=dtype)

    def reorder(_, args, kwargs):
        cos, sin = kwargs["position_embeddings"]
        return args, {**kwargs, "position_embeddings": (cos.flip(-1), sin.flip(-1))}

    layer = model.get_decoder().layers[2].self_attn
    layer.register_forward_pre_hook(reorder, with_kwargs=True)
    with pytest.raises(UnsupportedModel, match="keys of layer 2 are off"):
        prove(model)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_attention_that_sees_absolute_positions_is_refused(layer, dtype):
    model = build("llama", dtype=dtype)
    attention = model.get_decoder().layers[layer].self_attn
    attention.register_forward_pre_hook(_remember_phase, with_kwargs=True)
    attention.register_forward_hook(lambda module, _, out: (out[0] + module.phase, out[1]))
    with pytest.raises(UnsupportedModel, match=f"attention of layer {layer} is off"):
        prove(model)


def test_values_that_turn_with_their_position_are_refused():
    model = build("llama")
    attention = model.get_decoder().layers[1].self_attn
    attention.register_forward_pre_hook(_remember_phase, with_kwargs=True)
    attention.v_proj.register_forward_hook(lambda *call: call[-1] * (2 + attention.phase))
    with pytest.raises(UnsupportedModel, match="values of layer 1 are off"):
        prove(model)


def _remember_phase(module, _, kwargs):
    module.phase = kwargs["position_embeddings"][0][..., :1]  # cos of the fastest pair


@pytest.mark.parametrize("shape", [(8,), (2, 8), (1, 1)])
def test_ids_must_be_one_row(shape):
    with pytest.raises(ValueError, match="ids must have shape"):
        prove(build("llama"), ids=torch.ones(shape, dtype=torch.long))


def test_errors_are_one_family_and_the_pool_s_own():
    for name in ("UnsupportedModel", "PlanError", "BudgetExceeded", "VerificationFailed"):
        assert issubclass(getattr(errors, name), errors.AgentPrimError)
    assert errors.PoolExhausted is PoolExhausted
