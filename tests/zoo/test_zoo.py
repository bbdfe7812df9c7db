"""The zoo on a fixed spread of families; `make zoo` walks them all."""

import pytest
import torch
import transformers

from agentprim.cache.kv import KV
from tests.zoo import certify
from tests.zoo.certify import A, B, Q
from tests.zoo.finding import CERTIFIED, FAULT, NOT_BUILT, REFUSED
from tests.zoo.groups import OTHER, group
from tests.zoo.table import PAGE, load, page
from tests.zoo.variants import VARIANTS
from tests.zoo.walk import FAMILIES

SPREAD = [
    "llama", "afmoe", "cohere2", "deepseek_v2", "deepseek_v3", "gemma3_text", "gemma4_text",
    "gpt_oss", "hrm_text", "llama4_text", "modernbert-decoder", "nanochat",
    "qwen2_moe", "bloom", "gpt2", "hunyuan_v1_dense", "mamba", "minimax_m3_vl_text", "mllama",
    "qwen3_next", "rwkv", "bart", "phi3, LongRoPE from 128", "qwen2_vl, text (M-RoPE)",
]  # fmt: skip
VERSIONS = load()
KEPT = {f.family: f for f in VERSIONS.get(transformers.__version__, ())}


@pytest.mark.parametrize("family", SPREAD)
def test_family_is_what_the_page_says(family):
    if not KEPT:
        pytest.skip(f"transformers {transformers.__version__} was not walked")
    found, kept = certify.certify(family), KEPT[family]
    assert found.outcome in (CERTIFIED, REFUSED), found.reason
    for field in ("outcome", "model_class", "path", "layers", "turns", "max_delta"):
        assert getattr(found, field) == getattr(kept, field)
    assert found.error <= 1e-4


def test_every_family_has_an_outcome_and_none_a_fault():
    if not KEPT:
        pytest.skip(f"transformers {transformers.__version__} was not walked")
    assert set(KEPT) == {*FAMILIES, *VARIANTS}
    for found in KEPT.values():
        assert found.outcome != FAULT, found
        if found.outcome == REFUSED:
            assert found.reason.startswith(f"{found.model_class} uses "), found
    outcomes = [KEPT[family].outcome for family in FAMILIES]
    assert outcomes.count(CERTIFIED) >= 90
    assert outcomes.count(NOT_BUILT) <= 1


def test_page_shows_what_was_found():
    assert PAGE.read_text() == page(VERSIONS)


def test_few_refusals_are_of_a_kind_of_their_own():
    reasons = [f.reason for f in KEPT.values() if f.outcome == REFUSED]
    assert [group(reason) for reason in reasons].count(OTHER) <= 2


def test_oracle_of_joined_caches_can_fail():
    """Without its move, a joined part is far off; with parts that see each other, too."""
    model, twin = certify.build("llama"), certify.build("llama")
    expected = certify.blocked_logits(twin, [B, A], Q)
    pool = certify.attach(model).new_pool(256, page_size=4)
    parts = [certify._read(model, ids, KV(pool))[0] for ids in (B, A)]
    still = certify.join(parts, rotate=False)
    assert certify._relative(certify._read(model, Q, still)[1], expected) > 0.01
    seeing = torch.tensor([B + A + Q])
    assert certify._relative(twin(input_ids=seeing).logits[0, -len(Q) :], expected) > 0.01


@pytest.mark.parametrize("family", ["llama", "deepseek_v3"])
def test_oracle_of_keys_can_fail(family):
    model = certify.build(family)
    proof = certify.attach(certify.build(family)).layout.rope
    assert certify.key_fault(model, proof, 37) is None
    for rope in proof.layers:
        rope.inv_freq.mul_(1.01)
    assert "keys of layer 0 moved by 37 are off" in certify.key_fault(model, proof, 37)
