"""Under its own name the attention of a model is what it was before.

Public reports: huggingface/transformers #46132 and #45811 (a custom attention without its mask),
onnx/onnx #8068, onnx/onnx #7274, apple/axlearn #842 and PSAL-POSTECH/ONNXim #34 (query head h reads
KV head h // group).
"""

import pytest
import torch
from transformers import DynamicCache

from agentprim.hf import PagedCache, attach
from tests.cache.conftest import A, B
from tests.support.tiny import build

FAMILIES = ["llama", "mistral", "gemma2", "gemma3", "gpt_oss"]
CACHES = {"no cache": None, "plain": DynamicCache, "paged": PagedCache}


def models(family, before="sdpa", **sizes):
    """Build a model prepared over an implementation, and a twin that keeps it."""
    model, twin = build(family, **sizes), build(family, **sizes)
    for one in (model, twin):
        one.set_attn_implementation(before)
    assert attach(model).layout.spans
    assert model.config._attn_implementation.startswith("agentprim")
    return model, twin


@pytest.fixture(scope="module", params=FAMILIES)
def both(request):
    return models(request.param, "eager" if request.param in ("gemma2", "gpt_oss") else "sdpa")


def run(model, pieces, cache, mask=None):
    """Feed ids piece by piece; return all logits."""
    found, end = [], 0
    for ids in pieces:
        end += ids.shape[1]
        options = {"past_key_values": cache} if cache is not None else {"use_cache": False}
        if mask is not None:
            options |= {"attention_mask": mask[:, :end]}
            positions = (mask[:, :end].cumsum(-1) - 1).clamp(min=0)
            options |= {"position_ids": positions[:, -ids.shape[1] :]}
        with torch.no_grad():
            found.append(model(input_ids=ids, **options).logits)
    return torch.cat(found, dim=1)


def new_cache(kind, model):
    return kind(model) if kind is PagedCache else kind() if kind else None


def check(got, expected):
    assert (got - expected).abs().max() <= 1e-5 * expected.abs().max()


@pytest.mark.parametrize("kind", CACHES.values(), ids=CACHES)
def test_no_earlier_logit_sees_the_last_id(kind, both):
    model, twin = both
    ids = torch.tensor([B + A])
    other = ids.clone()
    other[0, -1] += 1
    one, two = (run(model, [x], new_cache(kind, model)) for x in (ids, other))
    assert torch.equal(one[:, :-1], two[:, :-1])
    assert not torch.equal(one[:, -1], two[:, -1])
    check(one, run(twin, [ids], None))


@pytest.mark.parametrize("kind", [DynamicCache, PagedCache])
@pytest.mark.parametrize("split", [(7, 11), (17, 1), (7, 1, 10)])
def test_several_ids_and_single_ids_on_a_cache(split, kind, both):
    model, twin = both
    pieces = list(torch.tensor([B + A]).split(split, dim=1))
    check(run(model, pieces, new_cache(kind, model)), run(twin, [torch.tensor([B + A])], None))


@pytest.mark.parametrize("kind", CACHES.values(), ids=CACHES)
def test_two_rows_padded_at_the_left(kind, both):
    model, twin = both
    ids = torch.tensor([B + A[:6], [0] * 5 + A[:8]])
    mask = torch.tensor([[1] * 13, [0] * 5 + [1] * 8])
    pieces = [ids] if kind is None else list(ids.split((9, 3, 1), dim=1))
    got = run(model, pieces, new_cache(kind, model), mask)
    check(got[0], run(twin, [ids[:1]], None)[0])
    check(got[1, 5:], run(twin, [ids[1:, 5:]], None)[0])


@pytest.mark.parametrize("heads", [(4, 2), (6, 2), (8, 1)])
@pytest.mark.parametrize("before", ["sdpa", "eager"])
def test_query_heads_read_the_kv_head_of_their_group(heads, before):
    sizes = {"num_attention_heads": heads[0], "num_key_value_heads": heads[1]}
    sizes["hidden_size"] = 16 * heads[0]
    model, twin = models("llama", before, **sizes)
    ids = torch.tensor([B + A])
    expected = run(twin, [ids], None)
    for kind in CACHES.values():
        pieces = [ids] if kind is None else list(ids.split((7, 10, 1), dim=1))
        check(run(model, pieces, new_cache(kind, model)), expected)
