"""A probe leaves no trace on the model."""

import pytest
import torch

from agentprim.rope import prove
from agentprim.rope.discover import rotary_modules
from tests.support.keys import compute, some_ids
from tests.support.tiny import build

FAMILIES = ["llama", "llama_dynamic", "phi3_longrope", "gemma3"]


def _plain(module):
    return {k: v for k, v in vars(module).items() if not k.startswith("_")}


@pytest.mark.parametrize("family", FAMILIES)
def test_rotary_modules_are_the_same_objects_with_the_same_numbers(family):
    model = build(family)
    before = [(dict(m._buffers), {k: v.clone() for k, v in m._buffers.items()}, _plain(m))
              for m in rotary_modules(model)]  # fmt: skip
    prove(model)
    for module, (objects, numbers, attributes) in zip(rotary_modules(model), before, strict=True):
        assert module._buffers.keys() == objects.keys()
        for name, value in module._buffers.items():
            assert value is objects[name] and torch.equal(value, numbers[name])
        assert _plain(module).keys() == attributes.keys()
        assert all(_plain(module)[name] is value for name, value in attributes.items())


@pytest.mark.parametrize("family", ["llama_dynamic", "phi3_longrope"])
def test_a_model_past_its_switch_is_proved_alike_and_stays_there(family):
    model = build(family)
    expected = prove(model)
    compute(model, some_ids(8), 300)  # the module now holds the tables of the far side
    tables = [b.clone() for m in rotary_modules(model) for b in m._buffers.values()]
    found = prove(model)
    assert found.max_delta == expected.max_delta
    assert torch.equal(found.layers[0].inv_freq, expected.layers[0].inv_freq)
    after = [b for m in rotary_modules(model) for b in m._buffers.values()]
    assert all(torch.equal(a, b) for a, b in zip(tables, after, strict=True))


def test_modes_hooks_and_gradients_stay():
    model = build("llama").train()
    model.model.layers[1].eval()
    modes = [module.training for module in model.modules()]
    prove(model)
    assert [module.training for module in model.modules()] == modes
    assert not any(module._forward_pre_hooks for module in model.modules())
    assert all(p.requires_grad and p.grad is None for p in model.parameters())


def test_a_refused_model_is_left_alone_too():
    model = build("gpt2").train()
    with pytest.raises(Exception, match="absolute positions"):
        prove(model)
    assert all(module.training for module in model.modules())
    assert not any(module._forward_pre_hooks for module in model.modules())
