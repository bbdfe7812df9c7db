"""Keys that move by spans are as they were, however often they have moved."""

import pytest
import torch

import agentprim as ap
from tests.support.keys import some_ids
from tests.support.tiny import build

MOVES = 256


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_256_relocations_by_spans_give_the_bits_of_one(dtype):
    engine = ap.Engine(build("llama", dtype=dtype), pool_tokens=1024)
    kv = engine.prefill(some_ids(24)[0].tolist())
    pages = list(kv.spans[0].pages)
    stored = lambda group: group.k_cache[:, pages].nan_to_num(7)  # noqa: E731  behind lies anything
    before = [stored(group).clone() for group in engine.pool.groups]
    deltas = torch.randint(-40, 50, (MOVES,), generator=torch.Generator().manual_seed(0)).cumsum(0)
    deltas = (deltas - deltas.min()).diff(prepend=torch.zeros(1, dtype=torch.int64)).tolist()
    wanted = kv.moved(sum(deltas)).to_cache()
    for delta in deltas:
        kv = kv.moved(delta)
    assert sum(map(abs, deltas)) > MOVES and kv.spans[0].start == sum(deltas)
    for group, keys in zip(engine.pool.groups, before, strict=True):
        assert torch.equal(stored(group), keys)
    for have, want in zip(kv.to_cache().layers, wanted.layers, strict=True):
        assert torch.equal(have.keys, want.keys) and torch.equal(have.values, want.values)
