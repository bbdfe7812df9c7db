"""On the span path a decode step reads the pages: it makes no dense keys or values."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from agentprim.cache import step
from agentprim.cache.join import join
from agentprim.cache.kv import KV
from agentprim.hf import PagedCache
from agentprim_kernels import native
from tests.cache.conftest import A, B
from tests.support.tiny import build


class Makes(TorchDispatchMode):
    """Note every new tensor with at least `limit` elements that is no view of an old one."""

    def __init__(self, limit):
        super().__init__()
        self.limit, self.found = limit, []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        known = {x.untyped_storage().data_ptr() for x in args if isinstance(x, torch.Tensor)}
        for tensor in out if isinstance(out, tuple | list) else (out,):
            if isinstance(tensor, torch.Tensor) and tensor.numel() >= self.limit:
                if tensor.untyped_storage().data_ptr() not in known:
                    self.found.append((str(func), tuple(tensor.shape)))
        return out


def decode(model, kv):
    """Run one decode step and return the large tensors that it made."""
    cache = PagedCache(model, kv=kv)
    with torch.no_grad(), Makes(limit=len(kv) * 16) as made:
        model(input_ids=torch.tensor([[5]]), past_key_values=cache)
    return made.found


@pytest.fixture
def long(pair, pool_for, read):
    """Return a function: model -> a KV of three spans, 420 tokens."""

    def make(model):
        empty = KV(pool_for(model, tokens=2048, page_size=16))
        kv_a, kv_b = read(model, A * 20, empty)[0], read(model, B * 20, empty)[0]
        return join([kv_a, kv_b, kv_b[:60]])

    return make


@pytest.mark.parametrize("family", ["llama", "gemma3", "gpt_oss"])
def test_a_decode_step_makes_no_dense_keys_or_values(family, pair, long, compiled, monkeypatch):
    if not native.available("attend"):
        pytest.skip(native.why_not("attend"))

    def no_copy(*_, **__):
        raise AssertionError("a decode step gathered its cache")

    model, _ = pair(family)
    kv = long(model)
    monkeypatch.setattr(step, "gather_", no_copy)
    assert len(kv.spans) == 3
    assert decode(model, kv) == []


def test_the_count_sees_the_dense_path(pair, long):
    model = build("llama")
    model._can_set_attn_implementation = lambda: False
    kv = long(model)
    assert len(decode(model, kv)) >= 2 * 3
