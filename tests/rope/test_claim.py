"""A claim ends where the proof ends, and a move beyond it is refused."""

import pytest
import torch

from agentprim.errors import UnsupportedModel
from agentprim.rope import LayerRope, RopeProof, prove
from tests.support.tiny import build


@pytest.mark.parametrize("family", ["llama_dynamic", "phi3_longrope"])
def test_claim_ends_before_the_frequencies_switch(family):
    proof = prove(build(family))  # eight ids, switch at 128
    assert (proof.max_delta, proof.max_position) == (120, 127)
    assert proof.errors[-1][0] == 128 and proof.errors[-1][1] > 0.1
    proof.require(120)
    proof.require(-120)
    proof.require(100, first=0, last=27)


@pytest.mark.parametrize("family", ["llama_dynamic", "phi3_longrope"])
def test_move_across_the_switch_is_refused_by_name(family):
    proof = prove(build(family))
    kind = "dynamic" if family == "llama_dynamic" else "longrope"
    words = f"{proof.model_class} uses RoPE of type {kind}, which cannot be relocated: .*"
    way = 'use join="append"' if proof.switch is None else "prefill again as one text"
    for delta, last in ((121, None), (-121, None), (100, 28), (-100, 130)):
        with pytest.raises(UnsupportedModel, match=words + f"farthest proved; {way}"):
            proof.require(delta, last=last)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_beyond_its_switch_longrope_is_proved_with_the_long_table(dtype):
    model = build("phi3_longrope", dtype=dtype)
    proof = prove(model)
    assert proof.switch == 128 and proof.far.far is None
    assert (proof.far.max_delta, proof.far.max_position) == (512, 519)
    assert {delta for delta, _ in proof.far.errors} == {1, 50, 119, 128, 503, 512}
    with torch.no_grad():
        model(torch.tensor([[5]]), position_ids=torch.tensor([[128]]))
    long = model.get_decoder().rotary_emb.inv_freq
    assert all(torch.equal(layer.inv_freq, long) for layer in proof.far.layers)
    assert not any(torch.equal(layer.inv_freq, long) for layer in proof.layers)
    assert [proof.side_of(last) for last in (0, 127, 128, 9999)] == [0, 0, 1, 1]
    proof.on(1).require(512, last=7)
    with pytest.raises(UnsupportedModel, match="farthest proved"):
        proof.on(1).require(513)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_table_that_grows_with_the_text_has_no_other_side(dtype):
    proof = prove(build("llama_dynamic", dtype=dtype))
    assert proof.switch is None and proof.far is None


def test_other_side_that_does_more_than_exchange_tables_is_not_claimed():
    model = build("phi3_longrope")
    attention = model.get_decoder().layers[1].self_attn
    attention.register_forward_hook(_double_from_128_on)
    model.get_decoder().rotary_emb.register_forward_pre_hook(
        lambda _, args, kwargs: setattr(attention, "at", kwargs["position_ids"]), with_kwargs=True
    )
    proof = prove(model)
    assert (proof.max_position, proof.switch) == (127, None)


def test_switch_before_fifty_still_leaves_this_side():
    proof = prove(build("llama_dynamic", max_position_embeddings=40))
    assert proof.max_delta == 32


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("family", ["ministral3", "llama4"])
def test_queries_that_grow_with_their_position_end_the_claim_before_the_floor(family, dtype):
    assert prove(build(family, dtype=dtype)).max_position == 126


def test_attention_that_changes_at_a_length_ends_the_claim_there():
    model = build("llama_yarn")
    attention = model.get_decoder().layers[1].self_attn
    attention.register_forward_hook(_double_from_128_on)
    model.get_decoder().rotary_emb.register_forward_pre_hook(
        lambda _, args, kwargs: setattr(attention, "at", kwargs["position_ids"]), with_kwargs=True
    )
    assert prove(model).max_position == 127


def _double_from_128_on(module, _, output):
    return output[0] * (1 + (module.at >= 128))[..., None], output[1]


def test_plain_rope_is_proved_past_its_maximum():
    proof = prove(build("llama", max_position_embeddings=131072))
    assert proof.max_delta == 131072
    assert {delta for delta, _ in proof.errors} == {1, 50, 131063, 131072}


def test_windows_are_relative_and_end_no_claim():
    assert prove(build("mistral", sliding_window=16)).max_delta == 2048


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("family", ["llama", "llama_dynamic", "gemma3", "cohere2", "gpt_oss"])
def test_low_precision_proves_as_much_as_fp32(family, dtype):
    low, full = prove(build(family, dtype=dtype)), prove(build(family))
    assert (low.max_delta, low.max_position) == (full.max_delta, full.max_position)
    for a, b in zip(low.layers, full.layers, strict=True):
        assert torch.equal(a.inv_freq, b.inv_freq) and a.interleaved == b.interleaved


def test_chunked_attention_moves_by_whole_chunks_or_within_one():
    proof = prove(build("llama4"))
    assert proof.chunk_size == 64
    proof.require(64)
    proof.require(10, first=64, last=100)
    for move in ({"delta": 10}, {"delta": 10, "first": 0, "last": 60},
                 {"delta": 10, "first": 60, "last": 70}):  # fmt: skip
        with pytest.raises(UnsupportedModel, match="chunks of 64 positions"):
            proof.require(move.pop("delta"), **move)


def test_table_stacks_layers_with_zero_rows_for_those_without_rope():
    proof = prove(build("cohere2"))
    table = proof.table([0, 1, 2])
    assert table.shape == (3, 8) and table.dtype == torch.float32
    assert torch.equal(table[0], proof.layers[0].inv_freq) and not table[1].any()
    assert proof.table([1]).shape == (1, 0)


def test_table_refuses_layers_of_different_rotations():
    narrow, wide = (LayerRope(inv_freq=torch.ones(n), interleaved=False) for n in (2, 4))
    proof = RopeProof(
        layers=(narrow, wide), shapes=((1, 8, 8),) * 2, max_delta=1, max_position=8,
        chunk_size=None, errors=(), feature="RoPE", model_class="Model",
    )  # fmt: skip
    with pytest.raises(ValueError, match="indices must have layers of one rotation"):
        proof.table([0, 1])
